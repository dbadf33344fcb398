import Core
import Redis
import TestSupport
import Testing

@testable import Registry

/// The value in a class, so that an expectation may ask it.
private final class Mirror {
    var offsets: FinishedOffsets
    init(_ offsets: FinishedOffsets) { self.offsets = offsets }
    convenience init(startOffset: Int64, startedAtCommit: Bool) {
        self.init(FinishedOffsets(startOffset: startOffset, startedAtCommit: startedAtCommit))
    }
    var hasWrites: Bool { offsets.hasWrites }
    func wasFinished(offset: Int64, timestampMs: Int64) -> Bool {
        offsets.wasFinished(offset: offset, timestampMs: timestampMs)
    }
    func finish(offset: Int64, timestampMs: Int64) {
        offsets.finish(offset: offset, timestampMs: timestampMs)
    }
}

/// Redis as a dictionary of segments: what the writes would leave there.
private struct Store {
    var values: [Int64: [UInt8]] = [:]
    static let key = FinishedOffsetsKey(group: "g", topic: "t", partition: 3)

    /// Sends every write; gives their number.
    @discardableResult
    mutating func take(_ mirror: Mirror) throws -> Int {
        var writes = 0
        while mirror.hasWrites {
            var buffer = RedisCommandBuffer()
            mirror.offsets.encodeNextWrite(of: Self.key, into: &buffer)
            let isComplete = buffer.isComplete
            let commands = buffer.commands
            #expect(isComplete && commands == 1)
            let words = try Self.words(buffer.encoded)
            try apply(words)
            writes += 1
            guard writes < 1_000 else {
                Issue.record("the writes never end")
                break
            }
        }
        return writes
    }

    static func words(_ bytes: [UInt8]) throws -> [[UInt8]] {
        var rest = bytes[...]
        func line() throws -> String {
            let end = try #require(rest.firstIndex(of: 13))
            defer { rest = rest[(end + 2)...] }
            return String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
        }
        let count = try #require(Int(try line().dropFirst()))
        return try (0..<count).map { _ in
            let length = try #require(Int(try line().dropFirst()))
            defer { rest = rest.dropFirst(length + 2) }
            return Array(rest.prefix(length))
        }
    }

    private mutating func apply(_ words: [[UInt8]]) throws {
        let key = String(decoding: words[1], as: UTF8.self)
        #expect(key.hasPrefix("peal:done:g:t:3:"))
        let segment = try #require(Int64(key.dropFirst("peal:done:g:t:3:".count)))
        switch String(decoding: words[0], as: UTF8.self) {
        case "SET": values[segment] = words[2]
        case "DEL": values[segment] = nil
        case "SETRANGE":
            let at = try #require(Int(String(decoding: words[2], as: UTF8.self)))
            var value = values[segment] ?? []
            while value.count < at + words[3].count { value.append(0) }
            value.replaceSubrange(at..<at + words[3].count, with: words[3])
            values[segment] = value
        default: Issue.record("an unexpected command")
        }
    }

    /// A successor that has read what is here.
    func successor(startOffset: Int64, startedAtCommit: Bool) -> Mirror {
        var offsets = FinishedOffsets(startOffset: startOffset, startedAtCommit: startedAtCommit)
        for segment in offsets.segmentsToLoad {
            (values[segment] ?? []).withUnsafeBytes { offsets.load(segment: segment, $0) }
        }
        return Mirror(offsets)
    }
}

@Suite struct FinishedOffsetsTests {
    /// The timestamp of a record in the first life of the topic.
    private func ms(_ offset: Int64) -> Int64 { 1_000_000 + offset }

    private func predecessor(finishing finished: [Int64], from start: Int64 = 0) throws -> Store {
        var store = Store()
        let offsets = Mirror(startOffset: start, startedAtCommit: start > 0)
        for offset in finished {
            #expect(!offsets.wasFinished(offset: offset, timestampMs: ms(offset)))
            offsets.finish(offset: offset, timestampMs: ms(offset))
            try store.take(offsets)
        }
        return store
    }

    @Test func aSuccessorSkipsWhatWasFinished() throws {
        let finished: [Int64] = [7, 5, 9, 100, 65_535, 65_536, 65_540]
        let store = try predecessor(finishing: finished)
        let next = store.successor(startOffset: 3, startedAtCommit: true)
        for offset in 3..<65_600 as Range<Int64> {
            #expect(
                next.wasFinished(offset: offset, timestampMs: ms(offset)) == finished.contains(offset))
        }
    }

    @Test func aSuccessorTrustsWhatIsBelowACommittedOffset() throws {
        let store = try predecessor(finishing: [5, 6, 8])
        let next = store.successor(startOffset: 7, startedAtCommit: true)
        #expect(!next.wasFinished(offset: 7, timestampMs: ms(7)))
        #expect(next.wasFinished(offset: 8, timestampMs: ms(8)))
    }

    @Test func bitsOfAnotherLifeAreVoid() throws {
        let finished: [Int64] = [5, 6, 8]
        var store = try predecessor(finishing: finished)
        let next = store.successor(startOffset: 0, startedAtCommit: false)
        for offset in 0..<10 as Range<Int64> {
            #expect(!next.wasFinished(offset: offset, timestampMs: ms(offset) + 500))
        }
        #expect(next.hasWrites)
        try store.take(next)
        #expect(store.values.isEmpty)
    }

    @Test func bitsBelowAStartThatNobodyCommittedAreVoid() throws {
        var store = try predecessor(finishing: [5, 6, 8])
        let next = store.successor(startOffset: 7, startedAtCommit: false)
        #expect(!next.wasFinished(offset: 8, timestampMs: ms(8)))
        try store.take(next)
        #expect(store.values.isEmpty)
    }

    @Test func bitsWhoseFirstRecordIsGoneAreVoid() throws {
        let store = try predecessor(finishing: [5, 6, 8])
        let next = store.successor(startOffset: 2, startedAtCommit: true)
        #expect(!next.wasFinished(offset: 2, timestampMs: ms(2)))
        // 5 was compacted away: nothing proves that 6 is the same 6.
        #expect(!next.wasFinished(offset: 6, timestampMs: ms(6)))
        #expect(!next.wasFinished(offset: 8, timestampMs: ms(8)))
    }

    @Test func unprovenBitsAreNeverVouchedFor() throws {
        var store = try predecessor(finishing: [5, 8])
        let second = store.successor(startOffset: 0, startedAtCommit: false)
        // Another life of the topic: 2 finishes and the process dies before it reaches 5.
        #expect(!second.wasFinished(offset: 2, timestampMs: 9_000_000))
        second.finish(offset: 2, timestampMs: 9_000_000)
        try store.take(second)
        let third = store.successor(startOffset: 0, startedAtCommit: false)
        #expect(!third.wasFinished(offset: 2, timestampMs: 9_000_000))
        #expect(!third.wasFinished(offset: 8, timestampMs: 9_000_006))
    }

    @Test func aSuccessorPassesOnWhatItInherited() throws {
        var store = try predecessor(finishing: [5, 8])
        let second = store.successor(startOffset: 4, startedAtCommit: true)
        for offset in [4, 5, 6] as [Int64] { _ = second.wasFinished(offset: offset, timestampMs: ms(offset)) }
        second.finish(offset: 6, timestampMs: ms(6))
        try store.take(second)
        let third = store.successor(startOffset: 4, startedAtCommit: true)
        let seen = (4...9 as ClosedRange<Int64>).filter { third.wasFinished(offset: $0, timestampMs: ms($0)) }
        #expect(seen == [5, 6, 8])
    }

    @Test func aLowerOffsetMovesTheProof() throws {
        let store = try predecessor(finishing: [9, 3])
        let next = store.successor(startOffset: 3, startedAtCommit: true)
        #expect(next.wasFinished(offset: 3, timestampMs: ms(3)))
        #expect(next.wasFinished(offset: 9, timestampMs: ms(9)))
    }

    @Test func writesLittleOnceASegmentIsThere() throws {
        var store = Store()
        let offsets = Mirror(startOffset: 0, startedAtCommit: true)
        offsets.finish(offset: 0, timestampMs: ms(0))
        #expect(try store.take(offsets) == 1)
        for offset in 1...400 as ClosedRange<Int64> {
            offsets.finish(offset: offset, timestampMs: ms(offset))
        }
        #expect(try store.take(offsets) == 1)
        offsets.finish(offset: 401, timestampMs: ms(401))
        offsets.finish(offset: 60_000, timestampMs: ms(60_000))
        #expect(try store.take(offsets) == 2)
        #expect(try store.take(offsets) == 0)
        let next = store.successor(startOffset: 0, startedAtCommit: false)
        #expect((0...401).allSatisfy { next.wasFinished(offset: Int64($0), timestampMs: ms(Int64($0))) })
        #expect(next.wasFinished(offset: 60_000, timestampMs: ms(60_000)))
        #expect(!next.wasFinished(offset: 60_001, timestampMs: ms(60_001)))
    }

    @Test func rewritesEverythingAfterALostWrite() throws {
        var store = Store()
        let offsets = Mirror(startOffset: 0, startedAtCommit: true)
        for offset in 0..<50 as Range<Int64> { offsets.finish(offset: offset, timestampMs: ms(offset)) }
        try store.take(offsets)
        store.values = [:]
        offsets.offsets.rewrite()
        #expect(try store.take(offsets) == 1)
        let next = store.successor(startOffset: 0, startedAtCommit: false)
        #expect((0..<50).allSatisfy { next.wasFinished(offset: $0, timestampMs: ms($0)) })
    }

    @Test func dropsSegmentsThatAreCommitted() throws {
        var store = Store()
        let offsets = Mirror(startOffset: 0, startedAtCommit: true)
        offsets.finish(offset: 10, timestampMs: ms(10))
        offsets.finish(offset: 65_536, timestampMs: ms(65_536))
        try store.take(offsets)
        #expect(store.values.keys.sorted() == [0, 1])
        offsets.offsets.committed(65_535)
        #expect(!offsets.hasWrites)
        offsets.offsets.committed(65_536)
        try store.take(offsets)
        #expect(store.values.keys.sorted() == [1])
    }

    @Test func keepsItsBoundWhenNobodyCommits() throws {
        var store = Store()
        let offsets = Mirror(startOffset: 0, startedAtCommit: true)
        for segment in 0..<20 as Range<Int64> { offsets.finish(offset: segment * 65_536, timestampMs: 1) }
        try store.take(offsets)
        #expect(store.values.count == 4)
    }

    @Test func ignoresBrokenValues() throws {
        var seed: UInt64 = 11
        for length in [1, 15, 16, 17, 40, 8_208, 8_209, 20_000] {
            let offsets = Mirror(startOffset: 0, startedAtCommit: false)
            let value = (0..<length).map { _ -> UInt8 in
                seed = Hash64.mix(seed, 0x9E37_79B9_7F4A_7C15)
                return UInt8(truncatingIfNeeded: seed >> 20)
            }
            value.withUnsafeBytes { offsets.offsets.load(segment: 0, $0) }
            for offset in 0..<100 as Range<Int64> {
                #expect(!offsets.wasFinished(offset: offset, timestampMs: ms(offset)))
            }
        }
    }

    @Test func agreesWithRedis() throws {
        let shelf = try Shelf()
        let offsets = Mirror(startOffset: 65_530, startedAtCommit: true)
        let send = {
            while offsets.hasWrites {
                try shelf.session.run { offsets.offsets.encodeNextWrite(of: Store.key, into: &$0) }
            }
        }
        for offset in [65_534, 65_540, 65_531, 70_000] as [Int64] {
            offsets.finish(offset: offset, timestampMs: ms(offset))
            try send()
        }
        let bit = "\(128 + 65_534)"
        #expect(try shelf.session.command("GETBIT", "peal:done:g:t:3:0", bit).integer == 1)
        #expect(try shelf.session.command("BITCOUNT", "peal:done:g:t:3:1", "16", "-1").integer == 2)
        #expect(try shelf.session.command("TTL", "peal:done:g:t:3:0").integer ?? 0 > 600_000)
        let next = Mirror(startOffset: 65_530, startedAtCommit: true)
        for segment in next.offsets.segmentsToLoad {
            let value = try shelf.session.run {
                FinishedOffsets.encodeRead(segment: segment, of: Store.key, into: &$0)
            }
            guard case .string(let bytes) = value else {
                Issue.record("segment \(segment) is missing")
                continue
            }
            bytes.withUnsafeBytes { next.offsets.load(segment: segment, $0) }
        }
        let seen = (65_530...70_001 as ClosedRange<Int64>).filter {
            next.wasFinished(offset: $0, timestampMs: ms($0))
        }
        #expect(seen == [65_531, 65_534, 65_540, 70_000])
    }
}
