internal import EventLoop
internal import Glibc

/// What a program that ran to its end has cost and said.
struct MeasuredRun {
    /// CPU time of the whole process, in microseconds.
    let cpuUs: Double
    /// What it wrote to standard output and error.
    let output: String

    /// Runs a program and waits for it.
    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - logPath: where its output goes; replaced.
    ///   - deadlineMs: when it is killed.
    /// - Throws: `.program` when it can't be run, ends with another code than 0, or runs into the deadline.
    init(_ words: [String], logPath: String, deadlineMs: UInt64) throws(StackFailure) {
        let name = words.first ?? ""
        do throws(SystemFailure) { try Files.write(path: logPath, text: "") } catch {
            throw StackFailure(.files, "\(error)")
        }
        let started = ChildProcess.spawn(words, environment: [:], input: nil, output: logPath)
        guard let process = started else { throw StackFailure(.program, "can't run \(name)") }
        let (status, usage) = Self.wait(for: process, deadlineMs: deadlineMs)
        output = (try? Files.readText(path: logPath)) ?? ""
        guard status == 0 else {
            throw StackFailure(
                .program, "\(name) failed (status \(status)); it says:\n\(output.suffix(2_000))")
        }
        cpuUs = Self.microseconds(usage.ru_utime) + Self.microseconds(usage.ru_stime)
    }

    private static func wait(for process: pid_t, deadlineMs: UInt64) -> (status: Int32, usage: rusage) {
        var status: Int32 = 0
        var usage = rusage()
        let end = Clock.monotonicMs + deadlineMs
        while unsafe wait4(process, &status, WNOHANG, &usage) == 0 {
            if Clock.monotonicMs > end { _ = Glibc.kill(process, SIGKILL) }
            usleep(5_000)
        }
        return (status, usage)
    }

    private static func microseconds(_ time: timeval) -> Double {
        Double(time.tv_sec) * 1e6 + Double(time.tv_usec)
    }
}

/// CPU time and memory of processes that go on running.
enum ProcessTime {
    /// Microseconds that the process has used so far; 0 when it is gone.
    static func cpuUs(of process: Int32) -> Double {
        guard let text = try? Files.readText(path: "/proc/\(process)/stat", maxBytes: 4096),
            let close = text.lastIndex(of: ")")
        else { return 0 }
        // The state is the first field after the name, user and system time the 12th and 13th (proc(5)).
        let fields = text[text.index(after: close)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            return 0
        }
        return (user + system) * tickUs
    }

    /// Resident memory of the process in bytes; 0 when it is gone.
    static func residentBytes(of process: Int32) -> UInt64 {
        guard let text = try? Files.readText(path: "/proc/\(process)/statm", maxBytes: 4096) else { return 0 }
        // The second field of /proc/PID/statm is the resident pages (proc(5)).
        let pages = text.split(separator: " ").dropFirst().first.flatMap { UInt64($0) } ?? 0
        return pages * UInt64(max(1, sysconf(Int32(_SC_PAGESIZE))))
    }

    /// The most memory in bytes that the process ever had resident; 0 when it is gone.
    static func peakResidentBytes(of process: Int32) -> UInt64 {
        guard let text = try? Files.readText(path: "/proc/\(process)/status", maxBytes: 1 << 16) else {
            return 0
        }
        // `VmHWM:     12345 kB` (proc(5)).
        for line in text.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            return line.split(whereSeparator: { !$0.isNumber }).first.flatMap { UInt64($0) }.map { $0 * 1024 }
                ?? 0
        }
        return 0
    }

    /// Microseconds that all cores together have worked since the machine started.
    static var machineUs: Double {
        guard let text = try? Files.readText(path: "/proc/stat", maxBytes: 1 << 20),
            let line = text.split(separator: "\n").first
        else { return 0 }
        // cpu user nice system idle iowait irq softirq steal: all but the two in the middle is work.
        let fields = line.split(separator: " ").dropFirst().prefix(7).map { Double($0) ?? 0 }
        guard fields.count == 7 else { return 0 }
        return (fields[0] + fields[1] + fields[2] + fields[5] + fields[6]) * tickUs
    }

    private static var tickUs: Double { 1e6 / Double(max(1, sysconf(Int32(_SC_CLK_TCK)))) }
}
