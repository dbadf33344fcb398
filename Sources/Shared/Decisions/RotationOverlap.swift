/// Which of two credentials sends while one takes the other's place: a pure value for one rotation.
///
/// The new one is trusted with its first accepted request. Until then the old one stands in: while the new
/// one has no token or no connection, and for a while after each time that the provider refused it. The
/// whole lasts a bounded time.
package struct RotationOverlap: Equatable, Sendable {
    /// Where it stands.
    package enum State: Equatable, Sendable {
        /// The new credential is tried whenever it can send. To: proven, fallenBack, over.
        case trying
        /// It was refused; the old one sends until then. To: trying, proven, over.
        case fallenBack(untilMs: Int64)
        /// It was accepted.
        case proven
        /// The time is up; the new one sends whatever comes.
        case over
    }

    /// How long the old credential stands in after the first refusal; twice as long after each further one.
    package static let firstRestMs: Int64 = 60_000
    package static let longestRestMs: Int64 = 600_000

    package private(set) var state = State.trying
    /// Refusals so far, at most one for each rest.
    package private(set) var refusals = 0
    /// When the overlap ends at the latest, ms since 1970.
    package let endMs: Int64

    package init(endMs: Int64) { self.endMs = endMs }

    /// Whether the old credential is no longer needed.
    package var isDone: Bool { state == .proven || state == .over }

    /// The provider took a request under the new credential.
    package mutating func accepted() { if state != .over { state = .proven } }

    /// The provider refused the new credential itself.
    /// - Returns: whether the old one stands in.
    package mutating func refused(nowMs: Int64) -> Bool {
        switch state {
        case .proven, .over: return false
        // Requests that were under way together are refused together: one refusal.
        case .fallenBack(let until) where nowMs < until: return true
        case .trying, .fallenBack:
            guard nowMs < endMs else {
                state = .over
                return false
            }
            let rest = min(Self.longestRestMs, Self.firstRestMs << Int64(min(refusals, 10)))
            refusals += 1
            state = .fallenBack(untilMs: min(endMs, nowMs + rest))
            return true
        }
    }

    /// Whether the old credential sends now; `isUsable` says whether the new one could.
    package mutating func usesOld(nowMs: Int64, isUsable: Bool) -> Bool {
        if isDone { return false }
        if nowMs >= endMs {
            state = .over
            return false
        }
        if case .fallenBack(let until) = state {
            if nowMs < until { return true }
            state = .trying
        }
        return !isUsable
    }
}
