internal import Configuration
internal import Core
internal import Decisions
internal import HTTPServer
internal import Registry

/// What a recipient wants and doesn't want.
package enum NativePreferenceRoutes {
    private static let names = [
        "push", "muted_until_ms", "muted_kinds", "muted_topics", "muted_threads", "quiet_hours", "locale",
    ]

    /// The routes.
    package static func routes(_ apps: GatewayApps) -> [GatewayRoute] {
        let path = "/v1/apps/{app}/recipients/{recipient}/preferences"
        return [
            GatewayRoute(
                "GET", path, "getPreferences", .keyOrUser(.register),
                .registry { call, session in
                    let app = try apps.app(call.app)
                    let directory = apps.directory(app.name, session)
                    return .answer(
                        answer(try directory.preferences(of: try NativeDeviceRoutes.recipient(call))))
                }),
            GatewayRoute(
                "PUT", path, "putPreferences", .keyOrUser(.register),
                .registry { call, session in
                    let app = try apps.app(call.app)
                    let recipient = try NativeDeviceRoutes.recipient(call)
                    let preferences = try read(try JSONBody(call.request, known: names), apps.zones)
                    try apps.directory(app.name, session)
                        .setPreferences(preferences, of: recipient)
                    return .answer(answer(preferences))
                }),
        ]
    }

    /// Reads preferences; what is left out is as if the recipient had never said anything.
    static func read(_ body: JSONBody, _ zones: ZoneNames) throws(Problem) -> Preferences {
        var preferences = Preferences()
        let push = try body.flag("push") ?? true
        preferences.mutedUntilMs = try body.integer("muted_until_ms", in: 0...(1 << 52))
        if !push {
            if preferences.mutedUntilMs != nil {
                throw body.wrong(
                    "muted_until_ms", "The field contradicts push: false; leave one of them out.")
            }
            preferences.mutedUntilMs = .max
        }
        if preferences.mutedUntilMs == 0 { preferences.mutedUntilMs = nil }
        let most = Preferences.mutesMax
        preferences.mutedKinds = try body.texts("muted_kinds", count: most, bytes: 128) ?? []
        preferences.mutedTopics = try body.texts("muted_topics", count: most, bytes: 256) ?? []
        preferences.mutedThreads = try body.texts("muted_threads", count: most, bytes: 256) ?? []
        if let quiet = try body.object("quiet_hours", known: ["from", "to", "time_zone"]) {
            let from = try time(quiet, "from")
            let to = try time(quiet, "to")
            guard from != to else { throw quiet.wrong("to", "The times from and to must differ.") }
            preferences.quietHours = "\(from)-\(to)"
            preferences.timeZone = try zones.zone(quiet, "time_zone") ?? ""
        }
        preferences.locale = try body.text("locale", bytes: 35) ?? ""
        // Everything else has been looked at.
        if let fault = preferences.fault { throw body.wrong("locale", "\(sentence(fault)).") }
        return preferences
    }

    /// A time of the day as quiet hours have it.
    private static func time(_ quiet: JSONBody, _ name: String) throws(Problem) -> String {
        let text = try quiet.requiredText(name, bytes: 64)
        // Quiet hours are two different times, so it is read beside another one.
        let other = text == "00:00" ? "00:01" : "00:00"
        guard QuietHours("\(text)-\(other)".utf8) != nil else {
            throw quiet.wrong(name, "The time must be HH:MM in 24 hours, from 00:00 to 23:59.")
        }
        return text
    }

    private static func sentence(_ fault: String) -> String {
        fault.prefix(1).uppercased() + fault.dropFirst()
    }

    private static func answer(_ preferences: Preferences) -> HTTPResponse {
        var answer = AnswerObject()
        answer.set("push", preferences.mutedUntilMs != .max)
        if let until = preferences.mutedUntilMs, until != .max { answer.set("muted_until_ms", until) }
        for (name, list) in [
            ("muted_kinds", preferences.mutedKinds), ("muted_topics", preferences.mutedTopics),
            ("muted_threads", preferences.mutedThreads),
        ] {
            answer.set(name, .array(list.map { JSONValue.string($0) }))
        }
        let quiet = preferences.quietHours.split(separator: "-")
        if quiet.count == 2 {
            var hours = AnswerObject()
            hours.set("from", String(quiet[0]))
            hours.set("to", String(quiet[1]))
            if !preferences.timeZone.isEmpty { hours.set("time_zone", preferences.timeZone) }
            answer.set("quiet_hours", hours.value)
        }
        if !preferences.locale.isEmpty { answer.set("locale", preferences.locale) }
        return .json(200, answer.text)
    }
}
