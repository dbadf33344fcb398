import Core
import Testing

@testable import Decisions

/// A set on the heap, so that it may be asked within an expectation.
private final class Tokens {
    private var tokens: SuspectTokens

    init(capacity: Int, keepMs: Int64) { tokens = SuspectTokens(capacity: capacity, keepMs: keepMs) }

    var count: Int { tokens.count }
    func note(_ hash: UInt64, nowMs: Int64) { tokens.note(hash, nowMs: nowMs) }
    func clear(_ hash: UInt64) { tokens.clear(hash) }
    func contains(_ hash: UInt64, nowMs: Int64) -> Bool { tokens.contains(hash, nowMs: nowMs) }
}

@Suite struct SuspectTokensTests {
    @Test func aRefusedTokenIsSuspectForTheTimeAndNoLonger() {
        let tokens = Tokens(capacity: 64, keepMs: 1000)
        #expect(!tokens.contains(7, nowMs: 0))
        tokens.note(7, nowMs: 100)
        #expect(tokens.contains(7, nowMs: 100))
        #expect(tokens.contains(7, nowMs: 1099))
        #expect(!tokens.contains(8, nowMs: 100))
        #expect(!tokens.contains(7, nowMs: 1100))
        #expect(tokens.count == 0)
    }

    @Test func aSecondRefusalRenewsTheTimeAndAnAcceptanceEndsIt() {
        let tokens = Tokens(capacity: 64, keepMs: 1000)
        tokens.note(7, nowMs: 0)
        tokens.note(7, nowMs: 900)
        #expect(tokens.count == 1)
        #expect(tokens.contains(7, nowMs: 1500))
        tokens.clear(7)
        #expect(!tokens.contains(7, nowMs: 1500))
        #expect(tokens.count == 0)
        tokens.clear(7)
        #expect(tokens.count == 0)
    }

    @Test func theOldestOfAFullSetMakesRoom() {
        let tokens = Tokens(capacity: 4, keepMs: 1000)
        for hash in 0..<UInt64(5) { tokens.note(hash, nowMs: Int64(hash)) }
        #expect(tokens.count == 4)
        #expect(!tokens.contains(0, nowMs: 5))
        for hash in 1..<UInt64(5) { #expect(tokens.contains(hash, nowMs: 5)) }
    }

    @Test func memoryStaysBoundedWhateverIsNoted() {
        let tokens = Tokens(capacity: 1000, keepMs: 1000)
        for number in 0..<UInt64(50_000) {
            tokens.note(Hash64.mix(number, 0xA076_1D64_78BD_642F), nowMs: 0)
        }
        #expect(tokens.count <= 1024)
        #expect(tokens.count > 900)
    }
}
