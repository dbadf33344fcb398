package import Core
package import Jobs

/// A broadcast's job with gaps for the recipient: what each recipient's job is written from. Pure.
///
/// `to`, `id` and the times are replaced; every other member stays byte for byte.
/// - Ownership: a copy of the job's bytes; the job may go.
package struct BroadcastTemplate: Sendable {
    /// The broadcast.
    package let identity: BroadcastIdentity
    /// The campaign by which it is paused and cancelled: the job's, else the broadcast's id.
    package let campaign: String
    /// The topic whose subscribers it is for; nil for everyone.
    package let topic: String?
    /// When its jobs were published or were to be sent, in ms since 1970: what their ages count from.
    package let firstMs: Int64

    /// Up to the recipient's part of the id, from there to the recipient, and the rest.
    private let head: [UInt8]
    private let middle: [UInt8]
    private let tail: [UInt8]

    /// The longest recipient's name, in bytes.
    private static let recipientMax = 256
    /// The members that are written anew.
    private static let replaced: Set<String> = ["id", "to", "send_at"]

    /// Takes a parsed job apart; nil when it is no broadcast.
    ///
    /// `id` is the broadcast's, for a job without one. `publishedMs` is when the job was first published, in
    /// ms since 1970; its `ttl` counts from then.
    package init?(_ job: Job, id: String, publishedMs: Int64) {
        guard job.target == .topic || job.target == .all else { return nil }
        guard let members = unsafe JobMembers.find(job.bytes) else { return nil }
        identity = BroadcastIdentity(app: job.app.string, id: job.id?.string ?? id)
        topic = job.audience?.string
        campaign = job.campaign?.string ?? identity.id
        firstMs = max(publishedMs, job.sendAtMs)
        var out = ByteBuffer(capacity: 256)
        out.append("{\"id\":\"")
        var stem = identity.jobIDStem
        stem.withUTF8 { unsafe out.append(jsonEscaped: UnsafeRawBufferPointer($0)) }
        out.append(".")
        head = out.array
        middle = Array("\",\"to\":{\"recipient\":\"".utf8)
        out.clear()
        out.append("\"}")
        if job.campaign == nil {
            out.append(",\"campaign\":")
            out.append(jsonString: campaign)
        }
        // The topic of a sealed message belongs to its relay.
        if job.topic == nil, let topic, job.type != .encrypted {
            out.append(",\"topic\":")
            out.append(jsonString: topic)
        }
        // A job for now or never keeps its ttl, which says more than a time; it counts from `firstMs`.
        var replaced = Self.replaced
        if job.flags.contains(.hasTTL), !job.isImmediate,
            let deadline = job.deadlineMs(publishedAtMs: publishedMs)
        {
            replaced.insert("ttl")
            out.append(",\"expires_at\":")
            out.append(jsonString: Timestamp.rfc3339(ms: min(deadline, Self.latestMs)))
        }
        let bytes = unsafe job.bytes
        for member in members {
            let name = unsafe String(decoding: bytes[member.name], as: UTF8.self)
            if replaced.contains(name) { continue }
            out.append(",")
            unsafe out.append(UnsafeRawBufferPointer(rebasing: bytes[member.whole]))
        }
        out.append("}")
        tail = out.array
    }

    /// The last moment of the year 9999, which is as far as the text of a time goes.
    private static let latestMs: Int64 = 253_402_300_799_000

    /// `all`, or `topic:` and the topic: what `peal:cast` says.
    package var audience: String { topic.map { "topic:\($0)" } ?? "all" }

    /// The bytes of the largest job that a recipient without escapes can get.
    package var largest: Int {
        head.count + RecipientHash.length + middle.count + Self.recipientMax + tail.count
    }

    /// Whether every recipient's job is small enough for a worker.
    package var fits: Bool { largest <= JobParser.maximumBytes }

    /// Appends the job of one recipient, whose name is valid UTF-8.
    package func append(recipient: UnsafeRawBufferPointer, to out: inout ByteBuffer) {
        out.append(array: head)
        unsafe RecipientHash.append(recipient, to: &out)
        out.append(array: middle)
        unsafe out.append(jsonEscaped: recipient)
        out.append(array: tail)
    }
}
