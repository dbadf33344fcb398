/// How far this machine's wall clock is off, from the `Date` of the providers' answers: a pure value.
///
/// Dates are kept against the steady clock, so that a small correction of the wall clock shows at once. A
/// step of the wall clock against the steady one (somebody set it, or the machine was suspended) makes what
/// was measured doubtful: it is forgotten and measured anew with the next answer.
package struct ClockSkew: Equatable, Sendable {
    /// From here on tokens are dated by the providers' time: Apple refuses an `iat` that is wrong by minutes.
    package static let alarmMs: Int64 = 60_000
    /// An answer that took longer says too little about when it was dated.
    package static let roundTripMaxMs: Int64 = 5_000
    /// How long a measurement counts; clocks drift against each other.
    package static let lifeMs: Int64 = 6 * 3_600_000
    private static let samplesMax = 5

    /// The provider's wall time less the steady time, oldest first.
    private var offsets: [Int64] = []
    private var lastSteadyMs: Int64 = 0
    /// The local wall time less the steady time at the last measurement.
    private var localOffset: Int64 = 0

    package init() {}

    /// Notes the `Date` of an answer, in ms since 1970 and exact to the second, and when the request was sent
    /// and answered.
    package mutating func note(dateMs: Int64, wallMs: Int64, sentSteadyMs: Int64, steadyMs: Int64) {
        let roundTrip = steadyMs - sentSteadyMs
        guard roundTrip >= 0, roundTrip <= Self.roundTripMaxMs, dateMs > 0, dateMs < 1 << 50 else { return }
        forgetIfStale(wallMs: wallMs, steadyMs: steadyMs)
        // A date is cut to its second, and was written about half way.
        offsets.append(dateMs + 500 - (sentSteadyMs + roundTrip / 2))
        if offsets.count > Self.samplesMax { offsets.removeFirst() }
        lastSteadyMs = steadyMs
        localOffset = wallMs - steadyMs
    }

    /// The provider's time less the local time in ms, negative when the local clock is fast; nil when nothing
    /// is known.
    package func skewMs(wallMs: Int64, steadyMs: Int64) -> Int64? {
        guard !isStale(wallMs: wallMs, steadyMs: steadyMs) else { return nil }
        return offset + steadyMs - wallMs
    }

    /// Whether the local clock is so far off that tokens would be refused.
    package func isAlarming(wallMs: Int64, steadyMs: Int64) -> Bool {
        abs(skewMs(wallMs: wallMs, steadyMs: steadyMs) ?? 0) >= Self.alarmMs
    }

    /// The time to date tokens by: the local one, or the providers' where the local clock is far off.
    package func correctedMs(wallMs: Int64, steadyMs: Int64) -> Int64 {
        guard isAlarming(wallMs: wallMs, steadyMs: steadyMs) else { return wallMs }
        return wallMs + (skewMs(wallMs: wallMs, steadyMs: steadyMs) ?? 0)
    }

    /// The middle one of three or more, so that one wrong date changes nothing; the newest of fewer.
    private var offset: Int64 {
        offsets.count < 3 ? offsets.last ?? 0 : offsets.sorted()[offsets.count / 2]
    }

    private func isStale(wallMs: Int64, steadyMs: Int64) -> Bool {
        offsets.isEmpty || steadyMs - lastSteadyMs > Self.lifeMs
            || abs(wallMs - steadyMs - localOffset) >= Self.alarmMs
    }

    private mutating func forgetIfStale(wallMs: Int64, steadyMs: Int64) {
        if isStale(wallMs: wallMs, steadyMs: steadyMs) { offsets.removeAll() }
    }
}
