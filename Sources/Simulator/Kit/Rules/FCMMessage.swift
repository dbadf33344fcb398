/// What a scan of an FCM request found: enough to check it and to record it.
///
/// proto3 JSON: names may be snake_case or lowerCamelCase, null is the same as absent, the last of repeated
/// names wins.
struct FCMMessage {
    /// What a message is addressed to.
    enum Target: UInt8 {
        case none, token, topic, condition, fid
    }

    /// Whether the body is one well-formed JSON object.
    var isObject = false
    var validateOnly = false
    /// The first part of the message that breaks a rule.
    var violation = FCMField.none
    var target = Target.none
    var targetCount = 0
    var address = JSONSpan()
    /// Keys and values that count towards the size limit.
    var payloadBytes = 0
    var hasNotification = false
    var hasData = false
    var hasAPNs = false
    var hasAPNsAlert = false
    var apnsPriority: Int64 = 0
    var isHigh = false
    var ttlSeconds: Int64 = -1
    /// The badge: `android.notification.notification_count`, else `data.unread`, else
    /// `apns.payload.aps.badge`.
    var badge: Int64 = -1
    var collapseKey = JSONSpan()
    /// The notification's tag, else the data's `thread`, the nearest that Android has to a thread.
    var tag = JSONSpan()
    var job = JSONSpan()

    let markers: PayloadMarkers

    private init(markers: PayloadMarkers) { self.markers = markers }

    /// Scans the body in one pass.
    static func scan(_ body: Bytes, markers: PayloadMarkers) -> FCMMessage {
        var found = FCMMessage(markers: markers)
        var scanner = JSONScanner(body)
        guard scanner.open(UInt8(ascii: "{")) else { return found }
        var first = true
        var hasMessage = false
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            if key.equals("message") {
                hasMessage = found.message(&scanner)
            } else if isName(key, "validate_only") {
                found.validateOnly = scanner.bool() ?? false
            } else {
                found.complain(.unknown)
                scanner.skip(depth: 1)
            }
        }
        found.isObject = scanner.finish()
        if !hasMessage { found.violation = .message }
        return found
    }

    mutating func complain(_ field: FCMField) { if violation == .none { violation = field } }

    /// Whether a member's name is this one, in either spelling.
    static func isName(_ key: Bytes, _ snake: StaticString) -> Bool {
        if key.equals(snake) { return true }
        let length = snake.utf8CodeUnitCount
        guard key.count < length, unsafe key[0] == snake.utf8Start[0] else { return false }
        var at = 0
        var index = 0
        while index < length {
            var expected = unsafe snake.utf8Start[index]
            if expected == UInt8(ascii: "_"), index + 1 < length {
                index += 1
                expected = unsafe snake.utf8Start[index] & ~0x20
            }
            guard at < key.count, key[at] == expected else { return false }
            at += 1
            index += 1
        }
        return at == key.count
    }

    // MARK: - message

    private mutating func message(_ scanner: inout JSONScanner) -> Bool {
        guard scanner.open(UInt8(ascii: "{")) else {
            scanner.skip(depth: 1)
            return false
        }
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            if scanner.peek() == UInt8(ascii: "n") {
                scanner.skip(depth: 2)
            } else if key.equals("token") {
                take(&scanner, as: .token, field: .token)
            } else if key.equals("data") {
                hasData = true
                data(&scanner, field: .data)
            } else if key.equals("notification") {
                hasNotification = true
                notification(&scanner)
            } else if key.equals("android") || isNameV2(key) {
                android(&scanner)
            } else {
                rest(&scanner, key: key)
            }
        }
        return true
    }

    private func isNameV2(_ key: Bytes) -> Bool { key.equals("android_v2") || key.equals("androidV2") }

    private mutating func rest(_ scanner: inout JSONScanner, key: Bytes) {
        if key.equals("apns") {
            hasAPNs = true
            apns(&scanner)
        } else if key.equals("webpush") {
            webpush(&scanner)
        } else if key.equals("topic") {
            take(&scanner, as: .topic, field: .topic)
        } else if key.equals("condition") {
            take(&scanner, as: .condition, field: .condition)
        } else if key.equals("fid") {
            take(&scanner, as: .fid, field: .token)
        } else if Self.isName(key, "fcm_options") {
            options(&scanner)
        } else if key.equals("name") {
            scanner.skip(depth: 2)
        } else {
            complain(.unknown)
            scanner.skip(depth: 2)
        }
    }

    private mutating func take(_ scanner: inout JSONScanner, as kind: Target, field: FCMField) {
        targetCount += 1
        target = kind
        guard let span = scanner.stringValue() else { return complain(field) }
        address = span
    }

    /// A map of strings: the data of a message, of Android or of the web.
    mutating func data(_ scanner: inout JSONScanner, field: FCMField) {
        guard scanner.open(UInt8(ascii: "{")) else {
            complain(field)
            return scanner.skip(depth: 2)
        }
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            guard let value = scanner.stringValue() else {
                complain(field)
                continue
            }
            payloadBytes += Int(name.count) + Int(value.count)
            if Self.isReserved(key) { complain(.dataReserved) }
            if markers.contains(key) {
                job = value
            } else if key.equals("unread"), badge < 0 {
                badge = scanner.bytes(of: value).decimal ?? -1
            } else if key.equals("thread"), tag.isEmpty {
                tag = value
            }
        }
    }

    /// The names that FCM keeps for itself; the documents differ, so this is the strictest reading of them.
    private static func isReserved(_ key: Bytes) -> Bool {
        switch key[0] {
        case UInt8(ascii: "f"): key.equals("from")
        case UInt8(ascii: "m"): key.equals("message_type")
        case UInt8(ascii: "g"): key.hasPrefix("google") || key.hasPrefix("gcm")
        default: false
        }
    }

    private mutating func notification(_ scanner: inout JSONScanner) {
        guard scanner.open(UInt8(ascii: "{")) else {
            complain(.notification)
            return scanner.skip(depth: 2)
        }
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            let known = key.equals("title") || key.equals("body") || key.equals("image")
            if let value = scanner.stringValue(), known {
                payloadBytes += Int(name.count) + Int(value.count)
            } else {
                complain(.notification)
            }
        }
    }

    mutating func options(_ scanner: inout JSONScanner) {
        guard scanner.open(UInt8(ascii: "{")) else {
            complain(.fcmOptions)
            return scanner.skip(depth: 2)
        }
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            let known = Self.isName(key, "analytics_label") || key.equals("image") || key.equals("link")
            if scanner.stringValue() == nil || !known { complain(.fcmOptions) }
        }
    }
}
