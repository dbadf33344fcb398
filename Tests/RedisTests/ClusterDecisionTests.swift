import Core
import EventLoop
import Testing

@testable import Redis
@testable import TestSupport

@Suite struct KeySlotTests {
    private func slot(_ key: String) -> Int { Array(key.utf8).withUnsafeBytes { Int(KeySlot.of($0)) } }

    @Test func agreesWithTheServerAboutEveryKindOfKey() throws {
        let server = try RedisServer(settings: ["--cluster-enabled", "yes"])
        let session = try server.session()
        var keys = [
            "", "a", "123456789", "{tag}", "a{tag}b", "a{}b", "{}{tag}", "{a}{b}", "}{x}", "a{b", "a}b",
            "{{x}}",
            "peal:dev:{shop:user-1}", "peal:dedup:{shop:a}b}:key", "peal:done:peal:peal.jobs.normal:3:0",
            "é{ü}",
        ]
        keys += (0..<500).map { "key:\($0)" }
        for key in keys {
            #expect(try session.command("CLUSTER", "KEYSLOT", key).integer == Int64(slot(key)), "\(key)")
        }
    }

    /// Words with spaces between them, the key, and whether they call a script.
    static let commands: [(String, String?, Bool)] = [
        ("GET k", "k", false), ("hgetall k", "k", false), ("HSET k f v", "k", false),
        ("EVALSHA 0123 2 k j", "k", true), ("EVAL return 0", nil, true),
        ("EVALSHA 0123 0 argument", nil, true),
        ("PING", nil, false), ("CONFIG GET x", nil, false), ("XINFO STREAM k", "k", false),
        ("ECHO k", nil, false),
    ]

    @Test(arguments: commands)
    func findsTheKeyOfACommand(words: String, key: String?, isScript: Bool) {
        var buffer = RedisCommandBuffer()
        buffer.append(words.split(separator: " ").map { String($0) })
        let route = buffer.encoded.withUnsafeBytes { CommandRoute($0) }
        #expect(route.isScript == isScript)
        let expected = key.map { slot($0) } ?? Int(KeySlot.any)
        #expect(Int(route.slot) == expected)
    }

    @Test func survivesAnyCutOfACommand() {
        var buffer = RedisCommandBuffer()
        buffer.append(["EVALSHA", "0123456789", "1", "key", "argument"])
        let bytes = buffer.encoded
        for count in 0...bytes.count {
            let slot = Array(bytes.prefix(count)).withUnsafeBytes { CommandRoute($0).slot }
            #expect(slot <= KeySlot.any)
        }
    }
}

@Suite struct RedirectionTests {
    @Test(arguments: [
        ("MOVED 3999 127.0.0.1:6381", false, 3999, "127.0.0.1:6381"), ("ASK 0 node-1:1", true, 0, "node-1:1"),
        ("MOVED 16383 :7000", false, 16383, "here:7000"), ("MOVED 1 ?:7000", false, 1, "here:7000"),
        ("ASK 5 ::1:7001", true, 5, "::1:7001"),
    ])
    func readsWhereACommandIsSentTo(text: String, isAsk: Bool, slot: Int, node: String) {
        let found = Redirection(text, askedHost: "here")
        #expect(found?.isAsk == isAsk)
        #expect(found.map { Int($0.slot) } == slot)
        #expect(found.map { "\($0.node)" } == node)
    }

    @Test(arguments: [
        "", "MOVED", "MOVED 1", "MOVED x h:1", "MOVED 16384 h:1", "MOVED 1 h", "MOVED 1 h:x", "MOVED -1 h:1",
        "ERR MOVED 1 h:1", "ASK 1 h:70000", "CLUSTERDOWN The cluster is down", "TRYAGAIN x y:1",
    ])
    func takesNothingElseForARedirection(text: String) {
        #expect(Redirection(text, askedHost: "here") == nil)
    }
}

@Suite struct SlotMapTests {
    private func map(_ text: String) throws -> SlotMap? {
        let parser = try #require(ReplyParser())
        #expect(Array(text.utf8).withUnsafeBytes { parser.feed($0) })
        #expect(parser.next() == .reply)
        return SlotMap(parser.reply, askedHost: "here")
    }

    @Test func readsTheMastersAndPassesOverTheReplicas() throws {
        let found = try map(
            "*2\r\n*4\r\n:0\r\n:99\r\n*3\r\n$1\r\na\r\n:1\r\n$2\r\nid\r\n*3\r\n$1\r\nb\r\n:2\r\n$2\r\nid\r\n"
                + "*3\r\n:100\r\n:16383\r\n*4\r\n$-1\r\n:3\r\n$2\r\nid\r\n*0\r\n")
        #expect(
            found?.runs == [
                SlotMap.Run(slots: 0...99, node: NodeAddress(host: "a", port: 1)),
                SlotMap.Run(slots: 100...16383, node: NodeAddress(host: "here", port: 3)),
            ])
    }

    @Test(arguments: [
        "*0\r\n", "+OK\r\n", ":1\r\n", "*1\r\n:1\r\n", "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
        "*1\r\n*3\r\n:-1\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:4\r\n*2\r\n$1\r\na\r\n:65536\r\n", "*1\r\n*2\r\n:0\r\n:4\r\n",
    ])
    func refusesWhatIsNoMap(text: String) throws {
        #expect(try map(text) == nil)
    }
}

@Suite struct DiversionTests {
    private func command(_ number: UInt64) -> ParkedCommand {
        let tag = RedisTag(kind: 0, value: number)
        let entry = CommandEntry(tag: tag, deadlineMs: 0, length: 0, origin: .caller)
        return ParkedCommand(entry: entry, bytes: [], askedNode: nil)
    }

    @Test func whatCameBackGoesBeforeWhatNeverLeft() {
        var diversion = Diversion()
        diversion.append(command(3))
        diversion.giveBack(command(1))
        diversion.giveBack(command(2))
        diversion.append(command(4))
        diversion.settle()
        #expect(diversion.popFirst()?.entry.tag.value == 1)
        // The first was sent and came back again.
        diversion.giveBack(command(1))
        diversion.settle()
        #expect(diversion.removeAll().map(\.entry.tag.value) == [1, 2, 3, 4])
        #expect(diversion.isEmpty)
    }

    @Test func keepsTheOrderOfThousands() {
        var diversion = Diversion()
        var next: UInt64 = 0
        var oldest: UInt64 = 0
        for _ in 0..<2_000 {
            for _ in 0..<3 {
                diversion.append(command(next))
                next += 1
            }
            for _ in 0..<2 {
                #expect(diversion.popFirst()?.entry.tag.value == oldest)
                oldest += 1
            }
        }
        while let command = diversion.popFirst() {
            #expect(command.entry.tag.value == oldest)
            oldest += 1
        }
        #expect(oldest == next)
        #expect(diversion.isEmpty)
    }
}
