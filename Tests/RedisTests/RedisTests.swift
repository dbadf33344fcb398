import Core
import EventLoop
import Testing

@testable import Redis
@testable import TestSupport

@Suite struct CommandEncodingTests {
    @Test func encodesCommandsAsBulkStrings() {
        var buffer = RedisCommandBuffer()
        buffer.begin(4)
        buffer.argument("SET")
        buffer.argument { out in
            out.append("k:")
            out.append(decimal: 7)
        }
        buffer.argument(decimal: -12)
        buffer.argument(array: [0, 13, 10])
        let isComplete = buffer.isComplete
        let encoded = buffer.encoded
        #expect(isComplete)
        #expect(
            encoded
                == Array("*4\r\n$3\r\nSET\r\n$3\r\nk:7\r\n$3\r\n-12\r\n$3\r\n".utf8) + [0, 13, 10, 13, 10])
    }

    @Test func callsScriptsByTheirDigest() {
        let script = RedisScript(name: "one", source: "return 1")
        var buffer = RedisCommandBuffer()
        buffer.begin(script, keys: 1, arguments: 0)
        buffer.argument("k")
        #expect(script.digest == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
        let encoded = String(decoding: buffer.encoded, as: UTF8.self)
        let isComplete = buffer.isComplete
        #expect(
            encoded
                == "*4\r\n$7\r\nEVALSHA\r\n$40\r\n\(script.digest)\r\n$1\r\n1\r\n$1\r\nk\r\n")
        #expect(isComplete)
    }
}

@Suite struct EndpointTests {
    @Test func readsEveryPartOfAURL() throws {
        let full = try RedisEndpoint(url: "redis://alice:p%40ss:w@cache.example:7000/3")
        #expect(full.address == .tcp(host: "cache.example", port: 7000))
        #expect(full.user == "alice")
        #expect(full.password == "p@ss:w")
        #expect(full.database == 3)
        #expect(try RedisEndpoint(url: "redis://h").address == .tcp(host: "h", port: 6379))
        #expect(try RedisEndpoint(url: "redis://[::1]:7001/").address == .tcp(host: "::1", port: 7001))
        #expect(try RedisEndpoint(url: "redis://:secret@h").user == nil)
        let unix = try RedisEndpoint(url: "unix:///run/redis.sock?db=2")
        #expect(unix.address == .unix(path: "/run/redis.sock"))
        #expect(unix.database == 2)
        #expect(try RedisEndpoint(url: "rediss://h:6380").isEncrypted)
    }

    @Test(arguments: [
        "http://h", "redis://", "redis://h:0", "redis://h:70000", "redis://h/x", "redis://u@h",
        "unix://relative",
        "unix:///a?x=1", "redis://h/-1", "",
    ])
    func refusesWhatItCantUse(url: String) {
        #expect(throws: RedisFailure.self) { try RedisEndpoint(url: url) }
    }

    @Test func readsSeveralNodesOfACluster() throws {
        let nodes = try RedisEndpoint.list(url: "rediss://alice:p,w@a:7000,b,[::1]:7001/")
        #expect(
            nodes.map(\.address) == [
                .tcp(host: "a", port: 7000), .tcp(host: "b", port: 6379), .tcp(host: "::1", port: 7001),
            ])
        #expect(nodes.allSatisfy { $0.user == "alice" && $0.password == "p,w" && $0.isEncrypted })
        #expect(try RedisEndpoint.list(url: "unix:/run/a,b.sock").count == 1)
        #expect(try RedisEndpoint.list(url: "redis://a/2").map(\.database) == [2])
        for url in ["redis://a,", "redis://,a", "redis://a,b:x", "redis://a,b/x", "http://a,b"] {
            #expect(throws: RedisFailure.self) { try RedisEndpoint.list(url: url) }
        }
    }

    @Test func neverShowsThePassword() throws {
        let endpoint = try RedisEndpoint(url: "redis://u:hunter2@h:1")
        #expect(!"\(endpoint)".contains("hunter2"))
        do {
            _ = try RedisEndpoint(url: "redis://u:hunter2@h:port")
            Issue.record("the port was accepted")
        } catch {
            #expect(!error.message.contains("hunter2"))
        }
    }
}

@Suite struct ReplyParserTests {
    static let stream =
        "+OK\r\n-ERR no\r\n:-42\r\n$-1\r\n$0\r\n\r\n$5\r\nab\r\nc\r\n*-1\r\n*0\r\n"
        + "*4\r\n:1\r\n*2\r\n$1\r\nx\r\n*1\r\n:2\r\n$1\r\ny\r\n:3\r\n"

    static let expected: [RedisValue] = [
        .string(Array("OK".utf8)), .error(RedisFailure(.refused, "ERR no")), .integer(-42), .null,
        .string([]),
        .string(Array("ab\r\nc".utf8)), .null, .array([]),
        .array([
            .integer(1), .array([.string([120]), .array([.integer(2)])]), .string([121]), .integer(3),
        ]),
    ]

    private func parse(_ bytes: [UInt8], step: Int) throws -> [RedisValue] {
        let parser = try #require(ReplyParser())
        var found: [RedisValue] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            let part = Array(bytes[start..<min(bytes.count, start + step)])
            #expect(part.withUnsafeBytes { parser.feed($0) })
            while parser.next() == .reply { found.append(RedisValue(parser.reply)) }
        }
        return found
    }

    @Test(arguments: [1, 2, 3, 7, 1000]) func readsEveryTypeHoweverItIsCut(step: Int) throws {
        #expect(try parse(Array(Self.stream.utf8), step: step) == Self.expected)
    }

    @Test func readsNumbersOutOfStringsOnlyWhenTheyAreNumbers() throws {
        func number(_ text: String) throws -> Int64? {
            let parser = try #require(ReplyParser())
            #expect(Array("$\(text.utf8.count)\r\n\(text)\r\n".utf8).withUnsafeBytes { parser.feed($0) })
            #expect(parser.next() == .reply)
            return parser.reply.integer
        }
        #expect(try number("9223372036854775807") == .max)
        #expect(try number("-9223372036854775808") == .min)
        #expect(try number("9223372036854775808") == nil)
        #expect(try number("-0") == 0)
        for text in ["", "-", "1x", " 1", "1.5", "99999999999999999999"] { #expect(try number(text) == nil) }
    }

    @Test func givesNullForElementsThatArentThere() throws {
        let parser = try #require(ReplyParser())
        #expect(Array("*2\r\n:1\r\n:2\r\n".utf8).withUnsafeBytes { parser.feed($0) })
        #expect(parser.next() == .reply)
        #expect(parser.reply[2].isNull)
        #expect(parser.reply[-1].isNull)
        #expect(parser.reply[0][0].isNull)
        #expect(parser.reply[1].integer == 2)
        #expect(parser.reply.bytes.isEmpty)
    }

    @Test func survivesRandomBytes() throws {
        var seed: UInt64 = 42
        for _ in 0..<3_000 {
            let parser = try #require(ReplyParser())
            var bytes = Array(Self.stream.utf8)
            for _ in 0..<4 {
                seed = Hash64.mix(seed, 0x9E37_79B9_7F4A_7C15)
                bytes[Int(seed % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: seed >> 32)
            }
            guard bytes.withUnsafeBytes({ parser.feed($0) }) else { continue }
            var steps = 0
            while parser.next() == .reply, steps < 100 {
                _ = RedisValue(parser.reply)
                steps += 1
            }
            #expect(steps < 100)
        }
    }
}

@Suite struct CommandRingTests {
    @Test func keepsTheOrderThroughGrowth() {
        var ring = CommandRing()
        var next: UInt64 = 0
        var oldest: UInt64 = 0
        for round in 0..<50 {
            for _ in 0..<(round * 3) {
                ring.append(
                    CommandEntry(
                        tag: RedisTag(kind: 1, value: next), deadlineMs: 0, length: 2, origin: .caller))
                next += 1
            }
            for _ in 0..<(round * 2) {
                #expect(ring.popFirst()?.tag.value == oldest)
                oldest += 1
            }
        }
        #expect(ring.count == Int(next - oldest))
        #expect(ring.countCovering(0) == 0)
        #expect(ring.countCovering(1) == 1)
        #expect(ring.countCovering(2) == 1)
        #expect(ring.countCovering(3) == 2)
        #expect(ring.countCovering(.max) == ring.count)
    }
}
