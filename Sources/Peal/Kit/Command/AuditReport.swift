internal import Terminal

/// What a command that compares a run with its promises found.
protocol AuditReport {
    /// Whether every promise was kept.
    var isGood: Bool { get }
    var json: String { get }
    func text(style: TextStyle) -> String
}

extension AuditReport {
    /// Writes the report for a person, or as JSON; then what was broken is told on standard error as well.
    /// - Returns: the exit code: 0 when all is well, else 1.
    func show(asJSON: Bool) -> Int32 {
        if asJSON {
            Console.write(json)
            if !isGood { Console.complain(text(style: Console.style(of: 2))) }
        } else {
            Console.write(text(style: Console.style))
        }
        return isGood ? 0 : 1
    }
}

extension ChaosReport: AuditReport {}
extension DemoReport: AuditReport {}
