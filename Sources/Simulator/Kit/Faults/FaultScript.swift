import Core

/// Why a fault script could not be read.
package struct FaultScriptFailure: Error, CustomStringConvertible, Equatable {
    package let description: String
}

/// What a fault rule is matched against.
struct FaultSubject {
    var provider = Provider.apns
    var environment = PushEnvironment.production
    var token = Bytes.empty
    var job = Bytes.empty
    var topic = Bytes.empty
    /// The number of the connection among those of its listener, from 1.
    var connection: UInt64 = 0
    /// The number of the request on its connection, from 1.
    var request: UInt64 = 0
}

/// One rule of a fault script: which requests it is for and what they get.
final class FaultRule {
    var provider: Provider?
    var environment: PushEnvironment?
    var token: [UInt8]?
    var tokenPrefix: [UInt8]?
    var job: [UInt8]?
    var topic: [UInt8]?
    var connection: UInt64?
    var connectionRequest: UInt64?
    var connectionRequestFrom: UInt64?
    var fromMs: UInt64 = 0
    var untilMs = UInt64.max
    /// How many matching requests pass before the rule begins.
    var after: UInt64 = 0
    /// How many requests the rule answers; then it is used up.
    var first = UInt64.max
    /// Of the matching requests only each such one.
    var every: UInt64 = 1
    /// Of the matching requests about this share, in millionths.
    var share: UInt64 = 1_000_000
    var answer = Answer()
    /// The body of the answer, or a GOAWAY's debug data.
    var text: [UInt8]?
    var contentType: [UInt8] = Array("application/json".utf8)

    private(set) var seen: UInt64 = 0
    private(set) var applied: UInt64 = 0
    private var random: UInt64 = 0x5EED

    /// Whether the rule answers this request; counts it if so.
    func take(_ subject: borrowing FaultSubject, elapsedMs: UInt64) -> Bool {
        guard matches(subject, elapsedMs: elapsedMs), applied < first else { return false }
        seen += 1
        guard seen > after, (seen - after - 1) % every == 0 else { return false }
        if share < 1_000_000 {
            random = Hash64.mix(random &+ 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F)
            guard random % 1_000_000 < share else { return false }
        }
        applied += 1
        return true
    }

    private func matches(_ subject: borrowing FaultSubject, elapsedMs: UInt64) -> Bool {
        if let provider, provider != subject.provider { return false }
        if let environment, environment != subject.environment { return false }
        if elapsedMs < fromMs || elapsedMs >= untilMs { return false }
        if let connection, connection != subject.connection { return false }
        if let connectionRequest, connectionRequest != subject.request { return false }
        if let connectionRequestFrom, subject.request < connectionRequestFrom { return false }
        if let token, !subject.token.equals(token) { return false }
        if let tokenPrefix, !subject.token.slice(0, tokenPrefix.count).equals(tokenPrefix) { return false }
        if let job, !subject.job.equals(job) { return false }
        if let topic, !subject.topic.equals(topic) { return false }
        return true
    }
}

/// Something that happens at a moment of the script without a request.
struct FaultEvent {
    enum Kind: Equatable {
        /// A new stream limit on every open connection, and on later ones.
        case streamsMax(UInt32)
        /// Until the next such event, connections are closed as soon as they are accepted.
        case refuseConnections(Bool)
        /// Something on every open connection: goaway, kill or closeTLS.
        case wire(Answer)
        /// Connections stop reading and answering without closing.
        case hang
        /// A PING on every open connection.
        case ping
        /// Bytes that are no HTTP/2 frames.
        case garbage
    }

    var atMs: UInt64 = 0
    var provider: Provider?
    var environment: PushEnvironment?
    var kind: Kind
    var text: [UInt8] = []
}

/// A list of fault rules and timed events, as one JSON document. `docs/simulator.md` describes the format.
struct FaultScript {
    static let rulesMax = 1024

    var rules: [FaultRule] = []
    var events: [FaultEvent] = []

    /// The first rule that answers the request, by index.
    func take(_ subject: borrowing FaultSubject, elapsedMs: UInt64) -> Int? {
        for index in rules.indices where rules[index].take(subject, elapsedMs: elapsedMs) { return index }
        return nil
    }
}
