/// When an APNs provider token is minted anew: by its own age, never by a timer that started with the
/// process.
///
/// Apple refuses a token older than 60 minutes and more than one change in 20 minutes
/// (Establishing a token-based connection to APNs), so one token per team and key serves all connections of
/// all processes.
package struct MintingPolicy: Equatable, Sendable {
    /// What to do now.
    package enum Decision: Equatable, Sendable {
        case mint
        /// Keep the token and ask again at this steady time at the latest.
        case keep(untilSteadyMs: Int64)
    }

    /// The age at which a token is renewed when nothing else is configured.
    package static let standardAgeMs: Int64 = 45 * 60_000
    /// Between two tokens there is at least this long.
    package static let changeGapMs: Int64 = 20 * 60_000
    /// A wall clock that moved this far against the steady clock makes the token's `iat` wrong.
    package static let clockStepMs: Int64 = 2 * 60_000
    /// At this age a hold ends: a token that is refused for its age is worse than one change too many.
    package static let lastAgeMs: Int64 = 57 * 60_000
    /// Apple's limit.
    package static let lifeMs: Int64 = 60 * 60_000

    private var mintedWallMs: Int64 = 0
    private var mintedSteadyMs: Int64 = 0
    private var changedSteadyMs: Int64 = 0
    private var jitterMs: Int64 = 0
    private var heldUntilSteadyMs: Int64 = .min
    private(set) var hasToken = false
    /// A token is renewed at this age, give or take the jitter.
    package let renewalAgeMs: Int64

    package init(renewalAgeMs: Int64 = MintingPolicy.standardAgeMs) { self.renewalAgeMs = renewalAgeMs }

    /// Notes that a token was minted. `random` spreads the renewals of many processes over six minutes.
    package mutating func minted(wallMs: Int64, steadyMs: Int64, random: UInt64) {
        took(ageMs: 0, wallMs: wallMs, steadyMs: steadyMs, random: random)
        changedSteadyMs = steadyMs
    }

    /// Notes that a token of this age, which another process minted, took the place of the own one.
    package mutating func adopted(ageMs: Int64, wallMs: Int64, steadyMs: Int64, random: UInt64) {
        // The first token of a process is no change.
        let isChange = hasToken
        took(ageMs: max(0, ageMs), wallMs: wallMs, steadyMs: steadyMs, random: random)
        changedSteadyMs = isChange ? steadyMs : mintedSteadyMs
    }

    private mutating func took(ageMs: Int64, wallMs: Int64, steadyMs: Int64, random: UInt64) {
        mintedWallMs = wallMs - ageMs
        mintedSteadyMs = steadyMs - ageMs
        jitterMs = Int64(random % 360_001) - 180_000
        hasToken = true
    }

    /// Notes that APNs answered TooManyProviderTokenUpdates, here or to another process: no new token for
    /// this long.
    package mutating func hold(steadyMs: Int64, forMs: Int64 = MintingPolicy.changeGapMs) {
        heldUntilSteadyMs = max(heldUntilSteadyMs, steadyMs + min(forMs, Self.changeGapMs))
    }

    /// Whether another process's token may take the place of the own one. A refused token has nothing to
    /// lose.
    package func mayChange(steadyMs: Int64, isRefused: Bool) -> Bool {
        !hasToken || isRefused || steadyMs >= changedSteadyMs + Self.changeGapMs
    }

    /// The token's age.
    package func ageMs(steadyMs: Int64) -> Int64 { steadyMs - mintedSteadyMs }

    /// Decides at the given times; `isRefused` says that APNs called the current token expired.
    package func decide(wallMs: Int64, steadyMs: Int64, isRefused: Bool) -> Decision {
        guard hasToken else {
            return steadyMs >= heldUntilSteadyMs ? .mint : .keep(untilSteadyMs: heldUntilSteadyMs)
        }
        let wallAge = wallMs - mintedWallMs
        let steadyAge = steadyMs - mintedSteadyMs
        let renewalAge = renewalAgeMs + jitterMs
        let wants = isRefused || wallAge >= renewalAge || abs(wallAge - steadyAge) >= Self.clockStepMs
        let held = min(heldUntilSteadyMs, mintedSteadyMs + Self.lastAgeMs)
        let allowedAt = max(
            mintedSteadyMs + Self.changeGapMs, max(changedSteadyMs + Self.changeGapMs, held))
        if wants { return steadyMs >= allowedAt ? .mint : .keep(untilSteadyMs: allowedAt) }
        return .keep(untilSteadyMs: max(steadyMs + renewalAge - wallAge, steadyMs + 1000))
    }
}
