internal import CLinux
internal import Glibc
internal import Synchronization

/// One named operating-system thread. Nothing here uses the cooperative pool, so blocking in it is allowed.
package final class WorkerThread: Sendable {
    private let handle: pthread_t
    private let isJoined = Atomic(false)

    private init(handle: pthread_t) { self.handle = handle }

    /// Starts a thread that runs `body` and ends with it. At most 15 bytes of the name reach the kernel.
    package static func start(name: String, _ body: sending @escaping () -> Void) -> WorkerThread {
        let box = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        var handle = pthread_t()
        let result = unsafe pthread_create(&handle, nil, threadMain, box.toOpaque())
        precondition(result == 0, "pthread_create failed")
        return WorkerThread(handle: handle)
    }

    deinit {
        // The system keeps what a thread leaves behind until somebody joins it, unless it is told that nobody
        // will.
        if !isJoined.load(ordering: .acquiring) { pthread_detach(handle) }
    }

    /// Waits until the thread has ended. Later calls return at once.
    package func join() {
        let wasJoined = isJoined.exchange(true, ordering: .acquiringAndReleasing)
        if !wasJoined { pthread_join(handle, nil) }
    }

    fileprivate final class Start {
        let name: String
        let body: () -> Void

        init(name: String, body: @escaping () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

private func threadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    let start = unsafe Unmanaged<WorkerThread.Start>.fromOpaque(context).takeRetainedValue()
    unsafe start.name.withCString { unsafe peal_thread_name($0) }
    start.body()
    return nil
}
