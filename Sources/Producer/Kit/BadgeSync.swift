package import Core

/// The silent push that tells a recipient's other devices of a read.
///
/// Reads are coalesced: the push waits a second in a retry topic, and whatever is read until a worker takes
/// it up goes with it, since it carries the counter's value at that moment. The claim in Redis sees to it
/// that one is published; whoever can't publish it gives the claim back.
package enum BadgeSync {
    /// How long a push waits for further reads, in milliseconds.
    package static let gatherMs: Int64 = 1000
    /// How long a push that no worker has taken up keeps others from being published, in milliseconds.
    package static let claimMs: Int64 = 10_000

    /// Writes the job to every device of the recipient but `device`, which is empty when it is none of them.
    /// `nowMs` is milliseconds since 1970.
    package static func write(
        app: String, recipient: String, device: String, nowMs: Int64, into out: inout ByteBuffer
    ) {
        out.append("{\"app\":")
        out.append(jsonString: app)
        out.append(",\"to\":{\"recipient\":")
        out.append(jsonString: recipient)
        out.append(",\"except\":[")
        if !device.isEmpty { out.append(jsonString: device) }
        out.append("]},\"type\":\"badge\",\"collapse\":\"badge\",\"send_at\":")
        out.append(jsonString: Timestamp.rfc3339(ms: nowMs + gatherMs))
        out.append("}")
    }

    /// The same as an array.
    package static func job(app: String, recipient: String, device: String, nowMs: Int64) -> [UInt8] {
        var out = ByteBuffer(capacity: 512)
        write(app: app, recipient: recipient, device: device, nowMs: nowMs, into: &out)
        return out.array
    }
}
