/// How many jobs are due when they go out at an even rate: a pure value, so that a late caller catches up
/// instead of sending fewer.
struct SendingPace: Equatable, Sendable {
    /// Jobs a second.
    let perSecond: Double

    /// The jobs that are due `elapsedUs` after the start, the first one at once.
    func due(elapsedUs: UInt64) -> Int {
        guard perSecond > 0 else { return 0 }
        let due = perSecond * Double(elapsedUs) / 1e6
        return due < 1e15 ? Int(due) + 1 : Int.max
    }

    /// When the job with this number, counted from 0, is due, in microseconds after the start.
    func dueUs(_ number: Int) -> UInt64 {
        guard perSecond > 0, number > 0 else { return 0 }
        return UInt64(min(9e15, (Double(number) * 1e6 / perSecond).rounded(.up)))
    }
}
