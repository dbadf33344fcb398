/// One state of a progress bar, without a terminal or a clock.
package struct ProgressLine: Sendable {
    package var title: String
    package var done: Int
    /// How much there will be; nil when nobody knows.
    package var total: Int?
    package var elapsedMs: Int
    /// The rate to show, in items a second.
    package var perSecond: Double
    /// More to say at the end: `3 bad lines`.
    package var note: String

    /// A state.
    package init(
        title: String, done: Int, total: Int?, elapsedMs: Int, perSecond: Double, note: String = ""
    ) {
        self.title = title
        self.done = done
        self.total = total
        self.elapsedMs = elapsedMs
        self.perSecond = perSecond
        self.note = note
    }

    /// The line in at most `width` columns: title, bar, percentage, count, rate, remaining time.
    package func render(width: Int, style: TextStyle = TextStyle(isEnabled: false)) -> String {
        var tail = " " + Human.grouped(done)
        if let total, total > 0 {
            let share = min(1, max(0, Double(done) / Double(total)))
            tail = " " + Human.decimal((share * 1000).rounded(.down) / 10, places: 1) + " %" + tail
        }
        tail += "  " + Human.rate(perSecond)
        if let remaining = remainingMs { tail += "  " + Human.duration(ms: remaining) + " left" }
        if !note.isEmpty { tail += "  " + note }
        let head = title.isEmpty ? "" : title + " "
        let room = width - DisplayWidth.of(head) - DisplayWidth.of(tail) - 2
        guard let total, total > 0, room >= 8 else { return clip(head + tail.dropFirst(), width) }
        let cells = min(40, room)
        let share = min(1, max(0, Double(done) / Double(total)))
        let full = Int(Double(cells) * share)
        let bar =
            style(.green, String(repeating: "█", count: full))
            + style(.dim, String(repeating: "░", count: cells - full))
        return head + "▕" + bar + "▏" + tail
    }

    /// The time that is left at this rate; nil when it can't be told.
    package var remainingMs: Double? {
        guard let total, total > done, done > 0, perSecond > 0 else { return nil }
        return Double(total - done) / perSecond * 1000
    }

    private func clip(_ text: String, _ width: Int) -> String {
        DisplayWidth.of(text) <= width ? text : String(text.prefix(max(0, width)))
    }
}
