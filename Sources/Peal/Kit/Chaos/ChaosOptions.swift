/// How a run under faults goes.
package struct ChaosOptions: Sendable {
    /// What the jobs and the faults follow from.
    package var seed: UInt64 = 1
    package var jobs = 10_000
    package var faults = 25
    package var workers = 3
    /// How long a whole run may take, in seconds.
    package var secondsMax = 300
    /// Over which time the faults are spread, in ms for each.
    package var faultStepMs = 2_000
    package var partitions = 6
    /// Where configuration, records and logs go; nil for a temporary directory.
    package var directory: String?
    /// Whether the directory stays although all is well.
    package var keeps = false
    /// Kinds of faults to inject, by the beginnings of their names: `worker`, `broker.down`. Empty for all.
    package var only: [String] = []
    /// Whether progress is shown on standard error.
    package var isVerbose = true
    package var logLevel = "info"
    /// Where the programs are; nil for the directory of this process's own executable.
    package var programDirectory: String?

    package init() {}

    /// Whether a fault's name begins so.
    static func isKnown(_ name: String) -> Bool {
        ChaosFaultKind.allCases.contains { $0.rawValue.hasPrefix(name) }
    }

    /// The time over which the faults are spread, in ms.
    var spanMs: Int { max(1, faults) * faultStepMs }
    /// What the bounds come from.
    static let sessionMs = 6_000
    static let requestMs = 3_000
    static let kafkaMs = 6_000
}
