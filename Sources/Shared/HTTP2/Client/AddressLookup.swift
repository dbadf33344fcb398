internal import EventLoop

/// Looks a host name up on a thread of its own, anew for each connect, as Apple asks.
final class AddressLookup: WakeHandler {
    private let inbox: Inbox<Result<String, SystemFailure>>
    // Strong, as a weak reference would slow every use of the pool; `detach` breaks the cycle.
    private var pool: HTTP2Pool?
    private var results: [Result<String, SystemFailure>] = []

    init(waker: Waker) { inbox = Inbox(waker: waker) }

    func attach(loop: EventLoop, pool: HTTP2Pool) {
        self.pool = pool
        loop.addWakeHandler(self)
    }

    func detach(loop: EventLoop) {
        pool = nil
        loop.removeWakeHandler(self)
    }

    /// The host itself when it is a numeric address already.
    static func numeric(_ host: String) -> String? {
        let isV4 = host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || ($0 >= 0x30 && $0 <= 0x39) }
        return isV4 || host.contains(":") ? host : nil
    }

    /// Starts a look-up; the pool hears of it on its loop.
    func start(_ host: String) {
        let inbox = self.inbox
        _ = WorkerThread.start(name: "peal-resolve") {
            do throws(SystemFailure) {
                inbox.push(.success(try Resolver.resolve(host)))
            } catch {
                inbox.push(.failure(error))
            }
        }
    }

    func woken() {
        inbox.drain(into: &results)
        for result in results { pool?.resolved(result) }
    }
}
