extension Job {
    /// How far ahead of its publication `send_at` may lie: 366 days, in milliseconds. The retry topics refuse
    /// what is due later than 400 days from now.
    package static let waitMaxMs: Int64 = 366 * 86_400_000

    /// What is wrong with the job's `send_at` at this time; nil when nothing is.
    package func waitFault(nowMs: Int64) -> JobFault? {
        guard flags.contains(.hasSendAt), sendAtMs > nowMs + Self.waitMaxMs else { return nil }
        return JobFault(
            .outOfRange, "send_at",
            "The time may be at most 366 days ahead; correct it or send the job later.")
    }
}
