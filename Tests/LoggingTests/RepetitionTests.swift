import Core
import Foundation
import Testing

@testable import Logging

@Suite struct RepetitionTests {
    private func key(_ event: UInt64, _ detail: UInt64 = 0) -> RepetitionLimiter.Key {
        RepetitionLimiter.Key(event: event, detail: detail)
    }

    private func line(_ message: String) -> LogRecord {
        LogRecord(
            wallMs: 0, level: .error, subsystem: "s", event: "e", message: message, fields: [:], suppressed: 0
        )
    }

    @Test func aBurstIsWrittenThenOneLineATimeWithTheCount() {
        var limiter = RepetitionLimiter(burst: 2)
        #expect(limiter.decide(key(1), nowMs: 0) == .write(suppressed: 0))
        #expect(limiter.decide(key(1), nowMs: 1) == .write(suppressed: 0))
        #expect(limiter.decide(key(1), nowMs: 2) == .suppress)
        #expect(limiter.decide(key(1), nowMs: 999) == .suppress)
        // Another one keeps its say.
        #expect(limiter.decide(key(1, 7), nowMs: 999) == .write(suppressed: 0))
        #expect(limiter.decide(key(1), nowMs: 1_000) == .write(suppressed: 2))
        // It went on, so the next window is ten seconds long, and one minute after that.
        #expect(limiter.decide(key(1), nowMs: 1_001) == .suppress)
        #expect(limiter.decide(key(1), nowMs: 10_999) == .suppress)
        #expect(limiter.decide(key(1), nowMs: 11_000) == .write(suppressed: 2))
        #expect(limiter.decide(key(1), nowMs: 70_999) == .suppress)
        #expect(limiter.decide(key(1), nowMs: 71_000) == .write(suppressed: 1))
        // After a quiet minute it is a new trouble.
        #expect(limiter.decide(key(1), nowMs: 131_000) == .write(suppressed: 0))
        #expect(limiter.decide(key(1), nowMs: 131_001) == .write(suppressed: 0))
        #expect(limiter.suppressedTotal == 5)
    }

    @Test func aClockThatIsSetBackEndsTheWindow() {
        var limiter = RepetitionLimiter(burst: 1)
        _ = limiter.decide(key(1), nowMs: 100_000)
        #expect(limiter.decide(key(1), nowMs: 100_001) == .suppress)
        #expect(limiter.decide(key(1), nowMs: 5) == .write(suppressed: 1))
    }

    @Test func whatIsOwedIsToldOnceAfterTheLastLine() {
        var limiter = RepetitionLimiter(burst: 1)
        _ = limiter.decide(key(1), nowMs: 0)
        limiter.keep(line("first"), for: key(1), nowMs: 0)
        for _ in 0..<5 { #expect(limiter.decide(key(1), nowMs: 10) == .suppress) }
        #expect(limiter.takeOwed(nowMs: 500).isEmpty)
        let owed = limiter.takeOwed(nowMs: 1_000)
        #expect(owed.map(\.suppressed) == [4] && owed.map(\.message) == ["first"])
        #expect(limiter.takeOwed(nowMs: 30_000).isEmpty)
        // The end doesn't wait for the window.
        #expect(limiter.decide(key(1), nowMs: 30_000) == .write(suppressed: 0))
        limiter.keep(line("second"), for: key(1), nowMs: 30_000)
        #expect(limiter.decide(key(1), nowMs: 30_001) == .suppress)
        #expect(limiter.takeOwed(nowMs: 30_002, isLast: true).map(\.suppressed) == [0])
    }

    @Test func memoryIsBoundedAndNoCountIsLost() {
        var limiter = RepetitionLimiter(burst: 1, keysPerEvent: 8, keysMax: 32)
        var written: UInt64 = 0
        var told: UInt64 = 0
        let lines: UInt64 = 100_000
        for number in 0..<lines {
            // Each event and each detail is another one.
            let wanted = key(number % 97, number % 1_009)
            let nowMs = Int64(number) / 50
            if case .write(let suppressed) = limiter.decide(wanted, nowMs: nowMs) {
                written += 1
                told += suppressed
                limiter.keep(line("l"), for: wanted, nowMs: nowMs)
            }
            #expect(limiter.keyCount <= 32)
        }
        let owed = limiter.takeOwed(nowMs: 10_000, isLast: true)
        told += owed.reduce(0) { $0 + $1.suppressed }
        written += UInt64(owed.count)
        #expect(written + told == lines)
        #expect(limiter.suppressedTotal == told + UInt64(owed.count))
        #expect(written < 3_000)
    }

    @Test func aNewTroubleGetsTheRoomOfOldOnes() {
        var limiter = RepetitionLimiter(burst: 1, keysPerEvent: 4, keysMax: 100)
        for detail in 0..<4 { _ = limiter.decide(key(1, UInt64(detail)), nowMs: 0) }
        // The fifth shares a place while the four are fresh, and so does the sixth.
        #expect(limiter.decide(key(1, 100), nowMs: 1) == .write(suppressed: 0))
        #expect(limiter.decide(key(1, 101), nowMs: 2) == .suppress)
        #expect(limiter.decide(key(1, 102), nowMs: 5_000) == .write(suppressed: 0))
        #expect(limiter.decide(key(1, 103), nowMs: 5_001) == .write(suppressed: 0))
    }

    /// A million equal failures of three apps, in a minute's time as the limiter sees it.
    @Test func aMillionFailuresAMinuteAreAFewLines() {
        var limiter = RepetitionLimiter()
        var lines: [UInt64: Int] = [:]
        var told: UInt64 = 0
        for number in 0..<1_000_000 {
            let app = UInt64(number % 3)
            let nowMs = Int64(number) * 60_000 / 1_000_000
            if case .write(let suppressed) = limiter.decide(key(1, app), nowMs: nowMs) {
                lines[app, default: 0] += 1
                told += suppressed
                limiter.keep(line("app \(app)"), for: key(1, app), nowMs: nowMs)
            }
        }
        let owed = limiter.takeOwed(nowMs: 200_000)
        #expect(Set(owed.map(\.message)) == ["app 0", "app 1", "app 2"])
        told += owed.reduce(0) { $0 + $1.suppressed }
        #expect(lines.values.allSatisfy { $0 == 12 })
        #expect(told + 36 + 3 == 1_000_000)
    }

    // MARK: Through a sink

    @Test func aFloodThroughASinkIsTenLinesAndOneWithTheCount() throws {
        let lines = LineList()
        let sink = LogSink(format: .json) { lines.append($0) }
        let log = Logger("shard", sink: sink)
        for number in 0..<20_000 {
            log.warning("redis.refused", "Try \(number) failed.", ["app": number % 2 == 0 ? "shop" : "bank"])
        }
        sink.close()
        let objects = try lines.all.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        for app in ["shop", "bank"] {
            let own = objects.filter { $0["app"] as? String == app }
            let told = own.reduce(0) { $0 + ($1["suppressed"] as? Int ?? 0) }
            #expect(own.count + told == 10_000)
            #expect(own.count <= 40)
        }
        #expect(sink.suppressedCount > 19_000)
    }

    @Test func debugLinesAreNeverLeftOut() {
        let lines = LineList()
        let sink = LogSink(format: .json, queueMax: 10_000) { lines.append($0) }
        let log = Logger("delivery", sink: sink, levels: LogLevels(standard: .debug))
        for _ in 0..<1_000 { log.debug("delivery.ended", "A delivery ended.") }
        sink.close()
        #expect(lines.all.count == 1_000)
    }

    @Test func whatAllThreadsSayIsOneLine() {
        let lines = LineList()
        let sink = LogSink(format: .human(colours: false)) { lines.append($0) }
        let log = Logger("worker", sink: sink)
        for lane in ["urgent", "normal", "bulk"] {
            log.child("kafka", ["lane": .text(lane)]).single(.warning, "kafka.away") {
                ("Kafka is away.", [:])
            }
        }
        sink.close()
        #expect(lines.all.count == 2)
        #expect(lines.all.first?.hasSuffix("Kafka is away. lane=urgent") == true)
        #expect(lines.all.last?.hasSuffix("(and 1 like it)") == true)
    }

    @Test func lostLinesAreTold() throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let sink = LogSink(descriptor: ends[1], format: .json, queueMax: 4, burst: 1_000_000)
        let log = Logger("a", sink: sink)
        let long = String(repeating: "x", count: 2_000)
        while sink.droppedCount == 0 { log.error("e", long) }
        // Somebody reads again.
        let reader = Thread { [end = ends[0]] in
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            var seen: [UInt8] = []
            while !String(decoding: seen.suffix(4_096), as: UTF8.self).contains("log.dropped") {
                let count = read(end, &buffer, buffer.count)
                if count <= 0 { return }
                seen += buffer[..<count]
            }
            Found.dropped.signal()
        }
        reader.start()
        #expect(Found.dropped.wait(timeout: .now() + 30) == .success)
        sink.close()
        close(ends[1])
    }

    private enum Found {
        static let dropped = DispatchSemaphore(value: 0)
    }
}
