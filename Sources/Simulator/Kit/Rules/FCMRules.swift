/// What FCM checks about one request apart from its credentials. Pure: no clock, no state.
enum FCMRules {
    static let tokenMax = 4096
    static let payloadMax = 4096
    static let topicPayloadMax = 2048
    /// The request's own bound, well above any message that could pass.
    static let bodyMax = 65_536

    /// Where a request goes.
    enum Route: Equatable {
        case send, token, page, wrongMethod
    }

    /// The route, and the project of `/v1/projects/{project}/messages:send`.
    static func route(method: Bytes, path: Bytes) -> (route: Route, project: Bytes) {
        let prefix: StaticString = "/v1/projects/"
        if path.equals("/token") { return (method.equals("POST") ? .token : .wrongMethod, .empty) }
        guard path.hasPrefix(prefix), path.hasSuffix("/messages:send") else { return (.page, .empty) }
        let start = prefix.utf8CodeUnitCount
        guard let slash = path.firstIndex(of: UInt8(ascii: "/"), from: start), slash > start,
            slash == path.count - 14
        else { return (.page, .empty) }
        return (method.equals("POST") ? .send : .wrongMethod, path.slice(start, slash))
    }

    /// The message's rules; `.none` when it passes.
    static func check(_ message: borrowing FCMMessage, body: Bytes) -> Answer {
        guard message.isObject, body.count <= bodyMax else { return .fcm(.badBody) }
        if message.violation != .none { return .fcm(.badField, field: message.violation) }
        if message.targetCount != 1 { return .fcm(.badField, field: .target) }
        let address = body.slice(
            Int(message.address.start), Int(message.address.start) + Int(message.address.count))
        switch message.target {
        case .token, .fid:
            if !isToken(address) || message.address.escaped { return .fcm(.badToken, field: .token) }
        case .topic:
            if !isTopic(address) { return .fcm(.badField, field: .topic) }
        case .condition:
            if address.isEmpty || address.count > 1024 { return .fcm(.badField, field: .condition) }
        case .none: return .fcm(.badField, field: .target)
        }
        let limit = message.target == .token || message.target == .fid ? payloadMax : topicPayloadMax
        if message.payloadBytes > limit { return .fcm(.invalidArgument, field: .size) }
        let isData = message.hasData && !message.hasNotification && !message.hasAPNsAlert
        if isData, message.hasAPNs, message.apnsPriority != 0, message.apnsPriority != 5 {
            return .fcm(.badField, field: .apnsPriority)
        }
        return .accepted
    }

    /// Whether the text could be a registration token: 1 to 4096 bytes without blanks and control characters.
    static func isToken(_ text: Bytes) -> Bool {
        guard !text.isEmpty, text.count <= tokenMax else { return false }
        for index in 0..<text.count where text[index] <= 0x20 || text[index] >= 0x7F { return false }
        return true
    }

    /// Whether the text is a topic name (letters, digits and `-_.~%`), without the old `/topics/` prefix.
    static func isTopic(_ text: Bytes) -> Bool {
        guard !text.isEmpty, text.count <= 900 else { return false }
        for index in 0..<text.count {
            switch text[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."),
                UInt8(ascii: "~"), UInt8(ascii: "%"):
                continue
            default: return false
            }
        }
        return true
    }
}
