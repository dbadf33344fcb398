package import Core

/// Counters of a running simulator.
package struct SimulatorStats: Sendable {
    package var requests: UInt64 = 0
    /// Connections accepted so far by the APNs, sandbox and FCM listener.
    package var connections: [UInt64] = [0, 0, 0]
    package var openConnections = 0
    package var connectionsClosed: UInt64 = 0
    /// Connections closed at once because the fault script said so.
    package var connectionsRefused: UInt64 = 0
    /// Streams that the client gave up.
    package var streamsAbandoned: UInt64 = 0
    package var goaways: UInt64 = 0
    /// Timed events of fault scripts that have happened.
    package var events: UInt64 = 0
    package var delayedAnswers = 0
    package var signaturesChecked: UInt64 = 0
    package var accessTokensGranted: UInt64 = 0
    package var accessTokensRefused: UInt64 = 0
    /// Listed device tokens.
    package var devices = 0

    init() {}

    private var rows: [(StaticString, UInt64)] {
        [
            ("requests", requests), ("apns_connections", connections[0]),
            ("sandbox_connections", connections[1]),
            ("fcm_connections", connections[2]), ("open_connections", UInt64(openConnections)),
            ("connections_closed", connectionsClosed), ("connections_refused", connectionsRefused),
            ("streams_abandoned", streamsAbandoned), ("goaways", goaways), ("events", events),
            ("delayed_answers", UInt64(delayedAnswers)), ("signatures_checked", signaturesChecked),
            ("access_tokens_granted", accessTokensGranted), ("access_tokens_refused", accessTokensRefused),
            ("devices", UInt64(devices)),
        ]
    }

    /// Appends the counters as a JSON object.
    package func append(json buffer: inout ByteBuffer) {
        var separator: StaticString = "{\""
        for (name, value) in rows {
            buffer.append(separator)
            buffer.append(name)
            buffer.append("\":")
            buffer.append(unsigned: value)
            separator = ",\""
        }
        buffer.append("}")
    }
}
