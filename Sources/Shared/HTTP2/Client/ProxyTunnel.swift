internal import Core

/// A proxy that opens tunnels by HTTP CONNECT (RFC 9110 section 9.3.6).
package struct HTTP2Proxy: Sendable, Equatable {
    /// A name or numeric address.
    package var host: String
    package var port: UInt16
    /// `user:password` for Basic authentication; empty for none. Never logged.
    package var credentials: String

    package init(host: String, port: UInt16, credentials: String = "") {
        self.host = host
        self.port = port
        self.credentials = credentials
    }
}

/// The conversation with a proxy before TLS begins: a pure value over bytes.
struct ProxyTunnel {
    enum Progress: Equatable {
        case wantsMore
        case open
        /// Why there is no tunnel, and whether trying again is pointless until the configuration is mended.
        case refused(String, isFinal: Bool)
    }

    /// The longest answer that is read.
    static let answerMax = 8192

    private let endpoint: String
    private var answer: [UInt8] = []

    init(to endpoint: HTTP2Endpoint) {
        let host = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
        self.endpoint = "\(host):\(endpoint.port)"
    }

    /// The request to send.
    func request(_ proxy: HTTP2Proxy) -> [UInt8] {
        var text = "CONNECT \(endpoint) HTTP/1.1\r\nHost: \(endpoint)\r\n"
        if !proxy.credentials.isEmpty {
            text += "Proxy-Authorization: Basic \(Base64.encode(Array(proxy.credentials.utf8)))\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    /// Takes what the proxy sent.
    mutating func receive(_ bytes: some Sequence<UInt8>) -> Progress {
        answer.append(contentsOf: bytes)
        guard let end = Self.headEnd(answer) else {
            return answer.count > Self.answerMax
                ? .refused("it answered more than \(Self.answerMax) bytes of headers", isFinal: false)
                : .wantsMore
        }
        let line = answer.prefix { $0 != 0x0D && $0 != 0x0A }
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard line.starts(with: Array("HTTP/1.".utf8)), words.count >= 2,
            let status = Int(String(decoding: words[1], as: UTF8.self)), (100...599).contains(status)
        else { return .refused("it does not answer like an HTTP proxy", isFinal: true) }
        switch status {
        case 200..<300:
            // In TLS the client speaks first.
            return end == answer.count ? .open : .refused("it sent data before TLS began", isFinal: true)
        case 407:
            return .refused(
                "it wants other credentials (407); check proxy.credentials_file", isFinal: true)
        case 401, 403, 405:
            return .refused("it does not allow \(endpoint) (\(status))", isFinal: true)
        default: return .refused("it can't reach \(endpoint) (\(status))", isFinal: false)
        }
    }

    /// Where the headers end: after the first empty line.
    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for at in 3..<bytes.count
        where bytes[at] == 0x0A && bytes[at - 1] == 0x0D && bytes[at - 2] == 0x0A && bytes[at - 3] == 0x0D {
            return at + 1
        }
        return nil
    }
}
