internal import EventLoop
internal import Glibc

/// A program that this process started, with its output in a log file.
///
/// - Ownership: whoever holds it ends it; ``StackWatcher`` ends it when this process dies first.
/// - Threading: one thread at a time.
package final class ChildProcess {
    /// How a process ended.
    package enum Ending: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)
    }

    /// What it is called in messages and in the log's name.
    package let name: String
    /// Where its standard output and error go.
    package let logPath: String
    /// Its process id.
    package let processID: Int32
    /// How it ended; nil while it runs.
    package private(set) var ending: Ending?

    /// Starts the program.
    /// - Parameters:
    ///   - name: what to call it.
    ///   - program: the path of the executable.
    ///   - arguments: without the program's own name.
    ///   - environment: added to this process's environment.
    ///   - logPath: created or appended to.
    /// - Throws: `.program` when it can't be run.
    package init(
        name: String, program: String, arguments: [String], environment: [String: String] = [:],
        logPath: String
    ) throws(StackFailure) {
        self.name = name
        self.logPath = logPath
        guard Files.exists(program) else {
            throw StackFailure(.program, "there is no \(program); build it with 'make build'")
        }
        let started = Self.spawn([program] + arguments, environment: environment, input: nil, output: logPath)
        guard let started else { throw StackFailure(.program, "can't run \(program)") }
        processID = started
    }

    deinit { stop(deadlineMs: 0) }

    /// Whether it still runs; learns of its end.
    package var isRunning: Bool {
        reap()
        return ending == nil
    }

    /// Sends it a signal, if it still runs.
    package func send(signal: Int32) {
        if isRunning { _ = Glibc.kill(processID, signal) }
    }

    /// Ends it at once, as a crash would, and waits for that.
    package func kill() { stop(deadlineMs: 0) }

    /// Asks it to end and waits; after `deadlineMs` it is killed.
    /// - Returns: how it ended.
    @discardableResult
    package func stop(deadlineMs: UInt64) -> Ending? {
        guard isRunning else { return ending }
        _ = Glibc.kill(processID, SIGCONT)
        if deadlineMs > 0 {
            _ = Glibc.kill(processID, SIGTERM)
            if wait(deadlineMs: deadlineMs) { return ending }
        }
        _ = Glibc.kill(processID, SIGKILL)
        _ = wait(deadlineMs: 5_000)
        return ending
    }

    /// Waits for its end; false when it still runs after `deadlineMs`.
    package func wait(deadlineMs: UInt64) -> Bool {
        let end = Clock.monotonicMs + deadlineMs
        while isRunning {
            if Clock.monotonicMs >= end { return false }
            usleep(5_000)
        }
        return true
    }

    /// CPU time of the process so far in microseconds; nil once it has ended.
    package var cpuTimeUs: UInt64? {
        guard let fields = statFields(), fields.count > 12, let user = UInt64(fields[11]),
            let system = UInt64(fields[12])
        else { return nil }
        return (user + system) * 1_000_000 / UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    }

    /// Resident memory in bytes; nil once it has ended.
    package var residentBytes: UInt64? {
        guard let fields = statFields(), fields.count > 21, let pages = UInt64(fields[21]) else { return nil }
        return pages * UInt64(max(1, sysconf(Int32(_SC_PAGESIZE))))
    }

    /// The last lines of its log.
    package func logTail(lines: Int = 20) -> String {
        guard let text = try? Files.readText(path: logPath, maxBytes: 64 << 20) else { return "" }
        return text.split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    /// The fields of /proc/PID/stat after the program's name, the state first (proc(5)).
    private func statFields() -> [Substring]? {
        guard isRunning, let text = try? Files.readText(path: "/proc/\(processID)/stat", maxBytes: 4096),
            let close = text.lastIndex(of: ")")
        else { return nil }
        return text[text.index(after: close)...].split(separator: " ")
    }

    private func reap() {
        guard ending == nil else { return }
        var status: Int32 = 0
        guard unsafe waitpid(processID, &status, WNOHANG) == processID else { return }
        let signal = status & 0x7F
        ending = signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
    }
}

extension ChildProcess {
    /// Runs a program in a process group of its own, with no signal blocked and no input.
    static func spawn(
        _ words: [String], environment: [String: String], input: Int32?, output: String
    ) -> pid_t? {
        guard let program = words.first else { return nil }
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        if let input {
            unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        unsafe posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Ctrl-C in the terminal must reach this process only, which then stops the others in order.
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        let own = environmentLines(with: environment)
        var process: pid_t = 0
        let code = unsafe withCStrings(words) { arguments in
            unsafe withCStrings(own) { variables in
                unsafe posix_spawnp(&process, program, &actions, &attributes, arguments, variables)
            }
        }
        return code == 0 ? process : nil
    }

    private static func environmentLines(with more: [String: String]) -> [String] {
        var lines: [String] = []
        var entry = unsafe environ
        while let line = unsafe entry.pointee {
            let text = unsafe String(cString: line)
            let name = text.prefix { $0 != "=" }
            if more[String(name)] == nil { lines.append(text) }
            unsafe entry += 1
        }
        return lines + more.map { "\($0.key)=\($0.value)" }
    }

    private static func withCStrings<R>(
        _ words: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R
    ) -> R {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        defer { unsafe pointers.forEach { unsafe free($0) } }
        return unsafe body(pointers)
    }
}
