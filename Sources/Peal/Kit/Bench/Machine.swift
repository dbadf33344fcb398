internal import EventLoop
internal import Glibc
internal import Terminal

/// What the figures were measured on.
enum Machine {
    /// Cores, processor, memory and kernel: `2 cores, AMD EPYC, 15.6 GiB, Linux 6.1.0`.
    static func describe() -> String {
        "\(Clock.processorCount) cores, \(processor), \(memory), Linux \(kernel)"
    }

    /// Programs that wanted a core in the last minute, on average; 0 when the system doesn't say.
    static var load: Double {
        guard let text = try? Files.readText(path: "/proc/loadavg", maxBytes: 4096) else { return 0 }
        return text.split(separator: " ").first.flatMap { Double($0) } ?? 0
    }

    private static var processor: String {
        guard let text = try? Files.readText(path: "/proc/cpuinfo") else { return "unknown processor" }
        for line in text.split(separator: "\n") where line.hasPrefix("model name") {
            if let colon = line.firstIndex(of: ":") {
                return String(line[line.index(after: colon)...].drop { $0 == " " })
            }
        }
        return "unknown processor"
    }

    private static var memory: String {
        guard let text = try? Files.readText(path: "/proc/meminfo", maxBytes: 1 << 16),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("MemTotal:") }),
            let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ UInt64($0) })
        else { return "unknown memory" }
        return Human.bytes(kilobytes << 10)
    }

    private static var kernel: String {
        guard let text = try? Files.readText(path: "/proc/sys/kernel/osrelease", maxBytes: 4096) else {
            return "unknown"
        }
        return text.split(separator: "\n").first.map { String($0) } ?? "unknown"
    }
}
