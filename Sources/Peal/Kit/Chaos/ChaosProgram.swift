internal import EventLoop
internal import Glibc

/// One life of a process. Times are milliseconds since 1970.
struct ChaosLife: Sendable, Equatable {
    enum Ending: Sendable, Equatable {
        case running
        /// We killed it.
        case killed
        /// We asked it to end, and it did with this code.
        case stopped(code: Int32)
        /// It did not end in time when it was asked to.
        case hung
        /// It ended by itself.
        case fell(String)
    }

    let program: String
    /// The worker's number; -1 for other programs.
    let slot: Int
    let startMs: Int64
    var endMs = Int64.max
    var ending = Ending.running
    /// When it was suspended.
    var pauses: [ClosedRange<Int64>] = []
}

/// A program that is started again and again, and what became of it each time.
///
/// - Threading: one thread.
final class ChaosProgram {
    let name: String
    let slot: Int
    private(set) var lives: [ChaosLife] = []
    /// The most resident memory seen, in bytes.
    private(set) var peakBytes: UInt64 = 0
    private(set) var child: ChildProcess?
    private let program: String
    private let arguments: [String]
    private let environment: [String: String]
    private let logPath: String
    private let watcher: StackWatcher
    private var pausedMs: Int64?
    private var stopDeadlineMs: UInt64?

    init(
        name: String, slot: Int = -1, program: String, arguments: [String],
        environment: [String: String] = [:], directory: String, watcher: StackWatcher
    ) {
        self.name = name
        self.slot = slot
        self.program = program
        self.arguments = arguments
        self.environment = environment
        logPath = "\(directory)/\(name).log"
        self.watcher = watcher
    }

    /// Starts it, unless it runs.
    func start() throws(StackFailure) {
        guard child == nil else { return }
        let process = try ChildProcess(
            name: name, program: program, arguments: arguments, environment: environment, logPath: logPath)
        watcher.add(process.processID)
        child = process
        lives.append(ChaosLife(program: name, slot: slot, startMs: Clock.wallMs))
    }

    /// Ends it at once, as a crash would.
    func kill() {
        guard let child, lives.last?.ending == .running, child.isRunning else { return poll() }
        child.kill()
        ended(.killed)
    }

    /// Asks it to end; ``poll()`` learns that it has.
    func askToStop(withinMs: UInt64) {
        poll()
        guard let child else { return }
        resume()
        child.send(signal: SIGTERM)
        stopDeadlineMs = Clock.monotonicMs + withinMs
    }

    /// Suspends it.
    func pause() {
        guard child != nil, pausedMs == nil else { return }
        pausedMs = Clock.wallMs
        child?.send(signal: SIGSTOP)
    }

    /// Lets it go on.
    func resume() {
        guard let since = pausedMs else { return }
        pausedMs = nil
        child?.send(signal: SIGCONT)
        if !lives.isEmpty { lives[lives.count - 1].pauses.append(since...Clock.wallMs) }
    }

    /// Learns of its end.
    func poll() {
        guard let child else { return }
        if child.isRunning {
            if let deadline = stopDeadlineMs, Clock.monotonicMs > deadline {
                child.kill()
                ended(.hung)
            }
        } else if stopDeadlineMs != nil, case .exited(let code) = child.ending {
            ended(.stopped(code: code))
        } else {
            ended(.fell(child.ending.map { "\($0)" } ?? "unknown"))
        }
    }

    /// Reads how much memory it has.
    func weigh() { peakBytes = max(peakBytes, child?.residentBytes ?? 0) }

    /// Whether it ended by itself.
    var hasFallen: Bool {
        if case .fell = lives.last?.ending { true } else { false }
    }

    /// The end of its log.
    var logTail: String {
        (try? Files.readText(path: logPath, maxBytes: 256 << 20))?.suffix(2_000).description ?? ""
    }

    private func ended(_ ending: ChaosLife.Ending) {
        if let child { watcher.forget(child.processID) }
        child = nil
        stopDeadlineMs = nil
        guard !lives.isEmpty else { return }
        if let since = pausedMs { lives[lives.count - 1].pauses.append(since...Clock.wallMs) }
        pausedMs = nil
        lives[lives.count - 1].endMs = Clock.wallMs
        lives[lives.count - 1].ending = ending
    }
}
