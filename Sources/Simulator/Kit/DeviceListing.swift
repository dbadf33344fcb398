import Core

/// What the simulator is told about one device token.
package struct DeviceListing: Sendable {
    package var token: String
    /// The only APNs topic or FCM project it is good for; nil for any.
    package var topic: String?
    /// Its APNs environment; nil for both.
    package var environment: PushEnvironment?
    /// When the app was removed, milliseconds since 1970; nil while it is there.
    package var unregisteredAtMs: Int64?

    package init(
        token: String, topic: String? = nil, environment: PushEnvironment? = nil,
        unregisteredAtMs: Int64? = nil
    ) {
        self.token = token
        self.topic = topic
        self.environment = environment
        self.unregisteredAtMs = unregisteredAtMs
    }

    var device: DeviceBook.Device {
        DeviceBook.Device(
            topicHash: topic.map { Hash64.of(text: $0) } ?? 0, environment: environment,
            unregisteredAtMs: unregisteredAtMs ?? 0)
    }

    /// Reads one entry of `POST /devices`; nil when it isn't one.
    init?(_ value: JSONValue) {
        guard let token = value["token"]?.string, !token.isEmpty else { return nil }
        self.token = token
        topic = value["topic"]?.string
        if let name = value["environment"]?.string {
            guard let found = PushEnvironment.allCases.first(where: { $0.name == name }) else { return nil }
            environment = found
        }
        unregisteredAtMs = value["unregistered_at_ms"]?.integer
    }
}
