internal import Core
internal import Terminal

/// What one `peal trace` command line asks for.
struct TraceOrder: Equatable {
    var id: String
    /// The key whose partitions alone are read; nil for all.
    var key: [UInt8]?
    /// In ms since 1970.
    var sinceMs: Int64
    var untilMs: Int64?
    /// How long to search, in ms.
    var patienceMs: UInt64 = 300_000
    /// Whether to read on when every delivery has ended.
    var readsAll = false

    /// How far the clock of the id's maker may be ahead of the broker's or the sender's, in ms.
    static let clockSpareMs: Int64 = 300_000

    /// Reads a command line.
    /// - Throws: with what is missing or contradictory.
    init(_ arguments: Arguments, nowMs: Int64) throws(UsageFailure) {
        guard arguments.operands.count == 1, let id = arguments.operands.first, !id.isEmpty else {
            throw UsageFailure("trace takes one job's id")
        }
        guard id.utf8.count <= 160 else { throw UsageFailure("a job's id has at most 128 bytes") }
        self.id = id
        switch (arguments.string("app"), arguments.string("recipient")) {
        case (nil, nil): break
        case (let app?, let recipient?): key = Array("\(app)/\(recipient)".utf8)
        default: throw UsageFailure("--app and --recipient narrow the search only together")
        }
        if let since = try TimePoint.read("since", arguments, nowMs: nowMs) {
            sinceMs = since
        } else if let made = Self.made(id) {
            sinceMs = made - Self.clockSpareMs
        } else {
            throw UsageFailure(
                "\"\(id)\" is no ULID, so it doesn't say when its job was made; give --since, such as "
                    + "--since 3h")
        }
        untilMs = try TimePoint.read("until", arguments, nowMs: nowMs)
        if let untilMs, untilMs <= sinceMs { throw UsageFailure("--until lies before the search begins") }
        if let patience = try arguments.durationMs("for") { patienceMs = UInt64(max(1, patience)) }
        readsAll = arguments.flag("to-the-end")
    }

    /// When a ULID was made, in ms since 1970; a broadcast's recipient has its broadcast's, a dot and more.
    private static func made(_ id: String) -> Int64? {
        let first = id.prefix { $0 != "." }
        return ULID.timestampMs(of: Array(first.utf8)).map { Int64($0) }
    }
}
