import Core

/// What APNs checks about one request apart from its credentials, in the order in which it complains.
///
/// Pure: no clock, no state. Sources: Apple's "Sending notification requests to APNs" and "Handling
/// notification responses from APNs".
enum APNsRules {
    static let pathPrefix: StaticString = "/3/device/"
    /// A device token is 2 to 200 bytes, as hexadecimal digits.
    static let tokenDigitsMax = 400
    static let collapseIDMax = 64

    /// The method and path; on success the device token.
    static func route(_ request: borrowing ProviderRequest) -> (reason: APNsReason, token: Bytes) {
        guard request.method.equals("POST") else { return (.methodNotAllowed, .empty) }
        guard request.path.hasPrefix(pathPrefix) else {
            return (request.path.equals("/3/device") ? .missingDeviceToken : .badPath, .empty)
        }
        let token = request.path.slice(pathPrefix.utf8CodeUnitCount, request.path.count)
        if token.isEmpty { return (.missingDeviceToken, .empty) }
        if token.firstIndex(of: UInt8(ascii: "/")) != nil { return (.badPath, .empty) }
        return (request.hasDuplicates ? .duplicateHeaders : .none, token)
    }

    /// The headers; on success the push type (alert when the header is missing) and the priority.
    static func headers(
        _ request: borrowing ProviderRequest, token: Bytes
    ) -> (reason: APNsReason, type: APNsPushType, priority: Int64) {
        if !request.apnsID.isEmpty, !isCanonicalUUID(request.apnsID) { return (.badMessageID, .alert, 10) }
        if !request.expiration.isEmpty, request.expiration.decimal == nil {
            return (.badExpirationDate, .alert, 10)
        }
        var type = APNsPushType.alert
        if !request.pushType.isEmpty {
            guard let named = APNsPushType.named(request.pushType) else {
                return (.invalidPushType, .alert, 10)
            }
            type = named
        }
        let priority = request.priority.isEmpty ? 10 : request.priority.decimal ?? -1
        // A missing priority means 10 for the service; types for which 10 is wrong are refused only when it
        // is explicit.
        let allowed = request.priority.isEmpty || type.allows(priority: priority)
        if !allowed { return (.badPriority, type, priority) }
        if type == .pushtotalk, !request.expiration.isEmpty, request.expiration.decimal != 0 {
            return (.badExpirationDate, type, priority)
        }
        let topic = checkTopic(request.topic, type: type)
        if topic != .none { return (topic, type, priority) }
        if request.collapseID.count > collapseIDMax { return (.badCollapseID, type, priority) }
        return (isToken(token) ? .none : .badDeviceToken, type, priority)
    }

    /// The payload's size.
    static func size(_ request: borrowing ProviderRequest, type: APNsPushType) -> APNsReason {
        if request.body.isEmpty { return .payloadEmpty }
        return request.body.count > type.payloadMax ? .payloadTooLarge : .none
    }

    /// The payload's form, and whether it suits its push type.
    ///
    /// Apple documents no reason for a body that isn't JSON; the simulator says `BadRequestPayload`, which
    /// its sister API documents. A payload that contradicts its type may be dropped silently by the real
    /// service; the simulator says `InvalidPushType` instead, so that a test notices.
    static func payload(_ payload: APNsPayload, type: APNsPushType) -> APNsReason {
        guard payload.isObject, payload.hasAPS || payload.hasMDM || !needsAPS(type), !payload.badgeIsBad
        else {
            return .badRequestPayload
        }
        switch type {
        case .background:
            let shows = payload.hasAlert || payload.hasBadge || payload.hasSound
            return payload.contentAvailable && !shows ? .none : .invalidPushType
        case .liveactivity: return payload.hasEvent && payload.hasTimestamp ? .none : .invalidPushType
        case .widgets: return payload.contentChanged ? .none : .invalidPushType
        case .mdm: return payload.hasMDM ? .none : .invalidPushType
        default: return .none
        }
    }

    private static func needsAPS(_ type: APNsPushType) -> Bool {
        switch type {
        case .alert, .background, .liveactivity, .widgets: true
        default: false
        }
    }

    private static func checkTopic(_ topic: Bytes, type: APNsPushType) -> APNsReason {
        if topic.isEmpty { return .missingTopic }
        guard topic.count <= 255 else { return .badTopic }
        for index in 0..<topic.count where !isTopicByte(topic[index]) { return .badTopic }
        let suffix = type.topicSuffix
        if suffix.utf8CodeUnitCount > 0 {
            return topic.hasSuffix(suffix) && topic.count > suffix.utf8CodeUnitCount ? .none : .badTopic
        }
        return .none
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Whether the text is a lower-case UUID, 8-4-4-4-12.
    static func isCanonicalUUID(_ text: Bytes) -> Bool {
        guard text.count == 36 else { return false }
        for index in 0..<36 {
            let byte = text[index]
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return false }
            } else {
                guard isLowerHex(byte) else { return false }
            }
        }
        return true
    }

    private static func isLowerHex(_ byte: UInt8) -> Bool {
        (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
            || (byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f"))
    }

    /// Whether the text is an even number of hexadecimal digits within Apple's bounds.
    static func isToken(_ text: Bytes) -> Bool {
        guard text.count >= 4, text.count <= tokenDigitsMax, text.count % 2 == 0 else { return false }
        var index = 0
        while index + 8 <= text.count {
            guard areHex(text.word(at: index)) else { return false }
            index += 8
        }
        while index < text.count {
            guard Hex.value(text[index]) != nil else { return false }
            index += 1
        }
        return true
    }

    /// Whether eight bytes are hexadecimal digits, decided for all at once: an addition that carries into a
    /// byte's top bit exactly when the byte reaches a bound shows on which side of the bound it lies.
    private static func areHex(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops = ones &* 0x80
        guard word & tops == 0 else { return false }
        let digits = (word &+ ones &* (0x80 - 0x30)) ^ (word &+ ones &* (0x80 - 0x3A))
        let lower = word | ones &* 0x20
        let letters = (lower &+ ones &* (0x80 - 0x61)) ^ (lower &+ ones &* (0x80 - 0x67))
        return (digits | letters) & tops == tops
    }

    /// The topic without its push type's suffix.
    static func bundleID(_ topic: Bytes, type: APNsPushType) -> Bytes {
        let suffix = type.topicSuffix
        return topic.hasSuffix(suffix) ? topic.slice(0, topic.count - suffix.utf8CodeUnitCount) : topic
    }
}
