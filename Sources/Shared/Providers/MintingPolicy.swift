/// When an APNs provider token is minted anew: by its own age, never by a timer that started with the
/// process.
///
/// Apple refuses a token older than 60 minutes and more than one change in 20 minutes
/// (Establishing a token-based connection to APNs), so one token per team and key serves all connections of
/// the process.
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

    private var mintedWallMs: Int64 = 0
    private var mintedSteadyMs: Int64 = 0
    private var jitterMs: Int64 = 0
    private var heldUntilSteadyMs: Int64 = .min
    private var hasToken = false
    /// A token is renewed at this age, give or take the jitter.
    package let renewalAgeMs: Int64

    package init(renewalAgeMs: Int64 = MintingPolicy.standardAgeMs) { self.renewalAgeMs = renewalAgeMs }

    /// Notes that a token was minted. `random` spreads the renewals of many processes over six minutes.
    package mutating func minted(wallMs: Int64, steadyMs: Int64, random: UInt64) {
        mintedWallMs = wallMs
        mintedSteadyMs = steadyMs
        jitterMs = Int64(random % 360_001) - 180_000
        hasToken = true
    }

    /// Notes that APNs answered TooManyProviderTokenUpdates: no new token for the length of the gap.
    package mutating func hold(steadyMs: Int64) { heldUntilSteadyMs = steadyMs + Self.changeGapMs }

    /// Decides at the given times; `isRefused` says that APNs called the current token expired.
    package func decide(wallMs: Int64, steadyMs: Int64, isRefused: Bool) -> Decision {
        guard hasToken else { return .mint }
        let wallAge = wallMs - mintedWallMs
        let steadyAge = steadyMs - mintedSteadyMs
        let renewalAge = renewalAgeMs + jitterMs
        let wants = isRefused || wallAge >= renewalAge || abs(wallAge - steadyAge) >= Self.clockStepMs
        let allowedAt = max(mintedSteadyMs + Self.changeGapMs, heldUntilSteadyMs)
        if wants { return steadyMs >= allowedAt ? .mint : .keep(untilSteadyMs: allowedAt) }
        return .keep(untilSteadyMs: max(steadyMs + renewalAge - wallAge, steadyMs + 1000))
    }
}
