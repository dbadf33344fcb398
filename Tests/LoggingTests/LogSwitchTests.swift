import Core
import Decisions
import Foundation
import Testing

@testable import Logging

@Suite struct LogSwitchTests {
    @Test func loggersFollowTheConfigurationAndOrdersOverIt() {
        let lines = LineList()
        let sink = LogSink(format: .json) { lines.append($0) }
        let root = Logger("worker", sink: sink)
        let delivery = root.child("delivery")
        let shard = root.child("shard")
        #expect(!delivery.writes(.debug) && !shard.writes(.debug))
        root.follow([LogOrder(.delivery, .debug, untilMs: 10_000, by: "ann")], nowMs: 5_000)
        #expect(delivery.writes(.debug) && !shard.writes(.debug))
        // A new child of the same process sees it too.
        #expect(root.child("delivery").writes(.debug))
        root.follow(
            [LogOrder(nil, .error, untilMs: 9_000), LogOrder(.delivery, .trace, untilMs: 10_000)],
            nowMs: 6_000)
        #expect(delivery.writes(.trace) && !shard.writes(.warning))
        // The configuration changes below the order, which holds until it ends.
        root.configure(LogLevels(standard: .info, subsystems: [.shard: .debug]))
        #expect(!shard.writes(.warning))
        let orders = [LogOrder(nil, .error, untilMs: 9_000), LogOrder(.delivery, .trace, untilMs: 10_000)]
        root.follow(orders, nowMs: 9_500)
        #expect(delivery.writes(.trace) && shard.writes(.debug) && !root.writes(.debug))
        root.follow(orders, nowMs: 10_000)
        #expect(!delivery.writes(.debug) && shard.writes(.debug))
        sink.close()
        #expect(lines.all.contains { $0.contains("Log levels are ordered: delivery=debug for 5 s by ann.") })
        #expect(lines.all.last?.contains("No log level is ordered any more") == true)
    }

    @Test func nothingIsSaidWhenNothingChanges() {
        let lines = LineList()
        let sink = LogSink(format: .json) { lines.append($0) }
        let root = Logger("worker", sink: sink)
        let orders = [LogOrder(.delivery, .debug, untilMs: 10_000)]
        for nowMs in 0..<100 { root.follow(orders, nowMs: Int64(nowMs)) }
        root.configure(LogLevels())
        sink.close()
        #expect(lines.all.count == 1)
    }

    @Test func theStatusNamesLevelsOrdersAndLosses() throws {
        let root = Logger(
            "worker", sink: LogSink(format: .json) { _ in }, levels: LogLevels(standard: .notice))
        root.follow([LogOrder(.kafka, .debug, untilMs: 7_000, by: "a\"b")], nowMs: 0)
        let status = try #require(
            try JSONSerialization.jsonObject(with: Data(root.statusJSON.utf8)) as? [String: Any])
        #expect(status["levels"] as? String == "notice")
        let orders = try #require(status["orders"] as? [[String: Any]])
        #expect(orders.count == 1)
        #expect(orders[0]["what"] as? String == "kafka=debug" && orders[0]["by"] as? String == "a\"b")
        #expect(orders[0]["until_ms"] as? Int == 7_000)
        #expect(status["suppressed"] as? Int == 0 && status["dropped"] as? Int == 0)
    }

    // MARK: Orders in peal:control

    @Test func anOrderIsReadAsItWasWritten() {
        for order in [
            LogOrder(nil, .debug, untilMs: 90_000, atMs: 1, by: "ann"),
            LogOrder(.delivery, .warning, untilMs: 80_000),
        ] {
            #expect(LogOrder(field: order.field, value: order.value) == order)
        }
        #expect(LogOrder(nil, .debug, untilMs: 1).field == "log")
        #expect(LogOrder(.kafka, .debug, untilMs: 1).field == "log:kafka")
    }

    @Test(arguments: [
        ("log", "debug"), ("log", #"{"level":"debug"}"#), ("log", #"{"level":"loud","until_ms":1}"#),
        ("log:", #"{"level":"debug","until_ms":1}"#), ("log:kafak", #"{"level":"debug","until_ms":1}"#),
        ("logs", #"{"level":"debug","until_ms":1}"#), ("app:log", #"{"level":"debug","until_ms":1}"#),
        ("log", #"{"until_ms":1}"#), ("log", "[]"), ("log", ""),
    ])
    func whatNamesNoLevelOrNoEndIsNoOrder(field: String, value: String) {
        #expect(LogOrder(field: field, value: value) == nil)
    }

    @Test func anOrderIsBelievedForADayAtMost() {
        let order = LogOrder(nil, .debug, untilMs: LogOrder.longestMs + 100)
        #expect(!order.isInForce(nowMs: 99))
        #expect(order.isInForce(nowMs: 100))
        #expect(!order.isInForce(nowMs: LogOrder.longestMs + 100))
        #expect(!LogOrder(nil, .debug, untilMs: .max).isInForce(nowMs: .max - 1 - LogOrder.longestMs))
        #expect(!LogOrder(nil, .debug, untilMs: .max).isInForce(nowMs: -10))
    }

    @Test func theControlHashHoldsOrdersBesideEntries() {
        let order = LogOrder(.shard, .debug, untilMs: 5)
        let state = ControlState(fields: [
            (field: "version", value: "3"), (field: "app:shop", value: "{}"),
            (field: order.field, value: order.value), (field: "log:nobody", value: order.value),
        ])
        #expect(state.version == 3 && state.entries.count == 1)
        #expect(state.logOrders == [order])
        #expect(state.unknownFields == ["log:nobody"])
    }
}
