import Core
import EventLoop
import Glibc

/// Where log lines go: one thread writes them in batches, so that a slow terminal or pipe never holds up a
/// caller.
///
/// - Ownership: `close()` writes what waits and ends the thread; a sink that is dropped without it loses what
///   waits.
/// - Threading: any thread may write. A line that finds the queue full is dropped and counted.
package final class LogSink: Sendable {
    private let queue: BlockingQueue<[UInt8]>
    private let format: LogFormat
    private let limiter: Locked<RepetitionLimiter>
    private let written: Locked<UInt64>
    private let accepted = Locked<UInt64>(0)
    private let thread = Locked<WorkerThread?>(nil)

    /// Makes a sink that writes to a descriptor, which it doesn't close.
    ///
    /// At most `queueMax` lines wait for the writer; `perSecond` is that of `RepetitionLimiter`.
    package init(descriptor: Int32, format: LogFormat, queueMax: Int = 4_096, perSecond: UInt32 = 10) {
        let queue = BlockingQueue<[UInt8]>(capacity: queueMax)
        let written = Locked<UInt64>(0)
        self.queue = queue
        self.written = written
        self.format = format
        limiter = Locked(RepetitionLimiter(perSecond: perSecond))
        let started = WorkerThread.start(name: "log") {
            unsafe Self.run(queue, written: written) { unsafe Self.writeAll(descriptor, $0) }
        }
        thread.withLock { $0 = started }
    }

    /// Makes a sink that hands each line to a closure on the writer's thread, for tests and embedding.
    package init(
        format: LogFormat, queueMax: Int = 4_096, perSecond: UInt32 = 10,
        _ receive: @escaping @Sendable (String) -> Void
    ) {
        let queue = BlockingQueue<[UInt8]>(capacity: queueMax)
        let written = Locked<UInt64>(0)
        self.queue = queue
        self.written = written
        self.format = format
        limiter = Locked(RepetitionLimiter(perSecond: perSecond))
        let started = WorkerThread.start(name: "log") {
            unsafe Self.run(queue, written: written) { bytes in
                let text = unsafe String(decoding: bytes, as: UTF8.self)
                for line in text.split(separator: "\n") { receive(String(line)) }
            }
        }
        thread.withLock { $0 = started }
    }

    /// A sink on standard error: words on a terminal, JSON elsewhere or when `json` is true.
    ///
    /// Colours are used on a terminal unless `NO_COLOR` is set.
    package static func standardError(json: Bool = false) -> LogSink {
        let isTerminal = isatty(STDERR_FILENO) == 1
        let wantsColour = unsafe getenv("NO_COLOR") == nil
        return LogSink(
            descriptor: STDERR_FILENO, format: json || !isTerminal ? .json : .human(colours: wantsColour))
    }

    /// Lines that were dropped because the writer was behind.
    package var droppedCount: UInt64 { queue.refusedCount }

    /// Waits until everything accepted so far is written, or the deadline.
    package func flush(deadlineMs: UInt64 = 1_000) {
        let target = accepted.withLock { $0 }
        let end = Clock.monotonicMs + deadlineMs
        while written.withLock({ $0 }) < target, Clock.monotonicMs < end { usleep(500) }
    }

    /// Writes what waits within the deadline and ends the thread; later lines are dropped. Calling it twice
    /// is fine.
    package func close(deadlineMs: UInt64 = 1_000) {
        queue.close()
        flush(deadlineMs: deadlineMs)
        let running = thread.withLock { (held: inout WorkerThread?) -> WorkerThread? in
            defer { held = nil }
            return held
        }
        // A writer that hangs in a full pipe is left behind: joining it would hang the exit.
        if queue.count == 0, written.withLock({ $0 }) >= accepted.withLock({ $0 }) { running?.join() }
    }

    func write(
        _ level: LogLevel, subsystem: String, event: String, message: String, fields: LogFields
    ) {
        let now = Clock.wallMs
        let decision = limiter.withLock { $0.decide(event, nowMs: now) }
        guard case .write(let suppressed) = decision else { return }
        var line = ByteBuffer(capacity: 512)
        format.append(
            LogRecord(
                wallMs: now, level: level, subsystem: subsystem, event: event, message: message,
                fields: fields,
                suppressed: suppressed), to: &line)
        accepted.withLock { $0 &+= 1 }
        if !queue.push(line.array) { accepted.withLock { $0 &-= 1 } }
    }

    private static func run(
        _ queue: BlockingQueue<[UInt8]>, written: Locked<UInt64>, _ write: (UnsafeRawBufferPointer) -> Void
    ) {
        var lines: [[UInt8]] = []
        var batch = ByteBuffer(capacity: 16 << 10)
        while queue.take(into: &lines, timeoutMs: 60_000) {
            for line in lines {
                batch.append(array: line)
                if batch.count > 64 << 10 {
                    unsafe write(batch.bytes)
                    batch.clear()
                }
            }
            if !batch.isEmpty { unsafe write(batch.bytes) }
            batch.clear()
            let count = UInt64(lines.count)
            written.withLock { $0 &+= count }
        }
    }

    private static func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) {
        var rest = unsafe bytes
        while unsafe !rest.isEmpty {
            let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            let error = errno
            if count > 0 {
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } else if error == EAGAIN {
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe Glibc.poll(&poll, 1, 100)
            } else if error != EINTR {
                return
            }
        }
    }
}
