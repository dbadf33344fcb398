package import Core

/// Something that an operator should know: what is wrong, for whom, since when, and what to do about it.
package struct Finding: Equatable, Sendable {
    /// How much it matters.
    package enum Severity: Int, Sendable, Comparable, CaseIterable {
        /// Worth knowing; nothing is wrong.
        case info
        /// Something is slower, later or in part not delivered.
        case warning
        /// Somebody gets no notifications, or soon won't.
        case critical

        package static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }

        /// The name for programs.
        package var name: StaticString {
            switch self {
            case .info: "info"
            case .warning: "warning"
            case .critical: "critical"
            }
        }
    }

    /// What is wrong at the root; the raw value is its code, which alerts bear too. In the order in which
    /// one may be the reason of another.
    package enum Cause: String, Sendable, CaseIterable {
        case redisAway = "redis_away"
        case podsNone = "pods_none"
        case kafkaAway = "kafka_away"
        case clockSkew = "clock_skew"
        case workerGone = "worker_gone"
        case credentialRefused = "credential_refused"
        case providerUnavailable = "provider_unavailable"
        case quotaRefused = "quota_refused"
        case tokenStorm = "token_storm"
        case appStuck = "app_stuck"
        case poisonJobs = "poison_jobs"
        case broadcastStuck = "broadcast_stuck"
        case retryBacklog = "retry_backlog"
        case lagGrowing = "lag_growing"
        case credentialExpiring = "credential_expiring"
        case paused = "paused"
        case bulkBacklog = "bulk_backlog"
    }

    /// Whom it is about.
    package enum Subject: Hashable, Sendable {
        case everything
        case app(String)
        case provider(String)
        /// A way to a provider or a credential, by its name in metrics.
        case route(String)
        case lane(String)
        case pod(String)
        /// Several pods of a role.
        case pods(role: String)
        case tier(String)
        case broadcast(app: String, id: String)

        /// What kind of thing it is, for programs.
        package var kind: StaticString {
            switch self {
            case .everything: "everything"
            case .app: "app"
            case .provider: "provider"
            case .route: "route"
            case .lane: "lane"
            case .pod: "pod"
            case .pods: "role"
            case .tier: "tier"
            case .broadcast: "broadcast"
            }
        }

        /// Its name; empty for everything.
        package var name: String {
            switch self {
            case .everything: ""
            case .app(let name), .provider(let name), .route(let name), .lane(let name), .pod(let name),
                .pods(let name), .tier(let name):
                name
            case .broadcast(let app, let id): "\(app)/\(id)"
            }
        }
    }

    package var severity: Severity
    package var cause: Cause
    package var subject: Subject
    /// One sentence for people. It may quote what pods wrote, so a terminal or a page has to escape it.
    package var sentence: String
    /// Since when, in ms since 1970 by Redis' clock; nil when that can't be told.
    package var sinceMs: Int64?
    /// A command to copy into a shell that goes on from here; empty when there is none.
    package var lever: String

    package init(
        _ severity: Severity, _ cause: Cause, _ subject: Subject, _ sentence: String, sinceMs: Int64? = nil,
        lever: String = ""
    ) {
        self.severity = severity
        self.cause = cause
        self.subject = subject
        self.sentence = sentence
        self.sinceMs = sinceMs
        self.lever = lever
    }

    /// That nothing can be read at all, with what the client says.
    package static func unreadable(_ message: String) -> Finding {
        Finding(
            .critical, .redisAway, .everything, "Redis can't be read: \(message).", lever: "peal check")
    }

    /// The finding for programs.
    package var json: JSONValue {
        .object([
            .init(name: "severity", value: .string("\(severity.name)")),
            .init(name: "cause", value: .string(cause.rawValue)),
            .init(name: "about", value: .string("\(subject.kind)")),
            .init(name: "name", value: .string(subject.name)),
            .init(name: "sentence", value: .string(sentence)),
            .init(name: "since_ms", value: sinceMs.map { .number("\($0)") } ?? .null),
            .init(name: "lever", value: .string(lever)),
        ])
    }
}

/// Numbers, spans of time and commands in findings.
enum Words {
    /// `950`, `12,345`.
    static func number(_ value: Int64) -> String {
        let digits = Array(String(value.magnitude))
        var text = value < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// `1 job`, `12 jobs`.
    static func count(_ value: Int64, _ one: String) -> String {
        "\(number(value)) \(one)\(value == 1 ? "" : "s")"
    }

    /// `14 s`, `3 min`, `2 h`, `4 d`; rounded down.
    static func span(ms: Int64) -> String {
        let seconds = max(0, ms) / 1000
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// The share in whole per cent, `under 1 %` and `over 99 %` at the ends.
    static func share(_ part: Int64, of whole: Int64) -> String {
        guard whole > 0, part > 0 else { return "0 %" }
        let percent = Int((Double(part) / Double(whole) * 100).rounded())
        if part < whole, percent >= 100 { return "over 99 %" }
        return percent < 1 ? "under 1 %" : "\(min(100, percent)) %"
    }

    /// Whether `part` is at least a `share` of `whole`; false of nothing.
    static func reaches(_ part: Int64, share: Double, of whole: Int64) -> Bool {
        part > 0 && Double(part) >= share * Double(whole)
    }

    /// A few names, and how many more there are: `a, b, c and 4 more`.
    static func list(_ names: [String], most: Int = 3) -> String {
        let shown = names.prefix(most).joined(separator: ", ")
        return names.count > most ? "\(shown) and \(names.count - most) more" : shown
    }

    /// The text as one word of a shell's command line; nil for what no command line should hold.
    static func shell(_ text: String) -> String? {
        let isPlain =
            !text.isEmpty && text.first != "-"
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "-"), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"):
                    true
                default: false
                }
            }
        if isPlain { return text }
        let isPrintable = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
            default: true
            }
        }
        guard isPrintable, text.first != "-" else { return nil }
        return "'" + text.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
    }

    /// The sentence's beginning as the end of another one: without a full stop.
    static func clause(_ text: String) -> String {
        var rest = Substring(text)
        while let last = rest.last, last == "." || last == " " { rest = rest.dropLast() }
        return String(rest)
    }
}
