internal import Core

/// What the lines of a worker's log in JSON tell about its start.
enum WorkerLog {
    /// When a worker ran and when a lane of it got its first partitions, in ms since 1970.
    struct Join: Equatable {
        var startedMs: Int64
        var assignedMs: Int64
    }

    /// Finds both; nil when a line is missing.
    static func join(_ log: String, lane: String) -> Join? {
        var startedMs: Int64?
        var assignedMs: Int64?
        for line in log.split(separator: "\n") {
            guard let value = try? JSONValue.parse(text: String(line)), let event = value["event"]?.string
            else {
                continue
            }
            if event == "worker.started" {
                startedMs = startedMs ?? time(value)
            } else if event == "kafka.assigned", value["lane"]?.string == lane {
                assignedMs = assignedMs ?? time(value)
            }
        }
        guard let startedMs, let assignedMs else { return nil }
        // A lane's thread begins a moment before the line that the worker runs.
        return Join(startedMs: startedMs, assignedMs: max(startedMs, assignedMs))
    }

    private static func time(_ value: JSONValue) -> Int64? {
        let text = Array((value["ts"]?.string ?? "").utf8)
        return unsafe text.withUnsafeBytes { unsafe Timestamp.parseRFC3339($0) }
    }
}
