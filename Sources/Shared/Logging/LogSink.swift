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
    /// What the callers and the writer share.
    private final class Shared: Sendable {
        let queue: BlockingQueue<[UInt8]>
        let format: LogFormat
        let limiter: Locked<RepetitionLimiter>
        let written = Locked<UInt64>(0)
        let isClosing = Locked(false)

        init(_ format: LogFormat, queueMax: Int, burst: UInt32) {
            queue = BlockingQueue(capacity: queueMax)
            limiter = Locked(RepetitionLimiter(burst: burst))
            self.format = format
        }
    }

    private let shared: Shared
    private let accepted = Locked<UInt64>(0)
    private let thread = Locked<WorkerThread?>(nil)
    /// How often the writer looks for counts that are owed, in ms.
    private static let tickMs: UInt64 = 500

    /// Makes a sink that writes to a descriptor, which it doesn't close.
    ///
    /// At most `queueMax` lines wait for the writer; `burst` is that of ``RepetitionLimiter``.
    package init(descriptor: Int32, format: LogFormat, queueMax: Int = 4_096, burst: UInt32 = 10) {
        let shared = Shared(format, queueMax: queueMax, burst: burst)
        self.shared = shared
        let started = WorkerThread.start(name: "log") {
            unsafe Self.run(shared) { unsafe Self.writeAll(descriptor, $0) }
        }
        thread.withLock { $0 = started }
    }

    /// Makes a sink that hands each line to a closure on the writer's thread, for tests and embedding.
    package init(
        format: LogFormat, queueMax: Int = 4_096, burst: UInt32 = 10,
        _ receive: @escaping @Sendable (String) -> Void
    ) {
        let shared = Shared(format, queueMax: queueMax, burst: burst)
        self.shared = shared
        let started = WorkerThread.start(name: "log") {
            unsafe Self.run(shared) { bytes in
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
    package var droppedCount: UInt64 { shared.queue.refusedCount }

    /// Lines that were left out because they said what others had said; their number stands in later lines.
    package var suppressedCount: UInt64 { shared.limiter.withLock { $0.suppressedTotal } }

    /// Waits until everything accepted so far is written, or the deadline.
    package func flush(deadlineMs: UInt64 = 1_000) {
        let target = accepted.withLock { $0 }
        let end = Clock.monotonicMs + deadlineMs
        while shared.written.withLock({ $0 }) < target, Clock.monotonicMs < end { usleep(500) }
    }

    /// Writes what waits within the deadline and ends the thread; later lines are dropped. Calling it twice
    /// is fine.
    package func close(deadlineMs: UInt64 = 1_000) {
        shared.isClosing.withLock { $0 = true }
        shared.queue.close()
        flush(deadlineMs: deadlineMs)
        let running = thread.withLock { (held: inout WorkerThread?) -> WorkerThread? in
            defer { held = nil }
            return held
        }
        // A writer that hangs in a full pipe is left behind: joining it would hang the exit.
        if shared.queue.count == 0, shared.written.withLock({ $0 }) >= accepted.withLock({ $0 }) {
            running?.join()
        }
    }

    /// Writes a line, unless it is one too many of its kind. `detail` tells it from others of its event;
    /// nil writes it in any case. `most` are written in a second, when it isn't nil. `build` makes the
    /// message and the fields, if they are needed.
    func write(
        _ level: LogLevel, subsystem: String, event: String, detail: UInt64?,
        most: UInt32? = nil, _ build: () -> (message: String, fields: LogFields)
    ) {
        let now = Clock.wallMs
        let key = detail.map { RepetitionLimiter.Key(event: Hash64.of(text: event), detail: $0) }
        var suppressed: UInt64 = 0
        if let key {
            let decision = shared.limiter.withLock { $0.decide(key, nowMs: now, most: most) }
            guard case .write(let count) = decision else { return }
            suppressed = count
        }
        let (message, fields) = build()
        let record = LogRecord(
            wallMs: now, level: level, subsystem: subsystem, event: event, message: message, fields: fields,
            suppressed: suppressed)
        if let key { shared.limiter.withLock { $0.keep(record, for: key, nowMs: now) } }
        var line = ByteBuffer(capacity: 512)
        shared.format.append(record, to: &line)
        accepted.withLock { $0 &+= 1 }
        if !shared.queue.push(line.array) { accepted.withLock { $0 &-= 1 } }
    }

    private static func run(_ shared: Shared, _ write: (UnsafeRawBufferPointer) -> Void) {
        var lines: [[UInt8]] = []
        var batch = ByteBuffer(capacity: 16 << 10)
        var toldDropped: UInt64 = 0
        var nextTellMs: UInt64 = 0
        var isOpen = true
        while isOpen {
            isOpen = shared.queue.take(into: &lines, timeoutMs: tickMs)
            for line in lines {
                batch.append(array: line)
                if batch.count > 64 << 10 {
                    unsafe write(batch.bytes)
                    batch.clear()
                }
            }
            let isLast = shared.isClosing.withLock { $0 }
            if isLast || Clock.monotonicMs >= nextTellMs {
                nextTellMs = Clock.monotonicMs + tickMs
                tell(shared, &toldDropped, isLast: isLast, into: &batch)
            }
            if !batch.isEmpty { unsafe write(batch.bytes) }
            batch.clear()
            let count = UInt64(lines.count)
            shared.written.withLock { $0 &+= count }
        }
    }

    /// Appends what the writer itself has to say: counts that are owed, and lines that were dropped.
    private static func tell(
        _ shared: Shared, _ toldDropped: inout UInt64, isLast: Bool, into batch: inout ByteBuffer
    ) {
        let now = Clock.wallMs
        for record in shared.limiter.withLock({ $0.takeOwed(nowMs: now, isLast: isLast) }) {
            shared.format.append(record, to: &batch)
        }
        let dropped = shared.queue.refusedCount
        guard dropped > toldDropped, !isLast else { return }
        let record = LogRecord(
            wallMs: now, level: .warning, subsystem: "log", event: "log.dropped",
            message: "Lines were lost: whatever reads this log is too slow. Raise log levels or read faster.",
            fields: ["lines": .number(dropped - toldDropped)], suppressed: 0)
        toldDropped = dropped
        shared.format.append(record, to: &batch)
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
