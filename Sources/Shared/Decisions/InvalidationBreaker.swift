/// Stops the deletion of tokens when so many of an app's sends are refused that the configuration, not the
/// tokens, must be wrong: a wrong topic or environment would otherwise erase the whole token base.
///
/// It opens when, in the window, at least `refusedMin` sends and at least `share` of them end in a verdict
/// with `suspectToken`; it closes by itself after `openMs` without reaching that again.
package struct InvalidationBreaker: Equatable, Sendable {
    /// When it opens and for how long. Times in ms.
    package struct Limits: Equatable, Sendable {
        package var windowMs: Int64 = 60_000
        package var refusedMin: Int = 20
        package var share: Double = 0.05
        package var openMs: Int64 = 300_000

        package init() {}
    }

    private let limits: Limits
    private var window: FailureWindow
    private var openUntilMs: Int64 = .min
    /// How often it opened.
    package private(set) var openings = 0

    package init(limits: Limits = Limits()) {
        self.limits = limits
        window = FailureWindow(windowMs: limits.windowMs)
    }

    /// Notes answered sends: how many, and how many of them blame the token.
    package mutating func note(answered: Int, refused: Int, nowMs: Int64) {
        window.add(good: answered - refused, bad: refused, nowMs: nowMs)
        guard refused > 0 else { return }
        let (all, bad) = window.totals(nowMs: nowMs)
        guard bad >= limits.refusedMin, Double(bad) >= Double(all) * limits.share else { return }
        if !isOpen(nowMs: nowMs) { openings += 1 }
        openUntilMs = nowMs + limits.openMs
    }

    /// Whether deletion is paused.
    package func isOpen(nowMs: Int64) -> Bool { nowMs < openUntilMs }

    /// Closes it, after the configuration was changed.
    package mutating func reset() {
        window = FailureWindow(windowMs: limits.windowMs)
        openUntilMs = .min
    }
}
