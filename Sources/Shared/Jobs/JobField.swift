/// The top-level fields of a job.
@usableFromInline
enum JobField: UInt8 {
    case id, app, to, title, subtitle, body, image, kind, category, thread, url, sound, data, unread, priority
    case ttl, collapse, dedup, topic, campaign, sendAt, apns, fcm, type, message, tag, expiresAt, push

    /// Its place in bit sets.
    @inlinable var bit: UInt32 { 1 << UInt32(rawValue) }

    /// The name in the job.
    var name: String {
        switch self {
        case .sendAt: "send_at"
        case .expiresAt: "expires_at"
        default: "\(self)"
        }
    }

    /// The field with that name, or nil. Sorted by length first, so that most names cost one comparison or
    /// two.
    @inline(__always)
    static func named(_ name: UnsafeRawBufferPointer) -> JobField? {
        @inline(__always) func bytes(_ text: StaticString) -> Bool {
            unsafe name.isEqual(to: text)
        }
        switch name.count {
        case 2: return bytes("to") ? .to : bytes("id") ? .id : nil
        case 3:
            return bytes("app")
                ? .app
                : bytes("url")
                    ? .url
                    : bytes("ttl")
                        ? .ttl
                        : bytes("tag")
                            ? .tag
                            : bytes("fcm") ? .fcm : nil
        case 4:
            return bytes("body")
                ? .body
                : bytes("data")
                    ? .data
                    : bytes("kind")
                        ? .kind
                        : bytes("type") ? .type : bytes("apns") ? .apns : bytes("push") ? .push : nil
        case 5:
            return bytes("title")
                ? .title
                : bytes("topic")
                    ? .topic
                    : bytes("sound")
                        ? .sound
                        : bytes("dedup") ? .dedup : bytes("image") ? .image : nil
        case 6: return bytes("unread") ? .unread : bytes("thread") ? .thread : nil
        case 7: return bytes("send_at") ? .sendAt : bytes("message") ? .message : nil
        case 8:
            return bytes("priority")
                ? .priority
                : bytes("collapse")
                    ? .collapse
                    : bytes("category")
                        ? .category
                        : bytes("campaign") ? .campaign : bytes("subtitle") ? .subtitle : nil
        case 10: return bytes("expires_at") ? .expiresAt : nil
        default: return nil
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are the text.
    @inline(__always)
    func isEqual(to text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where unsafe self[index] != text.utf8Start[index] { return false }
        return true
    }
}
