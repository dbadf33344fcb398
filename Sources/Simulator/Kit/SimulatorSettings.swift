/// How a simulator behaves.
package struct SimulatorSettings: Sendable {
    /// The numeric address to listen on.
    package var host = "127.0.0.1"
    /// Names and addresses that the certificate is for, besides ``host``, localhost and the loopback
    /// addresses.
    package var certificateHosts: [String] = []
    /// Ports; 0 picks a free one, nil leaves the listener out.
    package var apnsPort: UInt16? = 0
    package var sandboxPort: UInt16? = 0
    package var fcmPort: UInt16? = 0
    /// The plain HTTP port for the record, faults and metrics.
    package var adminPort: UInt16? = 0

    /// The Apple team and key id of the generated key, ten characters each.
    package var teamID = "SIMTEAM001"
    package var keyID = "SIMKEY0001"
    /// Bundle ids that the generated key may send to; empty for all.
    package var bundleIDs: [String] = []
    /// The Firebase project of the generated service account.
    package var projectID = "simulated-project"
    /// How long access tokens live.
    package var accessTokenLifetimeS: Int64 = 3600
    /// The least time between two provider tokens, and what it is measured over.
    package var tokenRefreshMinS: Int64 = 1200
    package var tokenUpdateScope = TokenUpdateScope.connection

    /// Streams that APNs allows once a valid provider token was accepted, and before.
    package var apnsStreamsMax: UInt32 = 1000
    package var apnsStreamsBeforeToken: UInt32 = 1
    /// Whether APNs drops to one stream after an error that counts against the sender, until the next
    /// success.
    package var shrinksOnErrors = false
    /// How many successes in a row bring the streams back.
    package var successesToRecover: UInt32 = 1
    /// After so many of those errors APNs closes a connection by GOAWAY; 0 for never.
    package var errorsPerConnection: UInt32 = 0
    /// Streams that FCM allows.
    package var fcmStreamsMax: UInt32 = 100
    /// Clients of one listener at a time.
    package var connectionsMax = 4096

    /// How long every answer waits.
    package var delayMs: UInt32 = 0
    /// Whether everything that has a device path is accepted unchecked, for benchmarks.
    package var acceptsAll = false
    /// Whether tokens that were not listed are refused.
    package var refusesUnknownTokens = false
    /// Payload members that hold the sender's job id.
    package var jobMarkers = ["peal_job"]
    /// Requests kept in the record, and the bytes they may take.
    package var recordMax = 1_000_000
    package var recordBytesMax = 1 << 30
    /// A file that every request is appended to before it is answered, as one line of JSON; nil for none.
    /// What is in it outlives the process, however that ends.
    package var recordPath: String?
    /// Whether bodies are kept in the record.
    package var keepsBodies = false
    /// A fault script to begin with; empty for none.
    package var faultScript = ""
    /// Where the throw-away credentials are written for clients; nil writes nothing.
    package var certificateDirectory: String?

    package init() {}
}

/// Why a simulator could not start, or refused an order.
package struct SimulatorFailure: Error, CustomStringConvertible {
    /// A closed set, usable as a metric label.
    package enum Code: String, Sendable {
        case listen, credentials, files, faultScript, stopped
    }

    package let code: Code
    /// What to fix.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
