internal import Configuration
internal import Core
internal import Decisions
internal import EventLoop
internal import Redis
internal import Registry
internal import Terminal

/// What one `peal control` command line asks for.
struct ControlOrder: Equatable {
    enum Verb: Equatable {
        case list
        case resume
        case set(ControlEntry.Action)
        /// Log so much for a while.
        case log(LogSubsystem?, LogLevel)
        /// Take that back for a subsystem, or with nil for all of them.
        case logAsConfigured(LogSubsystem?)

        /// Whether only what is about log levels changes.
        var isAboutLogs: Bool {
            switch self {
            case .log, .logAsConfigured: true
            case .list, .resume, .set: false
            }
        }
    }

    var verb: Verb
    /// What it is about; nil for a list.
    var subject: ControlEntry.Subject?
    var by = ""
    var reason = ""
    /// How long it is in force, in ms; nil until it is taken back.
    var durationMs: Int64?

    /// How long the pods get to confirm, in ms.
    static let confirmationMs: UInt64 = 2000

    /// Reads a command line.
    /// - Throws: with what is missing or contradictory.
    init(_ arguments: Arguments) throws(UsageFailure) {
        switch arguments.operands {
        case ["list"], []: verb = .list
        case ["pause"]: verb = .set(.pause)
        case ["cancel"]: verb = .set(.cancel)
        case ["resume"]: verb = .resume
        default:
            guard arguments.operands.first == "log" else {
                throw UsageFailure("control takes one of list, pause, resume, cancel and log")
            }
            verb = try Self.logVerb(arguments.operands.dropFirst())
        }
        let names = ["app", "provider", "campaign", "job"].filter { arguments.string($0) != nil }
        by = arguments.string("by") ?? ""
        if verb == .list || verb.isAboutLogs {
            guard names.isEmpty else {
                let what = verb == .list ? "list shows everything" : "log is for all apps"
                throw UsageFailure("control \(what); leave --\(names[0]) out")
            }
            if verb != .list { durationMs = try Self.logDuration(arguments) }
            return
        }
        subject = try Self.subject(arguments)
        if verb == .set(.cancel), subject?.canBeCancelled == false {
            throw UsageFailure("only a campaign or a job can be cancelled; pause the app or the provider")
        }
        reason = arguments.string("reason") ?? ""
        durationMs = try arguments.durationMs("for").map { Int64($0) }
        if case .job = subject, verb == .set(.cancel), durationMs == nil {
            durationMs = ControlStore.jobMemoryMs
        }
    }

    /// How long an order about logs holds unless --for says otherwise, in ms.
    static let logDurationMs: Int64 = 900_000

    private static func logVerb(_ words: ArraySlice<String>) throws(UsageFailure) -> Verb {
        guard words.count == 1, let word = words.first else {
            throw UsageFailure(
                "control log takes LEVEL, SUBSYSTEM=LEVEL or reset, such as: control log delivery=debug")
        }
        if word == "reset" { return .logAsConfigured(nil) }
        if word.hasSuffix("=reset"), let known = LogSubsystem(rawValue: String(word.dropLast(6))) {
            return .logAsConfigured(known)
        }
        do throws(LogLevelFault) {
            let (subsystem, level) = try LogLevels.read(word)
            return .log(subsystem, level)
        } catch {
            throw UsageFailure("control log: \(error.sentence)")
        }
    }

    private static func logDuration(_ arguments: Arguments) throws(UsageFailure) -> Int64 {
        guard let given = try arguments.durationMs("for") else { return logDurationMs }
        guard (1000...LogOrder.longestMs).contains(Int64(given)) else {
            throw UsageFailure("--for takes from 1s to 1d for log levels, so that they end by themselves")
        }
        return Int64(given)
    }

    private static func subject(_ arguments: Arguments) throws(UsageFailure) -> ControlEntry.Subject {
        let app = arguments.string("app")
        if let app, app.isEmpty || app.contains(":") { throw UsageFailure("--app takes an app's name") }
        switch (arguments.string("provider"), arguments.string("campaign"), arguments.string("job")) {
        case (nil, nil, nil):
            guard let app else { throw UsageFailure("say what: --app, --provider, --campaign or --job") }
            return .app(app)
        case (let name?, nil, nil):
            guard let provider = Provider(name: name), provider != .log else {
                throw UsageFailure("--provider takes apns, fcm or web_push, not \"\(name)\"")
            }
            return .provider(provider, app: app)
        case (nil, let name?, nil):
            guard let app, !name.isEmpty else { throw UsageFailure("--campaign NAME needs --app too") }
            return .campaign(app: app, name: name)
        case (nil, nil, let id?):
            guard let app, !id.isEmpty else { throw UsageFailure("--job ID needs --app too") }
            return .job(app: app, id: id)
        default: throw UsageFailure("give one of --provider, --campaign and --job")
        }
    }

    /// Refuses to pause or cancel for an app that isn't one of the configured ones. What is in force for one
    /// that was taken out of the configuration can still be taken back.
    /// - Returns: why the name could not be looked up; nil when it was, or need not be.
    /// - Throws: what the name may have been meant to be.
    func checkApp(among known: [String]) throws(UsageFailure) -> String? {
        guard case .set = verb, let app = subject?.appName else { return nil }
        guard !known.isEmpty else {
            return "Whether there is an app \"\(app)\" was not checked: no configuration with apps was given "
                + "(--config)."
        }
        guard !known.contains(app) else { return nil }
        let hint = Suggestion.nearest(to: app, among: known).map { "; did you mean \($0)?" } ?? ";"
        let names = known.sorted()
        let more = names.count > Self.namesMax ? " and \(names.count - Self.namesMax) more" : ""
        throw UsageFailure(
            "the configuration has no app \"\(app)\"\(hint) It has "
                + names.prefix(Self.namesMax).joined(separator: ", ") + more)
    }

    /// How many apps a refusal lists.
    private static let namesMax = 20

    /// Does what was asked, and waits for the pods to confirm a change.
    func carryOut(_ store: ControlStore) throws(RedisFailure) -> ControlReport {
        var report = ControlReport(verb: verb)
        let now = try store.nowMs()
        switch verb {
        case .list: break
        case .resume:
            if let subject { report.change = try store.remove(subject) }
        case .log(let subsystem, let level):
            let order = LogOrder(
                subsystem, level, untilMs: now + (durationMs ?? Self.logDurationMs), atMs: now, by: by)
            report.change = try store.set(order)
        case .logAsConfigured(let subsystem):
            report.change = try store.removeLogOrders(of: subsystem)
        case .set(let action):
            if let subject {
                report.change = try store.set(
                    ControlEntry(
                        subject, action, by: by, atMs: now, reason: reason,
                        untilMs: durationMs.map { now + $0 }))
            }
        }
        if let version = report.change { try Self.waitForPods(store, version) }
        report.state = try store.read()
        report.pods = try store.pods()
        report.nowMs = try store.nowMs()
        return report
    }

    private static func waitForPods(_ store: ControlStore, _ version: Int64) throws(RedisFailure) {
        guard let loop = try? EventLoop() else { return }
        let end = Clock.monotonicMs + confirmationMs
        while Clock.monotonicMs < end {
            if try store.pods().allSatisfy({ $0.version >= version }) { return }
            loop.runOnce(maxWaitMs: 50)
        }
    }
}
