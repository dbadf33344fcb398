/// A token whose text asks for an answer.
///
/// An APNs token asks when it begins with `fa11fa11`, then four hexadecimal digits (status and variant), two
/// for how often (00: always) and four for a parameter: `fa11fa11 4100 00 0e10 …`. An FCM token asks with a
/// tail `~NAME*times@parameter`, of which the last two may be left out. The parameter is milliseconds of
/// delay for DELAY, seconds of Retry-After for 429 and 5xx, the timestamp's age in seconds for 410. The
/// tables are in `docs/simulator.md`.
struct TokenDirective: Equatable {
    var answer: Answer
    /// How many requests get the answer before the token behaves; zero is always.
    var times: UInt32 = 0

    /// The eight digits that begin a speaking APNs token; a random token has them once in four thousand
    /// million.
    static let apnsMark: StaticString = "fa11fa11"

    /// What the APNs token asks for, or nil.
    static func apns(_ token: Bytes) -> TokenDirective? {
        guard token.hasPrefix(apnsMark), let code = hex(token, 8, 4), let times = hex(token, 12, 2),
            let parameter = hex(token, 14, 4), var answer = apnsAnswer(code)
        else { return nil }
        apply(parameter, to: &answer, isDelay: code == 0x0008)
        return TokenDirective(answer: answer, times: times)
    }

    /// What the FCM token asks for, or nil.
    static func fcm(_ token: Bytes) -> TokenDirective? {
        var at = token.count - 1
        let floor = max(0, token.count - 64)
        while at >= floor, token[at] != UInt8(ascii: "~") { at -= 1 }
        guard at >= floor else { return nil }
        return fcmTail(token.slice(at + 1, token.count))
    }

    private static func fcmTail(_ tail: Bytes) -> TokenDirective? {
        var end = tail.count
        var parameter: Int64?
        var times: Int64 = 0
        if let mark = tail.firstIndex(of: UInt8(ascii: "@")) {
            parameter = tail.slice(mark + 1, end).decimal
            end = mark
        }
        if let mark = tail.firstIndex(of: UInt8(ascii: "*")), mark < end {
            times = tail.slice(mark + 1, end).decimal ?? 0
            end = mark
        }
        let name = tail.slice(0, end).text
        guard var answer = fcmAnswer(name) else { return nil }
        if let parameter {
            apply(UInt32(clamping: parameter), to: &answer, isDelay: name == "DELAY")
        }
        return TokenDirective(answer: answer, times: UInt32(clamping: times))
    }

    private static func apply(_ parameter: UInt32, to answer: inout Answer, isDelay: Bool) {
        if isDelay {
            answer.delayMs = parameter
        } else if answer.status == 410 {
            answer.ageSeconds = parameter
        } else if answer.status == 429 || answer.status >= 500 {
            answer.retryAfter = parameter
        }
    }

    private static func hex(_ token: Bytes, _ from: Int, _ count: Int) -> UInt32? {
        guard from + count <= token.count else { return nil }
        var value: UInt32 = 0
        for index in from..<from + count {
            let digit = token[index] | 0x20
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                value = value << 4 | UInt32(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return value
    }
}

// MARK: - The tables

extension TokenDirective {
    /// HTTP/2's error codes used here (RFC 9113 section 7).
    private static let internalError: UInt32 = 2
    private static let refusedStream: UInt32 = 7

    /// The codes of speaking APNs tokens: three digits of status, one of variant; below 0x1000 what happens
    /// on the wire.
    static let apnsCodes: [(code: UInt32, reason: APNsReason)] = [
        (0x2000, .none),
        (0x4000, .badDeviceToken), (0x4001, .deviceTokenNotForTopic), (0x4002, .badCollapseID),
        (0x4003, .badExpirationDate), (0x4004, .badMessageID), (0x4005, .badPriority), (0x4006, .badTopic),
        (0x4007, .duplicateHeaders), (0x4008, .idleTimeout), (0x4009, .invalidPushType),
        (0x400A, .missingDeviceToken), (0x400B, .missingTopic), (0x400C, .payloadEmpty),
        (0x400D, .topicDisallowed), (0x400F, .badRequestPayload),
        (0x4030, .invalidProviderToken), (0x4031, .expiredProviderToken), (0x4032, .missingProviderToken),
        (0x4033, .forbidden), (0x4034, .badCertificate), (0x4035, .badCertificateEnvironment),
        (0x4036, .unrelatedKeyIDInToken), (0x4037, .badEnvironmentKeyIDInToken), (0x4038, .topicMismatch),
        (0x4040, .badPath), (0x4050, .methodNotAllowed),
        (0x4100, .unregistered), (0x4101, .expiredToken), (0x4130, .payloadTooLarge),
        (0x4290, .tooManyRequests), (0x4291, .tooManyProviderTokenUpdates),
        (0x5000, .internalServerError), (0x5030, .serviceUnavailable), (0x5031, .shutdown),
    ]

    static func apnsAnswer(_ code: UInt32) -> Answer? {
        if let row = apnsCodes.first(where: { $0.code == code }) { return .apns(row.reason) }
        switch code {
        case 0x400E: return page(400, .json, reason: 255)
        case 0x4102:
            var answer = Answer.apns(.unregistered)
            answer.withoutTimestamp = true
            return answer
        case 0x5020: return page(502, .html)
        case 0x5032: return page(503, .html)
        case 0x5033: return page(503, .truncated, reason: APNsReason.serviceUnavailable.rawValue)
        case 0x5040: return page(504, .empty)
        case 0x0008: return .accepted
        default: return wire(code)
        }
    }

    private static func page(_ status: UInt16, _ body: Answer.Body, reason: UInt8 = 0) -> Answer {
        var answer = Answer()
        answer.status = status
        answer.body = body
        answer.reason = reason
        return answer
    }

    private static func wire(_ code: UInt32) -> Answer? {
        switch code {
        case 0x0001: return .transport(.swallow)
        case 0x0002: return .transport(.reset, errorCode: internalError)
        case 0x0003: return .transport(.reset, errorCode: refusedStream)
        case 0x0004: return .transport(.kill)
        case 0x0005: return .transport(.closeTLS)
        case 0x0006: return .transport(.goaway)
        case 0x0007:
            var answer = Answer.accepted
            answer.action = .goaway
            answer.lastStream = .this
            return answer
        case 0x0009: return .transport(.reset, errorCode: internalError, delivered: true)
        case 0x000A: return .transport(.kill, delivered: true)
        case 0x000B: return .transport(.swallow, delivered: true)
        default: return nil
        }
    }

    /// The names that FCM tokens use for what happens on the wire, with the code of the APNs scheme.
    static let wireNames: [(name: String, code: UInt32)] = [
        ("SWALLOW", 1), ("RESET", 2), ("REFUSED", 3), ("KILL", 4), ("TLS_CLOSE", 5), ("GOAWAY", 6),
        ("GOAWAY_AFTER", 7), ("DELAY", 8), ("DELIVERED_RESET", 9), ("DELIVERED_KILL", 10),
        ("DELIVERED_SWALLOW", 11),
    ]

    static func fcmAnswer(_ name: String) -> Answer? {
        if let row = wireNames.first(where: { $0.name == name }) { return apnsAnswer(row.code) }
        if name.hasPrefix("APNS_"), let reason = APNsReason.named(String(name.dropFirst(5))) {
            var answer = Answer.fcm(.apnsError)
            answer.apnsReason = reason.rawValue
            return answer
        }
        guard let error = FCMError.named(name) else { return nil }
        return .fcm(error, field: error == .badField ? .data : .none)
    }
}
