import Core
import Decisions
import Redis
import Registry
import Terminal
import TestSupport
import Testing

@testable import PealKit

@Suite(.serialized) struct ControlOrderTests {
    private func order(_ words: String...) throws -> ControlOrder {
        let request = try ArgumentParser.parse(words, for: ControlCommand.command, environment: [:])
        guard case .run(let arguments) = request else { throw UsageFailure("no run") }
        return try ControlOrder(arguments)
    }

    @Test func whatIsMeantIsReadFromTheOptions() throws {
        #expect(try order("list").verb == .list)
        #expect(try order("pause", "--app", "shop").subject == .app("shop"))
        #expect(try order("pause", "--provider", "fcm").subject == .provider(.fcm, app: nil))
        #expect(
            try order("pause", "--provider", "apns", "--app", "shop").subject == .provider(.apns, app: "shop")
        )
        #expect(
            try order("cancel", "--app", "shop", "--campaign", "x").subject
                == .campaign(app: "shop", name: "x"))
        let job = try order("cancel", "--app", "shop", "--job", "j", "--for", "2d", "--reason", "typo")
        #expect(job.subject == .job(app: "shop", id: "j"))
        #expect(job.durationMs == 172_800_000)
        #expect(job.reason == "typo")
        #expect(try order("cancel", "--app", "shop", "--job", "j").durationMs == ControlStore.jobMemoryMs)
        #expect(try order("resume", "--app", "shop").verb == .resume)
    }

    @Test(arguments: [
        ["pause"], ["pause", "--provider", "smoke"], ["pause", "--campaign", "x"], ["cancel", "--job", "j"],
        ["cancel", "--app", "shop"], ["cancel", "--provider", "fcm"], ["stop", "--app", "shop"],
        ["pause", "--app", "a:b"], ["list", "--app", "shop"],
        ["cancel", "--app", "shop", "--job", "j", "--campaign", "c"],
        ["pause", "--app", "shop", "--for", "soon"],
    ])
    func whatIsNotMeantSoIsRefused(words: [String]) throws {
        let request = try ArgumentParser.parse(words, for: ControlCommand.command, environment: [:])
        guard case .run(let arguments) = request else { throw UsageFailure("no run") }
        #expect(throws: UsageFailure.self) { try ControlOrder(arguments) }
    }

    @Test(arguments: [
        ["pause", "--app", "shpo"], ["pause", "--app", "shpo", "--provider", "fcm"],
        ["cancel", "--app", "shpo", "--campaign", "x"], ["cancel", "--app", "shpo", "--job", "j"],
    ])
    func anAppThatIsNotConfiguredIsRefusedWithWhatMayBeMeant(words: [String]) throws {
        let request = try ArgumentParser.parse(words, for: ControlCommand.command, environment: [:])
        guard case .run(let arguments) = request else { throw UsageFailure("no run") }
        let order = try ControlOrder(arguments)
        let failure = #expect(throws: UsageFailure.self) { try order.checkApp(among: ["shop", "bank"]) }
        let text = failure.map { "\($0)" } ?? ""
        #expect(
            text.contains("\"shpo\"") && text.contains("did you mean shop?") && text.contains("bank, shop"))
        // Without a configuration nobody knows, and the command says so.
        #expect(try order.checkApp(among: [])?.contains("not checked") == true)
    }

    @Test func logLevelsAreOrderedForAWhile() throws {
        let debug = try order("log", "debug", "--by", "ann")
        #expect(debug.verb == .log(nil, .debug) && debug.durationMs == ControlOrder.logDurationMs)
        #expect(debug.by == "ann")
        let one = try order("log", "delivery=trace", "--for", "10m")
        #expect(one.verb == .log(.delivery, .trace) && one.durationMs == 600_000)
        #expect(try order("log", "reset").verb == .logAsConfigured(nil))
        #expect(try order("log", "kafka=reset").verb == .logAsConfigured(.kafka))
    }

    @Test(arguments: [
        (["log"], "takes LEVEL"), (["log", "debug", "info"], "takes LEVEL"),
        (["log", "loud"], "the levels are trace, debug, info, notice, warning, error, critical"),
        (["log", "kafak=debug"], "no subsystem \"kafak\"; the subsystems are worker, shard, lane, "),
        (["log", "kafak=reset"], "no subsystem \"kafak\""),
        (["log", "debug", "--for", "2d"], "from 1s to 1d"),
        (["log", "debug", "--for", "1ms"], "from 1s to 1d"),
        (["log", "debug", "--app", "shop"], "leave --app out"),
    ])
    func aWrongLogOrderIsRefusedWithWhatThereIs(words: [String], says: String) throws {
        let request = try ArgumentParser.parse(words, for: ControlCommand.command, environment: [:])
        guard case .run(let arguments) = request else { throw UsageFailure("no run") }
        let failure = #expect(throws: UsageFailure.self) { try ControlOrder(arguments) }
        #expect(failure?.message.contains(says) == true, "\(failure?.message ?? "")")
    }

    @Test func ordersAboutLogsAreInTheListUntilTheyAreTakenBack() throws {
        let server = try RedisServer()
        var options = RedisClientOptions.patient(server.endpoint)
        options.scripts = ControlStore.scripts
        let store = ControlStore(session: try RedisSession(options: options))
        _ = try order("log", "delivery=debug", "--for", "10m", "--by", "ann").carryOut(store)
        let listed = try order("list").carryOut(store)
        let text = listed.text(style: TextStyle(isEnabled: false))
        #expect(text.contains("delivery=debug") && text.contains("ann") && text.contains("9 min"))
        #expect(listed.json.contains(#""log":[{"field":"log:delivery","order":{"level":"debug","by":"ann""#))
        let reset = try order("log", "reset").carryOut(store)
        #expect(
            reset.change != nil
                && reset.text(style: TextStyle(isEnabled: false)).contains("as they are configured"))
        let again = try order("log", "reset").carryOut(store)
        #expect(again.change == nil && again.exitCode == 1)
        #expect(again.text(style: TextStyle(isEnabled: false)).contains("No log level was ordered."))
    }

    @Test func whatIsKnownOrTakenBackPasses() throws {
        #expect(try order("pause", "--app", "shop").checkApp(among: ["shop"]) == nil)
        #expect(try order("pause", "--provider", "fcm").checkApp(among: ["shop"]) == nil)
        #expect(try order("pause", "--provider", "fcm").checkApp(among: []) == nil)
        #expect(try order("resume", "--app", "gone").checkApp(among: ["shop"]) == nil)
        #expect(try order("list").checkApp(among: ["shop"]) == nil)
        let many = (0..<30).map { "app-\($0)" }
        let failure = #expect(throws: UsageFailure.self) {
            try order("pause", "--app", "other").checkApp(among: many)
        }
        #expect(failure.map { "\($0)".hasSuffix("and 10 more") } == true)
    }

    @Test func whatWasNotCheckedIsSaid() {
        var report = ControlReport(verb: .set(.pause))
        #expect(!report.json.contains("note"))
        report.note = "It was not checked."
        #expect(report.text(style: TextStyle(isEnabled: false)).contains("It was not checked.\n"))
        #expect(report.json.hasSuffix(#","note":"It was not checked."}"# + "\n"))
    }

    @Test func thePodsThatDoNotFollowAreNamedAndTheExitCodeSaysSo() throws {
        let server = try PrivateRedisServer()
        try server.start()
        defer { server.stop() }
        var options = RedisClientOptions(endpoint: server.endpoint)
        options.scripts = ControlStore.scripts
        let session = try RedisSession(options: options)
        defer { session.close() }
        let store = ControlStore(session: session)
        let alone = try order("pause", "--app", "shop", "--by", "anna", "--reason", "typo").carryOut(store)
        #expect(alone.exitCode == 0)
        #expect(alone.text(style: TextStyle(isEnabled: false)).contains("No worker is running"))
        let now = try store.nowMs()
        try session.command(
            "HSET", "peal:pods", "quick", #"{"role":"worker","control":99,"beat_ms":\#(now)}"#, "slow",
            #"{"role":"worker","control":1,"beat_ms":\#(now)}"#)
        let report = try order("cancel", "--app", "shop", "--campaign", "spring").carryOut(store)
        #expect(report.exitCode == 1)
        #expect(report.late.map(\.name) == ["slow"])
        let text = report.text(style: TextStyle(isEnabled: false))
        #expect(
            text.contains("campaign spring of shop") && text.contains("app shop") && text.contains("typo"))
        #expect(text.contains("Not confirmed within 2 s by 1 of 2 workers") && text.contains("slow"))
        #expect(report.json.contains(#""in_force":false"#))
        try session.command(
            "HSET", "peal:pods", "slow", #"{"role":"worker","control":3,"beat_ms":\#(now)}"#)
        let resumed = try order("resume", "--app", "shop").carryOut(store)
        #expect(resumed.exitCode == 0)
        #expect(try order("resume", "--app", "shop").carryOut(store).exitCode == 1)
        #expect(try store.read().entries.map(\.subject) == [.campaign(app: "shop", name: "spring")])
    }
}
