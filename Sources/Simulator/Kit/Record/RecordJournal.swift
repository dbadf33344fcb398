import Core
import EventLoop
import Glibc

/// A file that gets each request as one line of JSON before the request is answered.
///
/// A line is in the kernel's hands before the answer is, so it outlives a process that is killed.
/// - Threading: the simulator's loop.
/// - Cost: one system call a request.
final class RecordJournal {
    private let descriptor: Int32
    private var line = ByteBuffer(capacity: 1024)

    /// Opens the file for appending; creates it for its owner alone.
    /// - Throws: `.files` when it can't be opened.
    init(path: String) throws(SimulatorFailure) {
        descriptor = unsafe path.withCString {
            unsafe open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else {
            throw SimulatorFailure(
                .files, "Cannot open the record file: \(SystemFailure(errno: errno, doing: "open \(path)")).")
        }
    }

    deinit { close(descriptor) }

    /// Appends requests. A full disk is not reported: the record in memory has them all the same.
    func append(_ requests: [RecordedRequest]) {
        for request in requests {
            line.clear()
            request.append(json: &line)
            line.append("\n")
            _ = unsafe write(descriptor, line.bytes.baseAddress, line.count)
        }
    }
}
