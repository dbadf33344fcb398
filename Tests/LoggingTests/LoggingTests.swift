import Core
import Foundation
import Glibc
import Logging
import Testing

/// Keeps lines that a sink writes on its own thread.
final class LineList: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    func append(_ line: String) { lock.withLock { lines.append(line) } }
    var all: [String] { lock.withLock { lines } }
}

@Suite struct LoggingTests {
    private func json(_ line: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test func aLineIsOneJSONObjectWhateverItHolds() throws {
        let lines = LineList()
        let sink = LogSink(format: .json) { lines.append($0) }
        let log = Logger("kafka.consumer", sink: sink).child("worker", ["pod": "w-1"])
        let odd = "a \"quoted\"\nline\u{7} with \\ and ü 🎉"
        log.warning(
            "redis.unavailable", odd,
            [
                "redis.host": .text("localhost\n"), "attempt": 3, "ratio": 0.5, "up": false,
                "nan": .real(.nan),
                "message": "forged", "big": .number(UInt64.max),
            ])
        sink.close()
        try #require(lines.all.count == 1)
        let object = try json(lines.all[0])
        #expect(object["level"] as? String == "warning")
        #expect(object["subsystem"] as? String == "worker")
        #expect(object["event"] as? String == "redis.unavailable")
        #expect(object["message"] as? String == odd)
        #expect(object["pod"] as? String == "w-1")
        #expect(object["redis.host"] as? String == "localhost\n")
        #expect(object["attempt"] as? Int == 3)
        #expect(object["ratio"] as? Double == 0.5)
        #expect(object["up"] as? Bool == false)
        #expect(object["nan"] is NSNull)
        #expect(object["big"] as? Int64 == Int64.max)
        #expect((object["ts"] as? String)?.count == 24)
    }

    @Test func aHugeLineIsCutAndStaysValid() throws {
        var fields: LogFields = [:]
        for number in 0..<100 { fields.append("field.\(number)", .text(String(repeating: "ü", count: 900))) }
        var out = ByteBuffer()
        LogFormat.json.append(
            LogRecord(
                wallMs: 0, level: .info, subsystem: "s", event: "e",
                message: String(repeating: "é", count: 5_000),
                fields: fields, suppressed: 0), to: &out)
        #expect(out.count <= LogFormat.lineBytesMax)
        let object = try json(out.text)
        #expect(object["cut"] as? Bool == true)
        #expect((object["message"] as? String)?.count == 1_024)
    }

    @Test func aTerminalLineCanNotBeForged() {
        var out = ByteBuffer()
        LogFormat.human(colours: false).append(
            LogRecord(
                wallMs: 0, level: .error, subsystem: "kafka", event: "e", message: "one\ntwo\u{1B}[2J",
                fields: ["k": "v\r"], suppressed: 2), to: &out)
        #expect(out.text == "00:00:00.000 error    kafka      one·two·[2J k=v· (and 2 like it)\n")
    }

    @Test func levelsAreReadOrRefusedWithWhatThereIs() throws {
        let levels = try LogLevels(parsing: "warning,kafka=debug,delivery=error")
        #expect(levels.level(of: "worker") == .warning)
        #expect(levels.level(of: "kafka") == .debug)
        #expect(levels.level(of: "delivery") == .error)
        #expect(levels.text == "warning,delivery=error,kafka=debug")
        for bad in ["", "loud", "kafka=", "=info", "info,,debug", "kafka=debug=x", "kafka.x=debug"] {
            #expect(throws: LogLevelFault.self) { try LogLevels(parsing: bad) }
        }
        let level = #expect(throws: LogLevelFault.self) { try LogLevels(parsing: "kafka=loud") }
        #expect(
            level?.sentence
                == "there is no log level \"loud\"; the levels are trace, debug, info, notice, warning, error, "
                + "critical")
        let part = #expect(throws: LogLevelFault.self) { try LogLevels(parsing: "kafak=debug") }
        #expect(
            part?.sentence.hasPrefix("there is no subsystem \"kafak\"; the subsystems are worker, ") == true)
    }

    @Test func nothingBelowTheLevelIsBuiltOrWritten() {
        let lines = LineList()
        let sink = LogSink(format: .json) { lines.append($0) }
        let log = Logger("a", sink: sink, levels: LogLevels(standard: .warning))
        var built = 0
        func message() -> String {
            built += 1
            return "m"
        }
        for level in LogLevel.allCases { log.log(level, "e.\(level.name)", message()) }
        Logger.silent.critical("e", message())
        sink.close()
        #expect(built == 3)
        #expect(lines.all.count == 3)
        #expect(!log.writes(.info) && log.writes(.error) && !Logger.silent.writes(.critical))
    }

    @Test func aSlowReaderCostsDroppedLinesAndNotTime() throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        // The pipe is never read until the end: the writer hangs, the queue fills, the callers go on.
        let sink = LogSink(descriptor: ends[1], format: .json, queueMax: 8, burst: 1_000_000)
        let log = Logger("a", sink: sink)
        let long = String(repeating: "x", count: 2_000)
        for _ in 0..<200 { log.error("e", long) }
        #expect(sink.droppedCount > 0)
        sink.close(deadlineMs: 10)
        // Reading lets the writer's thread end.
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        #expect(read(ends[0], &buffer, buffer.count) > 0)
        close(ends[0])
    }

    @Test func aPipeGetsWholeLinesInOrder() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let sink = LogSink(descriptor: ends[1], format: .json, burst: 1_000)
        let log = Logger("a", sink: sink)
        for number in 0..<100 { log.info("e", "line \(number)") }
        sink.close()
        close(ends[1])
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(ends[0], &buffer, buffer.count)
            if count <= 0 { break }
            text += buffer[..<count]
        }
        close(ends[0])
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let messages = try lines.map { try json(String($0))["message"] as? String }
        #expect(messages == (0..<100).map { "line \($0)" })
    }

    @Test func tokensAreShortened() {
        #expect(Redacted.token("0123456789abcdef") == "0123…cdef")
        #expect(Redacted.token("0123456789abcde") == "…")
        #expect(Redacted.token("") == "…")
        let bytes: [UInt8] = [0x1B, 0x5B] + Array("xx0123456789abcd".utf8)
        #expect(bytes.withUnsafeBytes { Redacted.token($0) } == "?[xx…abcd")
    }
}
