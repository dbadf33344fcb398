import Core
import EventLoop
import Foundation
import Redis
import TestSupport
import Testing

@testable import Registry

@Suite struct JobIDTests {
    private static let windowMs: Int64 = 3_600_000
    /// The middle of the next window.
    private static let noonMs = (Clock.wallMs / windowMs + 1) * windowMs + windowMs / 2

    private func claim(
        _ id: String, offset: Int64, at ms: Int64 = noonMs, key: UInt64 = 7, expected: Int64 = 1000
    ) -> JobIDClaim {
        Array(id.utf8).withUnsafeBytes {
            JobIDClaim(
                id: $0, keyHash: key, origin: Shelf.position(offset, at: ms), publishedMs: ms,
                window: JobIDWindow(windowMs: Self.windowMs, expected: expected))
        }
    }

    private func ask(_ shelf: Shelf, _ claim: JobIDClaim) throws -> IDVerdict? {
        try Array("shop".utf8).withUnsafeBytes { app in
            try shelf.session.run { RegistryCommands.claim(claim, app: app, into: &$0) }.integer
        }.flatMap { IDVerdict(rawValue: $0) }
    }

    private func settle(_ shelf: Shelf, _ claim: JobIDClaim, isDone: Bool) throws -> Int64? {
        try Array("shop".utf8).withUnsafeBytes { app in
            try shelf.session.run {
                RegistryCommands.settle(claim, app: app, isDone: isDone, into: &$0)
            }.integer
        }
    }

    @Test func theFirstRecordOfAnIDGoesAndAnotherWaitsForItsOutcome() throws {
        let shelf = try Shelf()
        let first = claim("j", offset: 1)
        let second = claim("j", offset: 2)
        #expect(try ask(shelf, first) == .proceed)
        #expect(try ask(shelf, first) == .proceed)
        #expect(try ask(shelf, second) == .inProgress)
        #expect(try ask(shelf, claim("k", offset: 3)) == .proceed)
        #expect(try ask(shelf, claim("j", offset: 4, key: 8)) == .proceed)
        #expect(try settle(shelf, second, isDone: true) == 0)
        #expect(try settle(shelf, first, isDone: true) == 1)
        #expect(try ask(shelf, first) == .done)
        #expect(try ask(shelf, second) == .done)
    }

    @Test func aFailedFirstTryLeavesTheIDToTheSecond() throws {
        let shelf = try Shelf()
        let first = claim("j", offset: 1)
        #expect(try ask(shelf, first) == .proceed)
        #expect(try settle(shelf, first, isDone: false) == 1)
        #expect(try ask(shelf, claim("j", offset: 2)) == .proceed)
        // What the first says late changes nothing any more.
        #expect(try settle(shelf, first, isDone: false) == 0)
        #expect(try ask(shelf, claim("j", offset: 3)) == .inProgress)
    }

    @Test func theWindowHasNoSeam() throws {
        let shelf = try Shelf()
        let edge = Self.noonMs + Self.windowMs / 2
        for (number, times) in [(edge - 1, edge), (edge, edge - 1), (edge, edge + Self.windowMs - 1)]
            .enumerated()
        {
            let first = claim("e\(number)", offset: 1, at: times.0)
            #expect(try ask(shelf, first) == .proceed)
            #expect(try ask(shelf, claim("e\(number)", offset: 2, at: times.1)) == .inProgress)
            #expect(try settle(shelf, first, isDone: true) == 1)
            #expect(try ask(shelf, claim("e\(number)", offset: 2, at: times.1)) == .done)
        }
        // Two windows later it is forgotten.
        #expect(
            try ask(shelf, claim("e0", offset: 3, at: edge + 2 * Self.windowMs)) == .proceed)
    }

    @Test func aBucketGoesWithItsWindow() throws {
        let shelf = try Shelf()
        let now = Clock.wallMs
        let first = claim("j", offset: 1, at: now)
        #expect(try ask(shelf, first) == .proceed)
        let keys = try shelf.session.command("KEYS", "peal:ids:{shop:*}:*").array
        #expect(keys.count == 1)
        let ttl = try shelf.session.command("PTTL", try #require(keys.first?.text)).integer ?? 0
        #expect(ttl > Self.windowMs && ttl <= 2 * Self.windowMs + 60_000)
        // An outcome that comes after that leaves nothing behind.
        try shelf.session.command("FLUSHDB")
        #expect(try settle(shelf, first, isDone: true) == 0)
        #expect(try shelf.session.command("DBSIZE").integer == 0)
    }

    @Test func everyIDHasItsOwnPlace() {
        var places = Set<[UInt8]>()
        var buckets: [UInt64: Int] = [:]
        for number in 0..<20_000 {
            let claim = claim("id-\(number)", offset: Int64(number), expected: 20_000)
            var field = ByteBuffer(capacity: 8)
            claim.appendField(to: &field)
            places.insert(field.array + [UInt8(truncatingIfNeeded: claim.bucket)])
            buckets[claim.bucket, default: 0] += 1
            #expect(claim.tag > 0 && claim.tag < 1 << 31)
        }
        #expect(places.count == 20_000)
        #expect(buckets.keys.allSatisfy { $0 < 250 })
        // Redis keeps a hash of at most 128 as one piece.
        #expect((buckets.values.max() ?? 0) <= 128)
    }

    /// `PEAL_TEST_IDS=1000000` measures with a million, which the tests have no time for.
    @Test func sixteenBytesAJobAreEnough() throws {
        let shelf = try Shelf()
        let text = ProcessInfo.processInfo.environment["PEAL_TEST_IDS"] ?? "40000"
        let count = try #require(Int(text))
        func memory() throws -> Int64 {
            let info = try shelf.session.command("INFO", "memory").text ?? ""
            let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_memory:") }
            return try #require(line.flatMap { Int64($0.dropFirst("used_memory:".count)) })
        }
        // What the server and its scripts need at first isn't the jobs'.
        let warm = claim("warm", offset: 0, expected: Int64(count))
        #expect(try ask(shelf, warm) == .proceed)
        #expect(try settle(shelf, warm, isDone: true) == 1)
        let before = try memory()
        for number in 0..<count {
            let claim = claim(
                "01J9ZK3V8Q7M4X2C6B5N1A-\(number)", offset: Int64(number), expected: Int64(count))
            #expect(try ask(shelf, claim) == .proceed)
            #expect(try settle(shelf, claim, isDone: true) == 1)
        }
        let bytes = Double(try memory() - before) / Double(count)
        if count > 40_000 { print("bytes a job: \(bytes)") }
        #expect(bytes > 8 && bytes <= 16)
    }
}
