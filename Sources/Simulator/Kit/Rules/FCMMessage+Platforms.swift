/// The platform blocks of a message: `android`, `webpush`, `apns`.
extension FCMMessage {
    /// The longest time to live, four weeks.
    static let ttlMaxSeconds: Int64 = 2_419_200

    mutating func android(_ scanner: inout JSONScanner) {
        guard scanner.open(UInt8(ascii: "{")) else {
            complain(.android)
            return scanner.skip(depth: 2)
        }
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            if scanner.peek() == UInt8(ascii: "n") {
                scanner.skip(depth: 3)
            } else if key.equals("priority") {
                androidPriority(&scanner)
            } else if key.equals("ttl") {
                ttl(&scanner)
            } else if key.equals("notification") || Self.isName(key, "remote_notification") {
                androidNotification(&scanner)
            } else if key.equals("data") {
                hasData = true
                data(&scanner, field: .data)
            } else if Self.isName(key, "collapse_key") {
                if let value = scanner.stringValue() { collapseKey = value } else { complain(.android) }
            } else {
                androidRest(&scanner, key: key)
            }
        }
    }

    private mutating func androidRest(_ scanner: inout JSONScanner, key: Bytes) {
        if Self.isName(key, "restricted_package_name") {
            if scanner.stringValue() == nil { complain(.android) }
        } else if Self.isName(key, "direct_boot_ok") || Self.isName(key, "bandwidth_constrained_ok")
            || Self.isName(key, "restricted_satellite_ok")
        {
            if scanner.bool() == nil { complain(.android) }
        } else if Self.isName(key, "fcm_options") {
            options(&scanner)
        } else {
            if !Self.isName(key, "background_sync") { complain(.unknown) }
            scanner.skip(depth: 3)
        }
    }

    private mutating func androidPriority(_ scanner: inout JSONScanner) {
        let value = scanner.stringValue().map { scanner.bytes(of: $0) } ?? .empty
        if value.equals("HIGH") || value.equals("high") {
            isHigh = true
        } else if !value.equals("NORMAL"), !value.equals("normal") {
            complain(.androidPriority)
        }
    }

    /// A protobuf duration: seconds, at most nine decimals, then `s`.
    private mutating func ttl(_ scanner: inout JSONScanner) {
        guard let span = scanner.stringValue() else { return complain(.androidTTL) }
        let text = scanner.bytes(of: span)
        guard text.hasSuffix("s") else { return complain(.androidTTL) }
        let number = text.slice(0, text.count - 1)
        let point = number.firstIndex(of: UInt8(ascii: "."))
        let fraction = point.map { number.slice($0 + 1, number.count) }
        guard let seconds = number.slice(0, point ?? number.count).decimal, seconds <= Self.ttlMaxSeconds,
            fraction.map({ $0.decimal != nil && $0.count <= 9 }) ?? true
        else { return complain(.androidTTL) }
        ttlSeconds = seconds
    }

    private mutating func androidNotification(_ scanner: inout JSONScanner) {
        guard scanner.open(UInt8(ascii: "{")) else {
            complain(.androidNotification)
            return scanner.skip(depth: 3)
        }
        hasNotification = true
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            if Self.isName(key, "notification_count") {
                let count = scanner.integerValue() ?? -1
                if count < 0 { complain(.androidNotification) } else { badge = count }
            } else if scanner.peek() == UInt8(ascii: "\"") {
                let value = scanner.string() ?? JSONSpan()
                payloadBytes += Int(value.count)
                if key.equals("tag") { tag = value }
                if !Self.accepts(value: scanner.bytes(of: value), for: key) { complain(.androidNotification) }
            } else {
                if !Self.isNotText(key) { complain(.androidNotification) }
                scanner.skip(depth: 4)
            }
        }
    }

    /// Whether a text member is known and, where its values are listed, one of them.
    private static func accepts(value: Bytes, for key: Bytes) -> Bool {
        if key.equals("color") { return isColor(value) }
        if isName(key, "notification_priority") {
            return value.equals("PRIORITY_MIN") || value.equals("PRIORITY_LOW")
                || value.equals("PRIORITY_DEFAULT")
                || value.equals("PRIORITY_HIGH") || value.equals("PRIORITY_MAX")
                || value.equals("PRIORITY_UNSPECIFIED")
        }
        if key.equals("visibility") {
            return value.equals("PRIVATE") || value.equals("PUBLIC") || value.equals("SECRET")
                || value.equals("VISIBILITY_UNSPECIFIED")
        }
        if key.equals("proxy") {
            return value.equals("ALLOW") || value.equals("DENY") || value.equals("IF_PRIORITY_LOWERED")
                || value.equals("PROXY_UNSPECIFIED")
        }
        let plain = key.equals("title") || key.equals("body") || key.equals("icon") || key.equals("sound")
        let more = key.equals("tag") || key.equals("image") || key.equals("ticker")
        return plain || more || isName(key, "click_action") || isName(key, "channel_id")
            || isName(key, "body_loc_key") || isName(key, "title_loc_key") || isName(key, "event_time")
    }

    private static func isNotText(_ key: Bytes) -> Bool {
        key.equals("sticky") || isName(key, "local_only") || isName(key, "default_sound")
            || isName(key, "default_vibrate_timings") || isName(key, "default_light_settings")
            || isName(key, "vibrate_timings") || isName(key, "light_settings") || isName(key, "body_loc_args")
            || isName(key, "title_loc_args") || isName(key, "bypass_proxy_notification")
    }

    private static func isColor(_ value: Bytes) -> Bool {
        guard value.count == 7, value[0] == UInt8(ascii: "#") else { return false }
        for index in 1..<7 {
            switch value[index] | 0x20 {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): continue
            default: return false
            }
        }
        return true
    }

    // MARK: - webpush and apns

    mutating func webpush(_ scanner: inout JSONScanner) {
        guard scanner.open(UInt8(ascii: "{")) else {
            complain(.webpush)
            return scanner.skip(depth: 2)
        }
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            if key.equals("headers") || key.equals("data") {
                data(&scanner, field: .webpush)
            } else if key.equals("notification") {
                if scanner.peek() != UInt8(ascii: "{") { complain(.webpush) }
                scanner.skip(depth: 3)
            } else if Self.isName(key, "fcm_options") {
                options(&scanner)
            } else {
                complain(.unknown)
                scanner.skip(depth: 3)
            }
        }
    }

    mutating func apns(_ scanner: inout JSONScanner) {
        guard scanner.open(UInt8(ascii: "{")) else {
            complain(.apns)
            return scanner.skip(depth: 2)
        }
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            if key.equals("headers") {
                apnsHeaders(&scanner)
            } else if key.equals("payload") {
                apnsPayload(&scanner)
            } else if Self.isName(key, "fcm_options") {
                options(&scanner)
            } else {
                if !Self.isName(key, "live_activity_token") { complain(.unknown) }
                scanner.skip(depth: 3)
            }
        }
    }

    private mutating func apnsHeaders(_ scanner: inout JSONScanner) {
        guard scanner.open(UInt8(ascii: "{")) else {
            complain(.apnsHeaders)
            return scanner.skip(depth: 3)
        }
        var first = true
        while let name = scanner.member(&first) {
            let isPriority = scanner.bytes(of: name).equals("apns-priority")
            guard let value = scanner.stringValue() else {
                complain(.apnsHeaders)
                continue
            }
            if isPriority { apnsPriority = scanner.bytes(of: value).decimal ?? -1 }
        }
    }

    private mutating func apnsPayload(_ scanner: inout JSONScanner) {
        guard scanner.open(UInt8(ascii: "{")) else {
            complain(.apnsPayload)
            return scanner.skip(depth: 3)
        }
        var first = true
        while let name = scanner.member(&first) {
            guard scanner.bytes(of: name).equals("aps"), scanner.open(UInt8(ascii: "{")) else {
                scanner.skip(depth: 4)
                continue
            }
            var firstInside = true
            while let inner = scanner.member(&firstInside) {
                let key = scanner.bytes(of: inner)
                if key.equals("badge") {
                    let value = scanner.integerValue() ?? -1
                    if badge < 0 { badge = value }
                } else {
                    if key.equals("alert") { hasAPNsAlert = true }
                    scanner.skip(depth: 5)
                }
            }
        }
    }
}
