/// The tokens that a provider refused lately, by their hash, in constant memory.
///
/// APNs allows fewer streams on a connection after errors, so what is likely to be refused again goes by
/// other connections than the good tokens. A set of four places holds each token; the oldest of a full set
/// makes room. Two tokens of one hash are told apart by nothing: the good one then only takes the slower way.
///
/// A pure value: time is an argument, in milliseconds since 1970.
package struct SuspectTokens: Sendable {
    private static let ways = 4

    private struct Place {
        var hash: UInt64 = 0
        var untilMs: Int64 = .min
    }

    private let keepMs: Int64
    private let mask: UInt64
    private var places: [Place] = []
    /// Tokens that were added and neither cleared nor pushed out; expired ones count until they are met.
    package private(set) var count = 0

    /// Remembers about `capacity` tokens for `keepMs` each. No memory is taken before the first.
    package init(capacity: Int = 16_384, keepMs: Int64 = 3_600_000) {
        self.keepMs = keepMs
        var sets = 1
        while sets * Self.ways < max(Self.ways, min(capacity, 1 << 20)) { sets *= 2 }
        mask = UInt64(sets - 1)
    }

    private func set(of hash: UInt64) -> Range<Int> {
        let first = Int(hash & mask) * Self.ways
        return first..<first + Self.ways
    }

    /// Notes a refusal; a token that is known stays for the full time again.
    package mutating func note(_ hash: UInt64, nowMs: Int64) {
        if places.isEmpty { places = Array(repeating: Place(), count: Int(mask + 1) * Self.ways) }
        let set = set(of: hash)
        let until = nowMs + keepMs
        if let known = set.first(where: { places[$0].untilMs != .min && places[$0].hash == hash }) {
            places[known].untilMs = until
            return
        }
        var oldest = set.lowerBound
        for at in set where places[at].untilMs < places[oldest].untilMs { oldest = at }
        if places[oldest].untilMs == .min { count += 1 }
        places[oldest] = Place(hash: hash, untilMs: until)
    }

    /// Whether the token was refused within the time.
    package mutating func contains(_ hash: UInt64, nowMs: Int64) -> Bool {
        guard count > 0 else { return false }
        for at in set(of: hash) where places[at].untilMs != .min && places[at].hash == hash {
            if nowMs < places[at].untilMs { return true }
            remove(at)
        }
        return false
    }

    /// Forgets a token, since it was accepted.
    package mutating func clear(_ hash: UInt64) {
        guard count > 0 else { return }
        for at in set(of: hash) where places[at].untilMs != .min && places[at].hash == hash { remove(at) }
    }

    private mutating func remove(_ at: Int) {
        places[at] = Place()
        count -= 1
    }
}
