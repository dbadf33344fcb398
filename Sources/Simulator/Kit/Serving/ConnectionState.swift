/// What the simulator remembers about one client connection.
final class ConnectionState {
    let listener: Listener
    /// The number among the connections of its listener, from 1.
    let number: UInt64
    /// The client's TCP port.
    let peerPort: UInt16
    var requests: UInt64 = 0
    var apns = APNsAuthority.Memory()
    var oauth = OAuthServer.Memory()
    /// The stream limit last announced.
    var streamsMax: UInt32
    /// Whether a valid provider token was seen, and whether the stream limit was raised for it.
    var isTrusted = false
    var isRaised = false
    /// The errors so far that count against the sender, and the successes that are missing since the last.
    var errors: UInt32 = 0
    var successesOwed: UInt32 = 0
    /// The project in the path of the last FCM request, for the names of its answers.
    var project: [UInt8] = []
    /// Set once a GOAWAY went out: streams above it are not processed.
    var lastStreamID = Int32.max
    /// Whether the connection was told to hang.
    var isHung = false

    init(listener: Listener, number: UInt64, peerPort: UInt16 = 0, streamsMax: UInt32) {
        self.listener = listener
        self.number = number
        self.peerPort = peerPort
        self.streamsMax = streamsMax
    }
}

/// One of the simulator's ports.
enum Listener: UInt8, CaseIterable {
    case apns, sandbox, fcm

    var provider: Provider { self == .fcm ? .fcm : .apns }
    var environment: PushEnvironment { self == .sandbox ? .sandbox : .production }
}
