internal import EventLoop
internal import Glibc

/// A `redis-server` process of our own, on loopback and a Unix socket, in a temporary directory.
///
/// - Ownership: the process and the directory end with ``stop()``, with `deinit`, or when this process dies
///   in any way (a small watcher process waits on a socket for that).
/// - Threading: one thread at a time.
package final class PrivateRedisServer {
    /// What the server keeps across ``start()``s.
    package enum Persistence: Sendable {
        /// Nothing.
        case none
        /// Every write, synced before it is acknowledged.
        case appendOnly
    }

    /// The directory of the socket, the log and the data.
    package let directory: String
    /// The TCP port on 127.0.0.1.
    package private(set) var port: UInt16 = 0
    private let persistence: Persistence
    private let settings: [String]
    private var process: pid_t?
    private var watcher: pid_t?
    private var watcherSocket: Int32?

    /// The Unix socket's path.
    package var socketPath: String { directory + "/redis.sock" }
    /// The server over its Unix socket.
    package var endpoint: RedisEndpoint { RedisEndpoint(address: .unix(path: socketPath)) }
    /// The server over TCP.
    package var tcpEndpoint: RedisEndpoint { RedisEndpoint(address: .tcp(host: "127.0.0.1", port: port)) }
    /// The process id while it runs.
    package var processID: Int32? { process }

    /// Starts a server and waits until it answers.
    /// - Parameters:
    ///   - persistence: what it keeps across restarts.
    ///   - settings: further settings as on the command line, for example `["--maxmemory", "2mb"]`.
    /// - Throws: `.unavailable` when there is no `redis-server` or it doesn't answer within 10 s.
    package init(persistence: Persistence = .none, settings: [String] = []) throws(RedisFailure) {
        do throws(SystemFailure) {
            directory = try Files.makeTemporaryDirectory(prefix: "peal-redis")
        } catch {
            throw RedisFailure(.unavailable, "\(error)")
        }
        self.persistence = persistence
        self.settings = settings
        try start()
    }

    deinit { stop() }

    /// Starts the server again after ``kill()``, on the same port and directory. Without waiting it may still
    /// be reading its data when this returns.
    package func start(waitsUntilReady: Bool = true) throws(RedisFailure) {
        guard process == nil else { return }
        // The port is free when it is chosen; if somebody takes it before redis-server does, another is
        // tried.
        for attempt in 1...5 {
            if port == 0 { port = (try? Socket.freePort()) ?? 0 }
            process = Self.spawn(arguments, input: nil, output: directory + "/redis.log")
            guard let process else {
                throw RedisFailure(.unavailable, "can't run redis-server: install the package redis-server")
            }
            startWatcher(process)
            if !waitsUntilReady || waitUntilReady() { return }
            endProcess(SIGKILL)
            if attempt < 5 { port = 0 }
        }
        throw RedisFailure(.unavailable, "redis-server doesn't answer; its log is \(directory)/redis.log")
    }

    private var arguments: [String] {
        var words = [
            "redis-server", "--port", "\(port)", "--bind", "127.0.0.1", "--unixsocket", socketPath,
            "--unixsocketperm", "700", "--dir", directory, "--daemonize", "no", "--save", "",
            "--maxmemory-policy", "noeviction", "--hash-max-listpack-value", "4096",
            "--hash-max-listpack-entries", "512", "--tcp-backlog", "128",
        ]
        words += persistence == .appendOnly ? ["--appendonly", "yes", "--appendfsync", "always"] : []
        return words + settings
    }

    private func waitUntilReady() -> Bool {
        let deadline = Clock.monotonicMs + 10_000
        while Clock.monotonicMs < deadline {
            var status: Int32 = 0
            if let process, unsafe waitpid(process, &status, WNOHANG) == process {
                self.process = nil
                return false
            }
            if answersPing() { return true }
            usleep(5_000)
        }
        return false
    }

    private func answersPing() -> Bool {
        guard Files.exists(socketPath) else { return false }
        var options = RedisClientOptions(endpoint: endpoint)
        options.timeoutMs = 500
        do throws(RedisFailure) {
            let session = try RedisSession(options: options)
            defer { session.close() }
            return try session.command("PING").text == "PONG"
        } catch {
            return false
        }
    }

    /// Stops the server without a goodbye, as a crash would; its directory stays.
    package func kill() { endProcess(SIGKILL) }

    /// Suspends the process: connections stay open and nothing is answered.
    package func suspend() { if let process { _ = Glibc.kill(process, SIGSTOP) } }

    /// Lets a suspended process go on.
    package func resume() { if let process { _ = Glibc.kill(process, SIGCONT) } }

    /// Stops the server and removes its directory.
    package func stop() {
        endProcess(SIGTERM)
        Files.removeTree(directory)
    }

    private func endProcess(_ signal: Int32) {
        if let watcher {
            _ = Glibc.kill(watcher, SIGKILL)
            Self.reap(watcher, withinMs: 2_000)
        }
        watcher = nil
        if let watcherSocket { close(watcherSocket) }
        watcherSocket = nil
        guard let process else { return }
        // SIGKILL also ends a suspended process, which must not answer anything on its way out.
        if signal != SIGKILL { _ = Glibc.kill(process, SIGCONT) }
        _ = Glibc.kill(process, signal)
        if !Self.reap(process, withinMs: 3_000) {
            _ = Glibc.kill(process, SIGKILL)
            Self.reap(process, withinMs: 5_000)
        }
        self.process = nil
    }

    @discardableResult
    private static func reap(_ process: pid_t, withinMs: UInt64) -> Bool {
        let deadline = Clock.monotonicMs + withinMs
        var status: Int32 = 0
        while unsafe waitpid(process, &status, WNOHANG) == 0 {
            if Clock.monotonicMs > deadline { return false }
            usleep(2_000)
        }
        return true
    }

}

extension PrivateRedisServer {
    /// A shell that reads from a socket whose other end only we have: it wakes when we are gone, however we
    /// went.
    private func startWatcher(_ process: pid_t) {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return }
        let script = "read _; kill -9 \"$1\"; rm -rf \"$2\""
        watcher = Self.spawn(
            ["sh", "-c", script, "peal-redis-watcher", "\(process)", directory], input: ends[0],
            output: "/dev/null")
        close(ends[0])
        watcherSocket = ends[1]
    }

    /// Runs a program of the search path in a process group of its own, with no signal blocked.
    private static func spawn(_ words: [String], input: Int32?, output: String) -> pid_t? {
        guard let name = words.first else { return nil }
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
        // Ctrl-C in the terminal must reach us only: we stop the server when nobody needs it any more.
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var process: pid_t = 0
        let code = unsafe posix_spawnp(&process, name, &actions, &attributes, arguments, environ)
        return code == 0 ? process : nil
    }
}
