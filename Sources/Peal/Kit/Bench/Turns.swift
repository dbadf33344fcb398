/// Measures two sides in turns.
enum Turns {
    /// Runs each side once for nothing, so that caches are warm and files read, and then in pairs.
    ///
    /// Who goes first changes from pair to pair, so that a drift of the machine's speed favours neither.
    /// - Parameters:
    ///   - pairs: how many runs of each side count.
    ///   - first: one run; true when it will be thrown away and may be short.
    ///   - second: the same of the other side.
    ///   - tell: takes each pair and its number from 1 on.
    /// - Returns: the pairs, the first side's sample first in each.
    /// - Throws: what a run throws.
    static func run<Sample>(
        pairs: Int, _ first: (Bool) throws(StackFailure) -> Sample,
        _ second: (Bool) throws(StackFailure) -> Sample, tell: (Int, (Sample, Sample)) -> Void
    ) throws(StackFailure) -> [(Sample, Sample)] {
        _ = try first(true)
        _ = try second(true)
        var all: [(Sample, Sample)] = []
        for number in 1...max(1, pairs) {
            let pair: (Sample, Sample)
            if number % 2 == 1 {
                let one = try first(false)
                pair = (one, try second(false))
            } else {
                let two = try second(false)
                pair = (try first(false), two)
            }
            tell(number, pair)
            all.append(pair)
        }
        return all
    }
}
