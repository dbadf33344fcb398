import Decisions
import Testing

@testable import WorkerKit

@Suite struct SeriesTableTests {
    private func delivery(_ app: Int32, _ reason: Reason = .accepted) -> SeriesKey {
        SeriesKey(.delivery, app: app, provider: 1, lane: 2, outcome: .dead, reason: reason)
    }

    private func counts(_ table: SeriesTable) -> [UInt64: UInt64] {
        var all: [UInt64: UInt64] = [:]
        table.forEach { key, count in
            #expect(all[key.bits] == nil)
            all[key.bits] = count
        }
        return all
    }

    @Test func aKeyTellsItsParts() {
        for app: Int32 in [0, 7, SeriesKey.unknownApp, SeriesKey.otherApp, .max] {
            let key = SeriesKey(
                .tokenSpared, app: app, provider: SeriesKey.noProvider, lane: 2, outcome: .cancelled,
                reason: .internalFault)
            #expect(key.kind == .tokenSpared && key.app == app && key.provider == SeriesKey.noProvider)
            #expect(key.lane == 2 && key.outcome == Int(DeliveryOutcome.cancelled.rawValue))
            #expect(key.reason == Int(Reason.internalFault.rawValue))
            #expect(key.ofOtherApp.app == SeriesKey.otherApp && key.ofOtherApp.reason == key.reason)
            #expect(key.ofOtherApp.kind == .tokenSpared && key.bits != 0)
        }
    }

    @Test func everySeriesKeepsItsOwnCount() {
        var table = SeriesTable(limit: .max)
        var expected: [UInt64: UInt64] = [:]
        for app in Int32(0)..<300 {
            for reason in Reason.allCases {
                let count = UInt64(app) * 1000 + UInt64(reason.rawValue) + 1
                table.add(delivery(app, reason), count)
                table.add(delivery(app, reason))
                expected[delivery(app, reason).bits] = count + 1
            }
        }
        #expect(table.count == expected.count)
        #expect(counts(table) == expected)
        #expect(table.dropped == 0)
    }

    @Test func whatHasNoRoomGoesToTheOtherAppAndIsCounted() {
        var table = SeriesTable(limit: 10)
        for app in Int32(0)..<100 { table.add(delivery(app), 2) }
        #expect(table.count == 11)
        #expect(table.dropped == 180)
        #expect(counts(table)[delivery(SeriesKey.otherApp).bits] == 180)
        // A series that is there goes on.
        table.add(delivery(3), 5)
        #expect(counts(table)[delivery(3).bits] == 7)
        // The other app's series differ by everything else.
        for reason in Reason.allCases { table.add(delivery(50, reason)) }
        #expect(table.count == 10 + Reason.allCases.count)
        #expect(table.sum(.delivery) == 205 + UInt64(Reason.allCases.count))
    }

    @Test func tablesOfSeveralShardsAddUp() {
        var one = SeriesTable(limit: 2)
        var two = SeriesTable(limit: 2)
        for app in Int32(0)..<4 {
            one.add(delivery(app))
            two.add(delivery(3 - app), 10)
        }
        two.add(SeriesKey(.retry, app: 0), 7)
        var sum = SeriesTable(limit: .max)
        sum.merge(one)
        sum.merge(two)
        #expect(sum.sum(.delivery) == 44 && sum.sum(.retry) == 7)
        // `two` had two series already, so its retry went to the other app.
        #expect(sum.dropped == 2 + 20 + 7)
        #expect(sum.outcomes[Int(DeliveryOutcome.dead.rawValue)] == 44)
        #expect(sum.outcomes.reduce(0, +) == 44)
    }
}
