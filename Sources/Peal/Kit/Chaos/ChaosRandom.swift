internal import Core

/// A seeded generator (SplitMix64's sequence, folded): the same numbers in every process and version.
struct ChaosRandom: Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Hash64.mix(state, 0xD6E8_FEB8_6659_FD93)
    }

    /// A number in `range`, each about as likely.
    mutating func number(in range: ClosedRange<Int>) -> Int {
        let width = UInt64(range.upperBound - range.lowerBound) + 1
        return range.lowerBound + Int(next().multipliedFullWidth(by: width).high)
    }

    /// True `percent` times in a hundred.
    mutating func chance(_ percent: Int) -> Bool { number(in: 0...99) < percent }

    /// The elements in another order.
    mutating func shuffled<T>(_ elements: [T]) -> [T] {
        var out = elements
        for index in stride(from: out.count - 1, to: 0, by: -1) {
            out.swapAt(index, number(in: 0...index))
        }
        return out
    }
}
