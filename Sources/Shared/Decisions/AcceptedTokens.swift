/// The tokens that a provider accepted lately, by their hash: a filter in constant memory that may take a few
/// unknown tokens for known ones, never the other way round until its oldest half is dropped.
///
/// Two generations of a Bloom filter whose bits for one token lie in one cache line. At capacity a generation
/// takes one unknown token in about thirty for known.
package struct AcceptedTokens: Sendable {
    private static let wordsPerBlock = 8
    private static let bitsPerToken = 8

    private let capacity: Int
    private let blockMask: UInt64
    private var young: [UInt64] = []
    private var old: [UInt64] = []
    private var added = 0

    /// Remembers the last `capacity` tokens at least. No memory is taken before the first; then a byte a
    /// token and generation.
    package init(capacity: Int = 1 << 20) {
        self.capacity = max(64, min(capacity, 1 << 26))
        var blocks = 1
        while blocks * Self.wordsPerBlock * 64 < self.capacity * Self.bitsPerToken { blocks *= 2 }
        blockMask = UInt64(blocks - 1)
    }

    /// Whether the token was accepted.
    package func contains(_ hash: UInt64) -> Bool { has(hash, in: young) || has(hash, in: old) }

    /// Notes an acceptance.
    package mutating func insert(_ hash: UInt64) {
        if has(hash, in: young) { return }
        if added >= capacity || young.isEmpty {
            swap(&young, &old)
            young = Array(repeating: 0, count: (Int(blockMask) + 1) * Self.wordsPerBlock)
            added = 0
        }
        let first = block(hash)
        for number in 0..<4 {
            let bit = bit(hash, number)
            young[first + bit >> 6] |= 1 << UInt64(bit & 63)
        }
        added += 1
    }

    private func has(_ hash: UInt64, in words: [UInt64]) -> Bool {
        guard !words.isEmpty else { return false }
        let first = block(hash)
        for number in 0..<4 {
            let bit = bit(hash, number)
            if words[first + bit >> 6] & (1 << UInt64(bit & 63)) == 0 { return false }
        }
        return true
    }

    // The block from the upper bits, the bits within from the lower 36: independent of each other.
    private func block(_ hash: UInt64) -> Int { Int((hash >> 36) & blockMask) * Self.wordsPerBlock }
    private func bit(_ hash: UInt64, _ number: Int) -> Int { Int((hash >> UInt64(number * 9)) & 511) }
}

/// By which connections a token goes that was never accepted: a pure value, one for each route.
///
/// A provider that takes streams away after a refusal punishes whatever shares the connection. Known tokens
/// are hardly ever refused for a fault of theirs, unknown ones are. While most tokens are unknown, as after a
/// start, keeping them apart would only narrow the way for all.
package struct TokenScreen: Equatable, Sendable {
    /// Which connections a token takes.
    package enum Way: Equatable, Sendable {
        /// With the others.
        case main
        /// Apart, while the few connections for that have nothing waiting.
        case sideIfFree
        /// Apart, even if it has to wait.
        case side
    }

    /// Above this share of unknown tokens none is kept apart.
    static let unknownMost = 0.25
    static let punishedMs: Int64 = 60_000

    /// The share of unknown tokens among about the last thousand.
    private(set) var unknownShare = 1.0
    private var punishedUntilMs: Int64 = .min

    package init() {}

    /// Counts a token that is about to be sent.
    package mutating func note(isKnown: Bool) { unknownShare += ((isKnown ? 0 : 1) - unknownShare) / 1024 }

    /// Notes that the provider has taken streams away for longer than a moment.
    package mutating func punished(nowMs: Int64) { punishedUntilMs = nowMs + Self.punishedMs }

    /// Whether unknown tokens are kept apart at any price.
    package func isStrict(nowMs: Int64) -> Bool {
        nowMs < punishedUntilMs && unknownShare < Self.unknownMost
    }

    /// The way of a token.
    package func way(isKnown: Bool, nowMs: Int64) -> Way {
        if isKnown || unknownShare >= Self.unknownMost { return .main }
        return nowMs < punishedUntilMs ? .side : .sideIfFree
    }
}
