internal import EventLoop
internal import Glibc

/// A small shell that outlives this process: when this process dies, however it does, the shell kills the
/// processes it was told of and removes the run directory.
///
/// - Ownership: ends with ``close()`` or `deinit`, without touching anything.
/// - Threading: one thread.
final class StackWatcher {
    private var descriptor: Int32 = -1
    private var process: pid_t = -1

    /// Reads one process id a line; the end of the input means that the other end is gone.
    private static let script = """
        while read -r word id; do
          case "$word" in
            add) all="$all $id" ;;
            gone) new=; for one in $all; do [ "$one" = "$id" ] || new="$new $one"; done; all="$new" ;;
            quit) exit 0 ;;
          esac
        done
        [ -n "$all" ] && kill -9 $all
        [ -n "$1" ] && rm -rf "$1"
        """

    /// Starts the shell.
    /// - Parameter directory: removed when this process dies; empty to leave everything.
    /// - Throws: `.program` when it can't be run.
    init(directory: String) throws(StackFailure) {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw StackFailure(
                .program, "can't open a socket pair: \(SystemFailure(errno: errno, doing: ""))")
        }
        defer { Glibc.close(ends[0]) }
        descriptor = ends[1]
        let started = ChildProcess.spawn(
            ["sh", "-c", Self.script, "peal-watcher", directory], environment: [:], input: ends[0],
            output: "/dev/null")
        guard let started else { throw StackFailure(.program, "can't run sh") }
        process = started
    }

    deinit { close() }

    /// Has the process killed when this one dies.
    func add(_ id: Int32) { tell("add \(id)\n") }

    /// Forgets a process that has ended: its id may be another's soon.
    func forget(_ id: Int32) { tell("gone \(id)\n") }

    /// Ends the shell.
    func close() {
        guard descriptor >= 0 else { return }
        tell("quit 0\n")
        Glibc.close(descriptor)
        descriptor = -1
        var status: Int32 = 0
        let end = Clock.monotonicMs + 2_000
        while unsafe waitpid(process, &status, WNOHANG) == 0 {
            if Clock.monotonicMs > end { _ = Glibc.kill(process, SIGKILL) }
            usleep(1_000)
        }
    }

    /// Ends the shell's input as the death of this process would; for tests.
    func dropForTest() {
        Glibc.close(descriptor)
        descriptor = -1
    }

    private func tell(_ line: String) {
        var copy = line
        copy.withUTF8 { _ = unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
}
