import Core
import Testing

@testable import Decisions

@Suite struct AcceptedTokensTests {
    private func hash(_ number: Int) -> UInt64 {
        Hash64.mix(UInt64(number) &+ 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F)
    }

    @Test func whatWasAcceptedIsKnownAndFewOthersAre() {
        var tokens = AcceptedTokens(capacity: 10_000)
        #expect(!tokens.contains(hash(1)))
        for number in 0..<10_000 { tokens.insert(hash(number)) }
        for number in 0..<10_000 where !tokens.contains(hash(number)) {
            Issue.record("token \(number) was forgotten")
            return
        }
        let wrong = (10_000..<30_000).count { tokens.contains(hash($0)) }
        #expect(wrong < 1_600)
    }

    @Test func theOldestAreForgottenAndWhatIsAcceptedAgainIsNot() {
        var tokens = AcceptedTokens(capacity: 1_000)
        for number in 0..<20_000 {
            tokens.insert(hash(number))
            tokens.insert(hash(999_999))
        }
        #expect(tokens.contains(hash(999_999)))
        #expect(tokens.contains(hash(19_999)))
        #expect((0..<1_000).count { tokens.contains(hash($0)) } < 300)
    }
}

@Suite struct TokenScreenTests {
    private func screen(knownShare: Double, punishedAtMs: Int64? = nil) -> TokenScreen {
        var screen = TokenScreen()
        for number in 0..<20_000 { screen.note(isKnown: Double(number % 100) < knownShare * 100) }
        if let punishedAtMs { screen.punished(nowMs: punishedAtMs) }
        return screen
    }

    @Test func everyCombinationHasItsWay() {
        for (share, punishedAtMs, nowMs, expected) in [
            (0.95, nil, 0, .sideIfFree), (0.95, 0, 59_999, .side), (0.95, 0, 60_000, .sideIfFree),
            (0.5, nil, 0, .main), (0.5, 0, 1, .main),
        ] as [(Double, Int64?, Int64, TokenScreen.Way)] {
            let screen = screen(knownShare: share, punishedAtMs: punishedAtMs)
            #expect(screen.way(isKnown: false, nowMs: nowMs) == expected)
            #expect(screen.way(isKnown: true, nowMs: nowMs) == .main)
            #expect(screen.isStrict(nowMs: nowMs) == (expected == .side))
        }
    }

    @Test func afterAStartNothingIsKeptApart() {
        var screen = TokenScreen()
        screen.punished(nowMs: 0)
        #expect(screen.way(isKnown: false, nowMs: 1) == .main)
    }
}
