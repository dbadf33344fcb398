internal import Core
internal import Terminal

/// What `peal trace` has to say.
struct TraceReport {
    var id: String
    var job: TraceJob?
    var story: TraceStory
    var facts = TraceFacts()
    /// Records that were looked at.
    var seen = 0
    /// What was not looked at, as sentences.
    var notes: [String] = []

    init(id: String, job: TraceJob?, story: TraceStory) {
        self.id = id
        self.job = job
        self.story = story
    }

    /// 0 when it was found, 1 when not.
    var exitCode: Int32 { story.runs.isEmpty ? 1 : 0 }

    // MARK: For people

    func text(nowMs: Int64, style: TextStyle) -> String {
        var out = ""
        if let job {
            let whom = job.recipient ?? (job.isBroadcast ? "a broadcast" : "a token")
            out += "\(style(.bold, id)) of \(job.app) for \(whom)\n"
        }
        for run in story.runs { out += text(run, nowMs: nowMs, style) }
        for fact in facts.facts { out += style(.dim, "also   ") + fact.sentence + "\n" }
        if story.runs.isEmpty { out += "Nothing of a job \(id) was found.\n" }
        out += style(.dim, "Read \(Human.grouped(seen)) records.") + "\n"
        for note in notes { out += style(.yellow, note) + "\n" }
        return out
    }

    private func text(_ run: TraceStory.Run, nowMs: Int64, _ style: TextStyle) -> String {
        var table = TextTable([
            .init("time"), .init("after", .right), .init("what"), .init("device"), .init("where"),
            .init("about"),
        ])
        let start = run.events.first?.atMs ?? 0
        for event in run.events {
            table.add([
                Timestamp.rfc3339(ms: event.atMs), Human.duration(ms: Double(event.atMs - start)),
                Self.what(event, isFirst: event == run.events.first, style),
                event.devices.joined(separator: " "), event.place, Self.about(event),
            ])
        }
        var out = ""
        if let letter = ReplayRecord.letter(ofOrigin: run.origin) {
            out += style(.dim, "Replayed from dead letter \(letter):") + "\n"
        } else if story.runs.count > 1 {
            out += style(.dim, "Published at \(run.origin):") + "\n"
        }
        return out + table.render(style: style, indent: 2) + Self.state(run, nowMs: nowMs, style) + "\n"
    }

    private static func what(_ event: TraceEvent, isFirst: Bool, _ style: TextStyle) -> String {
        switch event.kind {
        case .lane: isFirst ? "published" : "back in its lane"
        case .retry: style(.yellow, isFirst ? "published for later" : "waits")
        case .broadcast: "handed to the broadcasts"
        case .dead: style(.red, "dead letter")
        case .outcome(let name): style(name == "accepted" ? .green : .red, name)
        }
    }

    private static func about(_ event: TraceEvent) -> String {
        var parts: [String] = []
        if !event.provider.isEmpty { parts.append(event.provider) }
        if !event.reason.isEmpty, event.reason != "accepted" { parts.append(event.reason) }
        if !event.apnsID.isEmpty { parts.append("apns-id \(event.apnsID)") }
        if event.requests > 0 { parts.append("\(event.requests) requests") }
        if event.dueMs > 0 { parts.append("until \(Timestamp.rfc3339(ms: event.dueMs))") }
        if event.attempt > 0, case .retry = event.kind { parts.append("hop \(event.attempt)") }
        if !event.detail.isEmpty { parts.append(event.detail) }
        return parts.joined(separator: ", ")
    }

    private static func state(_ run: TraceStory.Run, nowMs: Int64, _ style: TextStyle) -> String {
        switch run.state {
        case .ended: return "Ended: every delivery that the log knows of has an outcome."
        case .withBroadcasts: return "Handed to the broadcast stage."
        case .inLane:
            let place = run.hop?.place ?? run.origin
            return style(.yellow, "Open:") + " it lies at \(place), and no worker has said anything about it."
        case .inRetry(let tier, let due):
            let wait = due - nowMs
            let when =
                wait > 0
                ? "due in \(Human.duration(ms: Double(wait)))"
                : "due since \(Human.duration(ms: Double(-wait))): is peal-retry running?"
            return style(.yellow, "Open:") + " it waits in the retry topic \(tier), \(when)."
        case .owes(let devices):
            return style(.yellow, "Open:") + " no outcome yet for \(devices.joined(separator: ", "))."
        }
    }

    // MARK: For programs

    var json: String {
        var members: [JSONValue.Member] = [.init(name: "id", value: .string(id))]
        if let job {
            members.append(.init(name: "app", value: .string(job.app)))
            if let recipient = job.recipient {
                members.append(.init(name: "recipient", value: .string(recipient)))
            }
        }
        members.append(.init(name: "ended", value: .bool(story.isEnded)))
        members.append(.init(name: "publications", value: .array(story.runs.map(Self.object))))
        members.append(
            .init(
                name: "facts",
                value: .array(
                    facts.facts.map {
                        .object([
                            .init(name: "code", value: .string($0.code)),
                            .init(name: "sentence", value: .string($0.sentence)),
                        ])
                    })))
        members.append(.init(name: "records_read", value: .number("\(seen)")))
        members.append(.init(name: "notes", value: .array(notes.map { .string($0) })))
        return JSONValue.object(members).text + "\n"
    }

    private static func object(_ run: TraceStory.Run) -> JSONValue {
        var members: [JSONValue.Member] = [.init(name: "origin", value: .string(run.origin))]
        switch run.state {
        case .ended: members.append(.init(name: "state", value: .string("ended")))
        case .inLane: members.append(.init(name: "state", value: .string("in_lane")))
        case .withBroadcasts: members.append(.init(name: "state", value: .string("broadcast")))
        case .inRetry(let tier, let due):
            members.append(.init(name: "state", value: .string("in_retry")))
            members.append(.init(name: "tier", value: .string(tier)))
            members.append(.init(name: "due_ms", value: .number("\(due)")))
        case .owes(let devices):
            members.append(.init(name: "state", value: .string("owes")))
            members.append(.init(name: "devices", value: .array(devices.map { .string($0) })))
        }
        members.append(.init(name: "events", value: .array(run.events.map(object))))
        return .object(members)
    }

    private static func object(_ event: TraceEvent) -> JSONValue {
        let what =
            switch event.kind {
            case .lane: "lane"
            case .retry: "retry"
            case .broadcast: "broadcast"
            case .dead: "dead"
            case .outcome(let name): name
            }
        var members: [JSONValue.Member] = [
            .init(name: "at_ms", value: .number("\(event.atMs)")),
            .init(name: "what", value: .string(what)),
            .init(name: "record", value: .string(event.place)),
            .init(name: "attempt", value: .number("\(event.attempt)")),
        ]
        for (name, text) in [
            ("reason", event.reason), ("provider", event.provider), ("apns_id", event.apnsID),
            ("detail", event.detail),
        ] where !text.isEmpty {
            members.append(.init(name: name, value: .string(text)))
        }
        if event.dueMs > 0 { members.append(.init(name: "due_ms", value: .number("\(event.dueMs)"))) }
        if !event.devices.isEmpty {
            members.append(.init(name: "devices", value: .array(event.devices.map { .string($0) })))
        }
        return .object(members)
    }
}
