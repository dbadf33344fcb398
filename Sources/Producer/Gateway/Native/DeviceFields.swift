internal import Configuration
package import Core
package import Registry
internal import Security

/// A device as the API takes it and shows it.
package enum DeviceFields {
    /// The members of a registration's body.
    static let names = [
        "platform", "token", "environment", "kind", "locale", "time_zone", "app_version", "alerts_allowed",
    ]

    /// The kinds of APNs tokens by their names.
    static let kinds: [(name: String, kind: DeviceTokenKind)] = [
        ("alert", .alert), ("voip", .voip), ("live_activity", .liveActivity), ("push_to_talk", .pushToTalk),
        ("file_provider", .fileProvider), ("complication", .complication), ("location", .location),
        ("widgets", .widgets),
    ]

    /// The name of a kind of token.
    package static func name(of kind: DeviceTokenKind) -> String {
        kinds.first { $0.kind == kind }?.name ?? "alert"
    }

    /// Reads a registration.
    static func record(
        _ body: JSONBody, app: Settings.App, zones: ZoneNames, nowMs: Int64
    ) throws(Problem) -> DeviceRecord {
        let platform = try platform(body, of: DevicePlatform.allCases.map { "\($0.name)" })
        let token = try body.requiredText("token", bytes: DeviceRecord.maximumTokenBytes)
        let environment = try body.word("environment", of: ["production", "sandbox"])
        if environment != nil, platform != .ios {
            throw body.wrong("environment", "Only ios has environments; leave the field out.")
        }
        let kind = try body.word("kind", of: kinds.map(\.name)) ?? "alert"
        if kind != "alert", platform != .ios {
            throw body.wrong("kind", "Only ios has kinds of tokens; leave the field out.")
        }
        let allowed = try body.flag("alerts_allowed") ?? true
        var record = try record(
            body, platform: platform, token: token, environment: environment, app: app, nowMs: nowMs)
        record.kind = kinds.first { $0.name == kind }?.kind ?? .alert
        record.isSilenced = !allowed
        record.locale = try body.text("locale", bytes: 35) ?? ""
        record.timeZone = try zones.zone(body, "time_zone") ?? ""
        record.appVersion = try body.text("app_version", bytes: 64) ?? ""
        return record
    }

    /// The body's `platform`, which must be one of the words.
    static func platform(_ body: JSONBody, of words: [String]) throws(Problem) -> DevicePlatform {
        guard let word = try body.word("platform", of: words), let platform = DevicePlatform(name: word)
        else {
            throw body.wrong("platform", "The field is missing; write \(words.joined(separator: " or ")).")
        }
        return platform
    }

    /// A record for a token. Without an environment an ios token counts as one of the app's usual
    /// environment; a worker finds out when it isn't.
    static func record(
        _ body: JSONBody, field: String = "token", platform: DevicePlatform, token: String,
        environment: String?, app: Settings.App, nowMs: Int64
    ) throws(Problem) -> DeviceRecord {
        if platform == .ios, !isAppleToken(token) {
            throw body.wrong(
                field,
                "An ios token must be an even number of hexadecimal digits, 4 to 400 of them; "
                    + "an FCM token needs its own platform.")
        }
        let isSandbox = platform == .ios && (environment ?? app.environment.rawValue) == "sandbox"
        return DeviceRecord(platform: platform, token: token, registeredAtMs: nowMs, isSandbox: isSandbox)
    }

    private static func isAppleToken(_ token: String) -> Bool {
        let digits = token.utf8
        return (4...400).contains(digits.count) && digits.count % 2 == 0
            && digits.allSatisfy { Hex.value($0) != nil }
    }

    /// A device id for a client that has none: it follows from a text, such as the token.
    static func derivedID(_ letter: Character, _ text: String) -> String {
        "\(letter)-\(Hex.encode(SHA256.hash(text: text).prefix(12)))"
    }

    /// What is told of a token: its first eight characters, or half of one that is shorter than a token
    /// should be. A character is a code point here, since one with marks may be as long as the token.
    package static func shortened(_ token: String) -> String {
        let scalars = token.unicodeScalars
        return String(String.UnicodeScalarView(scalars.prefix(min(8, scalars.count / 2))))
    }

    /// The device for an answer. Of the token only the beginning is told.
    static func answer(_ id: String, _ record: DeviceRecord) -> AnswerObject {
        var answer = AnswerObject()
        answer.set("device", id)
        answer.set("platform", "\(record.platform.name)")
        answer.set("token", shortened(record.token))
        if record.platform == .ios {
            answer.set("environment", record.isSandbox ? "sandbox" : "production")
            answer.set("kind", name(of: record.kind))
        }
        answer.set("alerts_allowed", !record.isSilenced)
        if !record.locale.isEmpty { answer.set("locale", record.locale) }
        if !record.timeZone.isEmpty { answer.set("time_zone", record.timeZone) }
        if !record.appVersion.isEmpty { answer.set("app_version", record.appVersion) }
        answer.set("registered_at_ms", record.registeredAtMs)
        return answer
    }

    /// The device as the API tells it. Of the token only the beginning is told.
    package static func json(_ id: String, _ record: DeviceRecord) -> JSONValue { answer(id, record).value }
}
