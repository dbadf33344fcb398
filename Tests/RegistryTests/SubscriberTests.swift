import Core
import Foundation
import Redis
import TestSupport
import Testing

@testable import Registry

@Suite struct SubscriberTests {
    private func all(_ index: SubscriberIndex, _ topic: String) throws -> [String] {
        try index.members(topic, shards: 0..<SubscriberIndex.shards).flatMap { shard in
            shard.recipients.map { recipient in
                let name = String(decoding: recipient, as: UTF8.self)
                #expect(SubscriberIndex.shard(of: name) == shard.number)
                return name
            }
        }.sorted()
    }

    @Test func findsSubscribersByShardAndTopicsByRecipient() throws {
        let shelf = try Shelf()
        let index = SubscriberIndex(session: shelf.session, app: "shop")
        let names = (0..<40).map { "user-\($0)" } + ["a}b{c", "ü/:,;=%"]
        for name in names { try index.subscribe(name, "news") }
        try index.subscribe("user-1", "news")
        try index.subscribe("user-1", "a,b;c=d%")
        #expect(try all(index, "news") == names.sorted())
        #expect(try all(index, "a,b;c=d%") == ["user-1"])
        #expect(try all(index, "nothing").isEmpty)
        #expect(try index.topics(of: "user-1") == ["news", "a,b;c=d%"])
        #expect(try index.topics(of: "nobody").isEmpty)
        #expect(try all(SubscriberIndex(session: shelf.session, app: "bank"), "news").isEmpty)
    }

    @Test func endsSubscriptions() throws {
        let shelf = try Shelf()
        let index = SubscriberIndex(session: shelf.session, app: "shop")
        for topic in ["a", "b", "c"] { try index.subscribe("r", topic) }
        #expect(try index.unsubscribe("r", "b"))
        #expect(try !index.unsubscribe("r", "b"))
        #expect(try index.topics(of: "r") == ["a", "c"])
        #expect(try all(index, "b").isEmpty)
        try index.unsubscribeFromAll("r")
        #expect(try index.topics(of: "r").isEmpty)
        #expect(try shelf.session.command("DBSIZE").integer == 0)
    }

    @Test func mendsWhatACrashCutOff() throws {
        let shelf = try Shelf()
        let index = SubscriberIndex(session: shelf.session, app: "shop")
        try index.subscribe("r", "a")
        let key = RegistryKeys.subscribers(app: "shop", topic: "a", shard: SubscriberIndex.shard(of: "r"))
        try shelf.session.command("DEL", key)
        try index.subscribe("r", "a")
        #expect(try all(index, "a") == ["r"])
        try shelf.session.command("DEL", key)
        #expect(try index.unsubscribe("r", "a"))
        #expect(try index.topics(of: "r").isEmpty)
    }

    @Test func refusesWhatIsNoTopic() throws {
        let shelf = try Shelf()
        let index = SubscriberIndex(session: shelf.session, app: "shop")
        for topic in ["", "*", "a\nb", String(repeating: "x", count: 257)] {
            #expect(throws: RedisFailure.self) { try index.subscribe("r", topic) }
            #expect(throws: RedisFailure.self) { try index.unsubscribe("r", topic) }
        }
        for number in 0..<SubscriberIndex.topicsMax { try index.subscribe("r", "t\(number)") }
        #expect(throws: RedisFailure.self) { try index.subscribe("r", "one more") }
        try index.subscribe("r", "t7")
        #expect(try index.topics(of: "r").count == SubscriberIndex.topicsMax)
    }

    @Test func theShardIsTheChecksumThatEveryLanguageHas() {
        // The check value of CRC-32/ISO-HDLC.
        #expect(CRC32.of(text: "123456789") == 0xCBF4_3926)
        #expect(RecipientShard.of(text: "123456789") == 0x3926)
        var sizes = [Int](repeating: 0, count: RecipientShard.count)
        for number in 0..<RecipientShard.count * 16 { sizes[RecipientShard.of(text: "user-\(number)")] += 1 }
        #expect((sizes.max() ?? 0) < 64)
    }
}

@Suite struct EscapedTextTests {
    @Test(arguments: ["", "plain", "a,b;c=d%", "\u{7F}\u{0}\n", "ümläut", "100%", "%2C"])
    func survivesItsForm(text: String) {
        let escaped = EscapedText.escape(text)
        #expect(!escaped.utf8.contains { ",;=".utf8.contains($0) || $0 < 0x20 })
        Array(escaped.utf8).withUnsafeBytes { bytes in
            #expect(EscapedText.unescape(bytes) == text)
            #expect(Array(text.utf8).withUnsafeBytes { EscapedText.stands(bytes, for: $0) })
            #expect(!Array((text + "x").utf8).withUnsafeBytes { EscapedText.stands(bytes, for: $0) })
            #expect(!Array("x".utf8).withUnsafeBytes { EscapedText.stands(bytes, for: $0) } || text == "x")
        }
    }

    @Test func takesAWrongEscapeAsItStands() {
        for text in ["%", "%2", "%G0", "a%"] {
            Array(text.utf8).withUnsafeBytes { #expect(EscapedText.unescape($0) == text) }
        }
    }
}
