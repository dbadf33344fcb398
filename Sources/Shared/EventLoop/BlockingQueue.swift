internal import Glibc

/// A bounded queue between threads whose consumer blocks: for threads that have no event loop.
///
/// - Threading: any number of producers, and of consumers that all call `next`; one that calls `take`.
///   Producers never wait.
@safe
package final class BlockingQueue<Element: Sendable>: @unchecked Sendable {
    // `items`, `isClosed` and `refused` are guarded by `mutex`; the two pointers never change.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var items: [Element] = []
    private var isClosed = false
    private var refused: UInt64 = 0
    private let capacity: Int

    /// Makes a queue that holds at most `capacity` elements.
    package init(capacity: Int) {
        self.capacity = max(1, capacity)
        unsafe mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// Adds an element; false when the queue is full or closed.
    package func push(_ element: Element) -> Bool {
        locked {
            guard !isClosed, items.count < capacity else {
                refused &+= 1
                return false
            }
            items.append(element)
            unsafe pthread_cond_signal(condition)
            return true
        }
    }

    /// Waits until there is something or `timeoutMs` has passed, then swaps everything into `batch`, emptied
    /// first.
    /// - Returns: false once the queue is closed and empty.
    package func take(into batch: inout [Element], timeoutMs: UInt64) -> Bool {
        batch.removeAll(keepingCapacity: true)
        let end = Clock.monotonicNs &+ timeoutMs &* 1_000_000
        return locked {
            var until = timespec(tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
            while items.isEmpty, !isClosed {
                if unsafe pthread_cond_timedwait(condition, mutex, &until) == ETIMEDOUT { break }
            }
            swap(&items, &batch)
            return !(isClosed && batch.isEmpty)
        }
    }

    /// What `next` found.
    package enum Next {
        case element(Element)
        /// The time passed.
        case nothing
        /// The queue is closed and empty.
        case closed
    }

    /// Waits until there is something or `timeoutMs` has passed, and takes the first element.
    package func next(timeoutMs: UInt64) -> Next {
        let end = Clock.monotonicNs &+ timeoutMs &* 1_000_000
        return locked {
            var until = timespec(tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
            while items.isEmpty, !isClosed {
                if unsafe pthread_cond_timedwait(condition, mutex, &until) == ETIMEDOUT { break }
            }
            if !items.isEmpty { return .element(items.removeFirst()) }
            return isClosed ? .closed : .nothing
        }
    }

    /// Refuses further elements; the consumer still gets what is there.
    package func close() {
        locked {
            isClosed = true
            unsafe pthread_cond_broadcast(condition)
        }
    }

    /// Elements that wait.
    package var count: Int { locked { items.count } }

    /// Elements that `push` refused so far.
    package var refusedCount: UInt64 { locked { refused } }

    private func locked<R>(_ body: () -> R) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body()
    }
}
