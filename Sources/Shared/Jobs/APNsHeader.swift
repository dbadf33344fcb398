/// The request headers that a job can set for APNs through `apns.headers`.
package enum APNsHeader: UInt8, Sendable, CaseIterable {
    case topic, pushType, priority, expiration, collapseID

    var bit: UInt32 { 1 << UInt32(rawValue) }

    /// The header's name.
    package var name: StaticString {
        switch self {
        case .topic: "apns-topic"
        case .pushType: "apns-push-type"
        case .priority: "apns-priority"
        case .expiration: "apns-expiration"
        case .collapseID: "apns-collapse-id"
        }
    }

    /// The header of that name, or nil.
    package static func named(_ text: JSONText) -> APNsHeader? {
        for header in allCases where text.equals(header.name) { return header }
        return nil
    }

    /// What a value must be, as one sentence.
    var rule: String {
        switch self {
        case .topic: "The topic must be a bundle id: letters, digits, '.' and '-'."
        case .pushType: "The push type must be one that APNs has, such as alert or background."
        case .priority: "The priority must be \"10\", \"5\" or \"1\"."
        case .expiration: "The expiration must be a UNIX time in seconds, as a string of digits."
        case .collapseID: "The collapse id may have 64 bytes."
        }
    }

    /// Whether the value keeps the rule.
    func accepts(_ value: JSONText) -> Bool {
        let raw = unsafe value.raw
        switch self {
        case .topic:
            return unsafe !value.isEscaped && raw.count <= 255
                && raw.allSatisfy {
                    $0 | 0x20 &- 97 < 26 || $0 &- 48 < 10 || $0 == 45 || $0 == 46 || $0 == 95
                }
        case .pushType: return JobType.apnsType(value) != nil
        case .priority: return value.equals("10") || value.equals("5") || value.equals("1")
        case .expiration:
            return unsafe !value.isEscaped && raw.count <= 12 && raw.allSatisfy { $0 &- 48 < 10 }
        case .collapseID: return value.unescapedCount <= 64
        }
    }
}

extension JobType {
    /// The push type of that name, as APNs knows it; Peal's own types are none.
    package static func apnsType(_ text: JSONText) -> JobType? {
        for type in allCases where type != .encrypted && type != .badge && text.equals(type.word) {
            return type
        }
        return nil
    }
}

extension DataKeys {
    /// The profile name that the bytes spell, or nil.
    @inline(__always)
    static func named(_ name: UnsafeRawBufferPointer) -> DataKeys? {
        @inline(__always) func bytes(_ text: StaticString) -> Bool { unsafe name.isEqual(to: text) }
        switch name.count {
        case 3: return bytes("url") ? .url : bytes("tag") ? .tag : nil
        case 4: return bytes("body") ? .body : bytes("kind") ? .kind : nil
        case 5:
            return bytes("title")
                ? .title
                : bytes("image")
                    ? .image
                    : bytes("appId")
                        ? .appId
                        : bytes("topic") ? .topic : nil
        case 6: return bytes("source") ? .source : bytes("unread") ? .unread : bytes("avatar") ? .avatar : nil
        case 7: return bytes("message") ? .message : nil
        case 8: return bytes("subtitle") ? .subtitle : nil
        case 9:
            return bytes("messageId")
                ? .messageId
                : bytes("dedup_key")
                    ? .dedupKey
                    : bytes("concierge") ? .concierge : nil
        case 10:
            return bytes("target_url") ? .targetURL : bytes("channel_id") ? .channelId : nil
        case 11: return bytes("fcm_options") ? .fcmOptions : nil
        case 13: return bytes("sender_avatar") ? .senderAvatar : nil
        case 14:
            return bytes("conversationId") ? .conversationId : bytes("notificationId") ? .notificationId : nil
        default: return nil
        }
    }
}
