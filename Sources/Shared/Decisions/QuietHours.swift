/// The hours of a day at which a recipient wants to hear nothing, on its own clock.
package struct QuietHours: Sendable, Equatable {
    /// Minutes after midnight, 0...1439. When the end isn't later than the beginning, they cross midnight.
    package let fromMinute: Int
    package let toMinute: Int

    /// Makes them; nil when the minutes can't be or are the same.
    package init?(fromMinute: Int, toMinute: Int) {
        guard (0..<1440).contains(fromMinute), (0..<1440).contains(toMinute), fromMinute != toMinute else {
            return nil
        }
        self.fromMinute = fromMinute
        self.toMinute = toMinute
    }

    /// Reads `22:00-07:00`; nil for anything else.
    package init?(_ text: some Collection<UInt8>) {
        let bytes = Array(text)
        guard bytes.count == 11, bytes[5] == UInt8(ascii: "-"), let from = Self.minute(bytes[0..<5]),
            let to = Self.minute(bytes[6..<11])
        else { return nil }
        self.init(fromMinute: from, toMinute: to)
    }

    private static func minute(_ text: ArraySlice<UInt8>) -> Int? {
        let digits = text.map { Int($0) - 0x30 }
        guard digits[2] == 10, [0, 1, 3, 4].allSatisfy({ (0...9).contains(digits[$0]) }) else { return nil }
        let hours = digits[0] * 10 + digits[1]
        let minutes = digits[3] * 10 + digits[4]
        return hours < 24 && minutes < 60 ? hours * 60 + minutes : nil
    }

    /// When the quiet time ends that a moment lies in, ms since 1970; nil when it lies in none.
    ///
    /// It ends when the zone's clock shows a time outside, whichever way it gets there: an end that summer
    /// time skips comes with the change, and one that the clock shows twice comes when it is shown first.
    package func end(atMs now: Int64, _ zone: TimeZoneTable) -> Int64? {
        var at = now.flooredDivision(by: 1000)
        guard var left = secondsLeft(at, zone) else { return nil }
        // Each turn takes one change of the offset; more than a few a day there are not.
        for _ in 0..<16 {
            guard let change = zone.nextChange(after: at), change <= at + left else { break }
            at = change
            guard let rest = secondsLeft(at, zone) else { return at * 1000 }
            left = rest
        }
        return (at + left) * 1000
    }

    /// Seconds until the end, by the offset of this moment; nil outside.
    private func secondsLeft(_ seconds: Int64, _ zone: TimeZoneTable) -> Int64? {
        let local = seconds + zone.offset(at: seconds)
        let time = local - local.flooredDivision(by: 86_400) * 86_400
        let from = Int64(fromMinute) * 60
        let to = Int64(toMinute) * 60
        if from < to { return time >= from && time < to ? to - time : nil }
        if time >= from { return 86_400 - time + to }
        return time < to ? to - time : nil
    }
}

/// What a recipient's preferences mean for a job.
package enum PreferenceRuling: Equatable, Sendable {
    case send
    /// It ends as `muted`.
    case mute
    /// It would be worthless at the end of the quiet time, and ends as `expired`.
    case expire
    /// It waits until then, ms since 1970.
    case wait(untilMs: Int64)

    /// Decides. A mute silences what its recipient notices, so `isSilent` jobs (background pushes and badges)
    /// pass it; quiet hours hold what is shown, unless it is urgent. `quietEndMs` is when the quiet time ends
    /// that now lies in, nil for none; a job is worthless from `deadlineMs` on.
    package static func of(
        isSilent: Bool, isShown: Bool, isUrgent: Bool, isMuted: Bool, quietEndMs: Int64?, deadlineMs: Int64
    ) -> PreferenceRuling {
        if isMuted, !isSilent { return .mute }
        guard let quietEndMs, isShown, !isSilent, !isUrgent else { return .send }
        return quietEndMs >= deadlineMs ? .expire : .wait(untilMs: quietEndMs)
    }
}
