internal import Glibc

/// A pthread mutex. Chosen over `Synchronization.Mutex`, which is slow under contention on Linux.
@safe
package final class Lock: Sendable {
    nonisolated(unsafe) private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init() {
        unsafe mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        let result = unsafe pthread_mutex_init(mutex, nil)
        precondition(result == 0, "pthread_mutex_init failed")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs `body` while holding the lock. Never call out to other components inside.
    package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body()
    }
}

/// A value guarded by a lock.
package final class Locked<Value>: @unchecked Sendable {
    // Every access goes through `lock`, which is what makes the unchecked conformance true.
    private let lock = Lock()
    private var value: Value

    package init(_ value: sending Value) { self.value = value }

    /// Runs `body` with exclusive access to the value.
    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        try lock.withLock { () throws(E) -> R in try body(&value) }
    }
}

/// A mailbox between threads: many push, one drains, whole batches change hands under one short lock.
package final class Inbox<Element: Sendable>: Sendable {
    private let items = Locked<[Element]>([])
    private let waker: Waker?

    /// Makes an inbox that wakes `waker` when it turns from empty to not empty.
    package init(waker: Waker?) { self.waker = waker }

    /// Adds one element. Any thread.
    package func push(_ element: Element) {
        let wasEmpty = items.withLock { (list: inout [Element]) -> Bool in
            list.append(element)
            return list.count == 1
        }
        if wasEmpty { waker?.wake() }
    }

    /// Adds a batch. Any thread.
    package func push(contentsOf batch: [Element]) {
        guard !batch.isEmpty else { return }
        let wasEmpty = items.withLock { (list: inout [Element]) -> Bool in
            let empty = list.isEmpty
            list.append(contentsOf: batch)
            return empty
        }
        if wasEmpty { waker?.wake() }
    }

    /// Swaps what has arrived into `batch`, which is emptied first and whose memory is reused.
    package func drain(into batch: inout [Element]) {
        batch.removeAll(keepingCapacity: true)
        items.withLock { (list: inout [Element]) in swap(&list, &batch) }
    }
}
