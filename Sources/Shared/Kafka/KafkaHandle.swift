import CRdkafka
import Glibc
import Synchronization

/// Owner of a `rd_kafka_t`.
///
/// Destroying a client joins its threads and waits for every reference, without a limit of its own. `close`
/// does it on a helper thread and waits a bounded time; what hangs is left behind, counted in `abandoned`.
@safe
final class KafkaHandle {
    /// Clients whose destruction didn't end in time, in this process.
    static let abandoned = Atomic<Int>(0)

    private(set) var pointer: OpaquePointer?

    init(_ pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }

    deinit { close(patienceMs: 3000) }

    /// Destroys the client, waiting at most `patienceMs`; nil leaves it to the helper thread. Every message,
    /// event, list, topic and queue of it must be gone.
    func close(patienceMs: Int?) {
        guard let client = unsafe pointer else { return }
        unsafe pointer = nil
        let task = unsafe DestroyTask(client)
        guard task.start() else {
            unsafe rd_kafka_destroy_flags(client, peal_rk_destroy_no_close())
            return
        }
        if let patienceMs, !task.wait(patienceMs: patienceMs) { Self.abandoned.add(1, ordering: .relaxed) }
    }
}

/// One destruction on a thread of its own.
@safe
private final class DestroyTask: Sendable {
    private let client: UInt
    private let isDone = Atomic<Bool>(false)

    init(_ client: OpaquePointer) { self.client = UInt(bitPattern: client) }

    func start() -> Bool {
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(self)
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                let task = unsafe Unmanaged<DestroyTask>.fromOpaque(context).takeRetainedValue()
                unsafe rd_kafka_destroy_flags(
                    OpaquePointer(bitPattern: task.client), peal_rk_destroy_no_close())
                task.isDone.store(true, ordering: .releasing)
                return nil
            }, context.toOpaque())
        guard result == 0 else {
            unsafe context.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    func wait(patienceMs: Int) -> Bool {
        let deadline = Deadline(afterMs: patienceMs)
        while !isDone.load(ordering: .acquiring) {
            if deadline.remainingMs == 0 { return false }
            usleep(500)
        }
        return true
    }
}

/// A point on the monotonic clock by which a wait must end.
struct Deadline {
    private let atMs: UInt64

    init(afterMs: Int) { atMs = Self.nowMs &+ UInt64(max(0, afterMs)) }

    static var nowMs: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(max(0, time.tv_sec)) &* 1000 &+ UInt64(max(0, time.tv_nsec)) / 1_000_000
    }

    /// What is left, at least 0, as librdkafka takes it.
    var remainingMs: Int32 {
        let now = Self.nowMs
        return now >= atMs ? 0 : Int32(clamping: atMs - now)
    }
}

/// Owner of a `rd_kafka_event_t`.
@safe
struct EventOwner: ~Copyable {
    let pointer: OpaquePointer
    let type: Int32

    /// Takes the queue's next event, waiting at most `timeoutMs`; nil when there is none.
    static func next(of queue: OpaquePointer, timeoutMs: Int32) -> EventOwner? {
        guard let event = unsafe rd_kafka_queue_poll(queue, timeoutMs) else { return nil }
        return unsafe EventOwner(pointer: event, type: rd_kafka_event_type(event))
    }

    deinit { unsafe rd_kafka_event_destroy(pointer) }

    var error: KafkaErrorCode { unsafe KafkaErrorCode(rd_kafka_event_error(pointer)) }

    /// The event as a report, when it is an error, a log line or statistics.
    func report() -> KafkaEvent? {
        switch type {
        case RD_KAFKA_EVENT_ERROR:
            let text = unsafe rd_kafka_event_error_string(pointer).map { unsafe String(cString: $0) } ?? ""
            let isFatal = unsafe rd_kafka_event_error_is_fatal(pointer) != 0
            return KafkaEvent(kind: isFatal ? .fatal : .error, code: error, message: text)
        case RD_KAFKA_EVENT_LOG:
            var facility: UnsafePointer<CChar>?
            var line: UnsafePointer<CChar>?
            var level: Int32 = 0
            guard unsafe rd_kafka_event_log(pointer, &facility, &line, &level) == 0 else { return nil }
            let text = unsafe line.map { unsafe String(cString: $0) } ?? ""
            return KafkaEvent(kind: .log(level: Int(level)), code: .none, message: text)
        case RD_KAFKA_EVENT_STATS:
            let text = unsafe rd_kafka_event_stats(pointer).map { unsafe String(cString: $0) } ?? ""
            return KafkaEvent(kind: .statistics, code: .none, message: text)
        default: return nil
        }
    }
}

/// Interrupts a blocking poll from any thread.
package final class KafkaWaker: Sendable {
    // The queue's address; 0 once it is gone. The lock keeps the queue alive for the length of a wake.
    private let queue: Mutex<UInt>

    init(_ queue: OpaquePointer) { self.queue = Mutex(UInt(bitPattern: queue)) }

    /// Makes the poll under way, or the next one, return at once.
    package func wake() {
        queue.withLock { address in
            guard let queue = unsafe OpaquePointer(bitPattern: address) else { return }
            unsafe rd_kafka_queue_yield(queue)
        }
    }

    func retire() { queue.withLock { $0 = 0 } }
}
