/// Why the gateway could not start.
package struct GatewayFailure: Error, Sendable, CustomStringConvertible {
    /// A closed set.
    package enum Code: String, Sendable {
        case keys, tls, listen, kafka, resources
    }

    /// The kind of failure.
    package let code: Code
    /// What to fix.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether the configuration, or a file that it names, has to be mended.
    package var isConfiguration: Bool {
        switch code {
        case .keys, .tls, .kafka: true
        case .listen, .resources: false
        }
    }

    package var description: String { message }
}
