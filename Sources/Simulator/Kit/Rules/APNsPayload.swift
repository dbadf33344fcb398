/// What a scan of an APNs payload found: enough to check it against its push type and to record it.
struct APNsPayload {
    /// Whether the body is one well-formed JSON object.
    var isObject = false
    var hasAPS = false
    var hasAlert = false
    var hasSound = false
    var hasBadge = false
    var badge: Int64 = 0
    /// Whether a badge is present and not a whole number of at least 0.
    var badgeIsBad = false
    var contentAvailable = false
    var mutableContent = false
    var contentChanged = false
    var hasEvent = false
    var hasTimestamp = false
    var hasContentState = false
    var hasMDM = false
    var thread = JSONSpan()
    var job = JSONSpan()

    /// Scans the body in one pass.
    static func scan(_ body: Bytes, markers: PayloadMarkers) -> APNsPayload {
        var found = APNsPayload()
        var scanner = JSONScanner(body)
        guard scanner.open(UInt8(ascii: "{")) else { return found }
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            if key.equals("aps") {
                found.hasAPS = true
                found.scanAPS(&scanner)
            } else {
                if key.equals("mdm") { found.hasMDM = true }
                found.scanCustom(&scanner, key: key, markers: markers)
            }
        }
        found.isObject = scanner.finish()
        return found
    }

    private mutating func scanCustom(_ scanner: inout JSONScanner, key: Bytes, markers: PayloadMarkers) {
        if markers.contains(key) {
            job = scanner.stringValue() ?? job
            return
        }
        guard scanner.open(UInt8(ascii: "{")) else {
            scanner.skip(depth: 1)
            return
        }
        var first = true
        while let name = scanner.member(&first) {
            if markers.contains(scanner.bytes(of: name)) {
                job = scanner.stringValue() ?? job
            } else {
                scanner.skip(depth: 2)
            }
        }
    }

    private mutating func scanAPS(_ scanner: inout JSONScanner) {
        guard scanner.open(UInt8(ascii: "{")) else {
            scanner.skip(depth: 1)
            hasAPS = false
            return
        }
        var first = true
        while let name = scanner.member(&first) {
            let key = scanner.bytes(of: name)
            switch key[0] {
            case UInt8(ascii: "a") where key.equals("alert"):
                hasAlert = scanner.peek() != UInt8(ascii: "n")
                scanner.skip(depth: 2)
            case UInt8(ascii: "b") where key.equals("badge"):
                hasBadge = true
                let value = scanner.integerValue()
                badge = value ?? 0
                badgeIsBad = (value ?? -1) < 0
            case UInt8(ascii: "s") where key.equals("sound"):
                hasSound = true
                scanner.skip(depth: 2)
            case UInt8(ascii: "t") where key.equals("thread-id"): thread = scanner.stringValue() ?? thread
            case UInt8(ascii: "t") where key.equals("timestamp"): hasTimestamp = scanner.integerValue() != nil
            case UInt8(ascii: "m") where key.equals("mutable-content"):
                mutableContent = scanner.integerValue() == 1
            case UInt8(ascii: "e") where key.equals("event"): hasEvent = scanner.stringValue() != nil
            case UInt8(ascii: "c"): scanContent(&scanner, key: key)
            default: scanner.skip(depth: 2)
            }
        }
    }

    private mutating func scanContent(_ scanner: inout JSONScanner, key: Bytes) {
        if key.equals("content-available") {
            contentAvailable = scanner.integerValue() == 1
        } else if key.equals("content-changed") {
            contentChanged = scanner.bool() == true
        } else if key.equals("content-state") {
            hasContentState = scanner.peek() == UInt8(ascii: "{")
            scanner.skip(depth: 2)
        } else {
            scanner.skip(depth: 2)
        }
    }
}
