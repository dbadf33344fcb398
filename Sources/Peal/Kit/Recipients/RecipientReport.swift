internal import Core
internal import GatewayKit
internal import Redis
internal import Registry
internal import Terminal

/// What the registry knows about a recipient.
struct RecipientReport {
    var app: String
    var recipient: String
    var devices: [(id: String, record: DeviceRecord)] = []
    var unread: Int64 = 0
    var threads: [String: Int64] = [:]
    var preferences = Preferences()
    /// The topics that the recipient follows.
    var topics: [String] = []
    /// Redis' time, ms since 1970.
    var nowMs: Int64 = 0
    /// Devices registered longer ago than this get nothing.
    var staleAfterMs = DeviceDirectory.staleAfterMs

    init(app: String, recipient: String) {
        self.app = app
        self.recipient = recipient
    }

    /// Asks Redis.
    init(
        app: String, recipient: String, _ session: RedisSession, staleAfterMs: Int64
    ) throws(RedisFailure) {
        self.init(app: app, recipient: recipient)
        self.staleAfterMs = staleAfterMs
        let directory = DeviceDirectory(session: session, app: app, staleAfterMs: staleAfterMs)
        devices = try directory.devices(of: recipient)
        unread = try directory.unread(of: recipient)
        threads = try directory.unreadByThread(of: recipient)
        preferences = try directory.preferences(of: recipient)
        topics = try SubscriberIndex(session: session, app: app).topics(of: recipient)
        nowMs = try ControlStore(session: session).nowMs()
    }

    /// Whether there is anything that a registration, a job or a client left.
    var isKnown: Bool {
        !devices.isEmpty || unread != 0 || !threads.isEmpty || preferences != Preferences()
            || !topics.isEmpty
    }

    private func isStale(_ record: DeviceRecord) -> Bool {
        staleAfterMs > 0 && nowMs - record.registeredAtMs > staleAfterMs
    }

    // MARK: For people

    func text(style: TextStyle) -> String {
        let name = style(.bold, OneLine.text(recipient))
        guard isKnown else { return "Nothing is known about \(name) of \(app).\n" }
        let count = devices.count == 1 ? "1 device" : "\(devices.count) devices"
        var out = "\(name) of \(app): \(count), unread \(Human.grouped(Int(clamping: unread)))\n"
        if !devices.isEmpty { out += "\n" + deviceTable.render(style: style, indent: 2) }
        let lines = preferenceLines + threadLines
        if !lines.isEmpty {
            var table = TextTable([.init(""), .init("")])
            for line in lines { table.add([line.0, line.1]) }
            out += "\n" + table.render(style: style, indent: 2)
        }
        return out
    }

    private var deviceTable: TextTable {
        var table = TextTable([
            .init("device"), .init("platform"), .init("token"), .init("registered", .right), .init("app"),
            .init("locale"), .init("zone"), .init("notes"),
        ])
        for (id, record) in devices {
            var notes: [String] = []
            if record.isSandbox { notes.append("sandbox") }
            if record.kind != .alert { notes.append(DeviceFields.name(of: record.kind)) }
            if record.isSilenced { notes.append("alerts are off on the device") }
            if isStale(record) { notes.append("stale: gets nothing") }
            let age = Human.duration(ms: Double(max(0, nowMs - record.registeredAtMs)))
            table.add([
                OneLine.text(id), "\(record.platform.name)",
                OneLine.text(DeviceFields.shortened(record.token)) + "…", "\(age) ago",
                OneLine.text(record.appVersion), OneLine.text(record.locale), OneLine.text(record.timeZone),
                notes.joined(separator: ", "),
            ])
        }
        return table
    }

    private var preferenceLines: [(String, String)] {
        var lines: [(String, String)] = []
        func list(_ name: String, _ values: [String]) {
            if !values.isEmpty { lines.append((name, values.map(OneLine.text).joined(separator: ", "))) }
        }
        if let until = preferences.mutedUntilMs, until > nowMs {
            lines.append(
                ("muted", until == .max ? "everything" : "everything until \(Timestamp.rfc3339(ms: until))"))
        }
        list("muted kinds", preferences.mutedKinds)
        list("muted topics", preferences.mutedTopics)
        list("muted threads", preferences.mutedThreads)
        if !preferences.quietHours.isEmpty {
            let zone = preferences.timeZone.isEmpty ? "the device's time zone" : preferences.timeZone
            lines.append(("quiet hours", OneLine.text("\(preferences.quietHours), \(zone)")))
        }
        list("locale", preferences.locale.isEmpty ? [] : [preferences.locale])
        list("follows", topics.sorted())
        return lines
    }

    private var threadLines: [(String, String)] {
        let sorted = threads.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return sorted.prefix(20).map { ("unread in", "\(OneLine.text($0.key)): \($0.value)") }
            + (sorted.count > 20 ? [("", "and \(sorted.count - 20) more threads (--json has them all)")] : [])
    }

    // MARK: For programs

    var json: JSONObject {
        var out = JSONObject()
        out.set("app", app)
        out.set("recipient", recipient)
        out.set("unread", unread)
        var counters = JSONObject()
        for thread in threads.sorted(by: { $0.key < $1.key }) { counters.set(thread.key, thread.value) }
        out.set("threads", counters.value)
        out.set(
            "devices",
            .array(
                devices.map { device in
                    guard case .object(let members) = DeviceFields.json(device.id, device.record) else {
                        return .null
                    }
                    return .object(members + [.init(name: "stale", value: .bool(isStale(device.record)))])
                }))
        var wishes = JSONObject()
        if let until = preferences.mutedUntilMs { wishes.set("muted_until_ms", until == .max ? -1 : until) }
        for (name, list) in [
            ("muted_kinds", preferences.mutedKinds), ("muted_topics", preferences.mutedTopics),
            ("muted_threads", preferences.mutedThreads),
        ] {
            wishes.set(name, .array(list.map { .string($0) }))
        }
        wishes.set("quiet_hours", preferences.quietHours)
        wishes.set("time_zone", preferences.timeZone)
        wishes.set("locale", preferences.locale)
        out.set("preferences", wishes.value)
        out.set("topics", .array(topics.sorted().map { .string($0) }))
        return out
    }
}
