package import Core
package import Jobs

/// What belongs in the headers of a Web Push request beside its body.
/// - Valid: as long as the job's bytes, which ``topic`` points into.
package struct WebPushHead: BitwiseCopyable {
    /// How the rendering ended.
    package var result: RenderResult
    /// `TTL`: seconds, which RFC 8030 asks for with every message.
    package var ttl: Int64
    /// `Topic`: the collapse id, when it is one that RFC 8030 section 5.4 allows.
    package var topic: JSONText?
    /// How urgent the message is.
    package var priority: JobPriority

    /// `Urgency` (RFC 8030 section 5.3).
    package var urgency: StaticString { priority.urgency }
}

extension JobPriority {
    /// The word of the Web Push urgency.
    var urgency: StaticString {
        switch self {
        case .high: "high"
        case .normal: "normal"
        case .low: "low"
        }
    }
}

/// The plaintext of Web Push messages: what a service worker gets in its push event.
extension Renderer {
    /// The most bytes of plaintext that every push service takes (RFC 8291 section 4).
    package static let maximumWebPush = 3993

    /// Appends `{"notification":{...},"data":{...}}`, the shape of the same job behind FCM.
    ///
    /// - Parameters:
    ///   - job: a parsed job. Its `apns` and `fcm` have no part in this.
    ///   - moment: badge, deadline and time.
    ///   - out: what to append the plaintext to; untouched unless the result is sendable.
    /// - Returns: the headers' content, with the result in it.
    package func renderWebPush(_ job: Job, at moment: RenderMoment, into out: inout ByteBuffer) -> WebPushHead
    {
        var head = WebPushHead(
            result: .ok, ttl: Self.remaining(job, moment) ?? 2_419_200, topic: Self.webTopic(job),
            priority: job.priority)
        guard !job.type.isAppleOnly, job.type != .alert || job.hasText || job.dataCount > 0 else {
            head.result = .notForPlatform
            return head
        }
        let start = out.count
        appendWebPush(job, moment, job.body, &out)
        if out.count - start > Self.maximumWebPush {
            head.result = fit(job, start: start, limit: Self.maximumWebPush, overhead: 0, out: &out) {
                body, out in
                self.appendWebPush(job, moment, body, &out)
            }
        }
        return head
    }

    private func appendWebPush(
        _ job: Job, _ moment: RenderMoment, _ body: JSONText?, _ out: inout ByteBuffer
    ) {
        unsafe out.reserve(job.bytes.count + 128)
        out.append(byte: UInt8(ascii: "{"))
        appendNotification(job, body, &out)
        out.name("\"data\":{")
        appendCustom(job, moment, body, .fcm, &out)
        out.close()
        out.close()
    }

    /// At most 32 characters of the base64url alphabet; any other collapse id is left out.
    private static func webTopic(_ job: Job) -> JSONText? {
        guard let collapse = job.collapse, !collapse.isEscaped, unsafe collapse.raw.count <= 32,
            unsafe collapse.raw.allSatisfy({
                $0 | 0x20 &- 97 < 26 || $0 &- 48 < 10 || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            })
        else { return nil }
        return collapse
    }
}
