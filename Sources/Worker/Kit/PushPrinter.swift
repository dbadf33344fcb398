internal import EventLoop
internal import Glibc

/// Prints pushes of apps without credentials, a line each, on a thread of its own so that a slow terminal
/// never holds a shard up. Beyond the bound lines are dropped and counted.
final class PushPrinter: Sendable {
    static let linesMax = 10_000
    private struct Pending {
        var lines: [String] = []
        var dropped: UInt64 = 0
        var isStopped = false
    }

    private let pending = Locked(Pending())
    private let thread: WorkerThread
    private let waker: Waker?

    init() {
        let loop = try? EventLoop()
        waker = loop?.waker
        let pending = pending
        thread = WorkerThread.start(name: "printer") { [loop = Transfer(loop)] in
            while true {
                loop.value?.runOnce(maxWaitMs: 1000)
                let batch = pending.withLock { (state: inout Pending) -> Pending in
                    let copy = state
                    state.lines.removeAll()
                    state.dropped = 0
                    return copy
                }
                var text = batch.lines.isEmpty ? "" : batch.lines.joined(separator: "\n") + "\n"
                if batch.dropped > 0 { text += "(\(batch.dropped) pushes were not printed)\n" }
                PushPrinter.put(text)
                if batch.isStopped { return }
            }
        }
    }

    /// Queues one line. Any thread.
    func write(_ line: String) {
        let isFirst = pending.withLock { (state: inout Pending) -> Bool in
            guard state.lines.count < Self.linesMax else {
                state.dropped &+= 1
                return false
            }
            state.lines.append(line)
            return state.lines.count == 1
        }
        if isFirst { waker?.wake() }
    }

    /// Prints what is queued and ends the thread.
    func stop() {
        pending.withLock { $0.isStopped = true }
        waker?.wake()
        thread.join()
    }

    private static func put(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(1, $0.baseAddress, $0.count) }
            if count <= 0 { return }
            bytes = bytes.dropFirst(count)
        }
    }
}

/// Carries a value that belongs to one thread to that thread, once, at its start.
struct Transfer<Value>: @unchecked Sendable {
    // The sender lets go of the value before the receiver starts, so there is never more than one user.
    let value: Value
    init(_ value: Value) { self.value = value }
}
