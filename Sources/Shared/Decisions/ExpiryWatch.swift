/// When to warn of a certificate that will expire: once a stage, at 30, 7 and 1 days and when it has.
package struct ExpiryWatch: Equatable, Sendable {
    /// How near the end is, the worst last.
    package enum Stage: Int, CaseIterable, Comparable, Sendable {
        case fine, month, week, day, expired

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        /// The stage with this many ms left.
        package init(leftMs: Int64) {
            let dayMs: Int64 = 86_400_000
            self =
                switch leftMs {
                case ...0: .expired
                case ...dayMs: .day
                case ...(7 * dayMs): .week
                case ...(30 * dayMs): .month
                default: .fine
                }
        }
    }

    package private(set) var stage = Stage.fine

    package init() {}

    /// Notes how long is left in ms.
    /// - Returns: the stage, if it is worse than at the last call.
    package mutating func note(leftMs: Int64) -> Stage? {
        let now = Stage(leftMs: leftMs)
        defer { stage = now }
        return now > stage ? now : nil
    }
}
