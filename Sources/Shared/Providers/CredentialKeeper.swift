internal import Decisions
internal import EventLoop
package import HTTP2
package import Logging
package import Redis

/// How a keeper works.
package struct KeeperOptions: Sendable {
    /// Trusted for token endpoints; nil for the system's authorities.
    package var caFile: String?
    /// Whether the token endpoint's certificate is checked.
    package var verifiesPeer = true
    /// The way to the token endpoints; nil for what the environment says.
    package var proxy: HTTP2Proxy?
    /// The age at which APNs provider tokens are renewed.
    package var appleTokenAgeMs = MintingPolicy.standardAgeMs
    /// Where pods share their tokens; nil keeps them to this process.
    package var redis: RedisClientOptions?
    /// Longest answer of that Redis in milliseconds, after which this process goes on by itself. A stop
    /// waits for the call in progress, and so does every other credential.
    package var redisTimeoutMs: UInt64 = 500
    /// This process's name in what it shares.
    package var pod = "peal"

    /// The defaults: nothing is shared.
    package init() {}
}

/// Keeps every credential's `authorization` value fresh, on one thread of its own.
///
/// One signer a key and one exchange at a time an account: single flight by construction within the
/// process, and by a lock in Redis among processes. The hot path never waits for it; it reads ``Bearer``
/// snapshots.
package final class CredentialKeeper: Sendable {
    private let thread: WorkerThread
    private let shared: Shared

    private final class Shared: Sendable {
        let stopping = Locked(false)
        let waker = Locked<Waker?>(nil)
        let additions: Inbox<Work> = Inbox(waker: nil)
        let status = Locked(KeeperStatus())
    }

    enum Work: Sendable {
        case apns(Bearer, APNsKey)
        case google(Bearer, ServiceAccount, tokenURI: String?)
        case drop(Bearer)
    }

    /// Starts the thread.
    package init(_ options: KeeperOptions, logger: Logger) {
        let shared = Shared()
        self.shared = shared
        thread = WorkerThread.start(name: "credentials") {
            guard let loop = try? EventLoop() else {
                logger.error(
                    "credentials.no_descriptor",
                    "No descriptors are left for the credentials thread; raise ulimit -n.")
                return
            }
            shared.waker.withLock { $0 = loop.waker }
            let body = KeeperLoop(loop: loop, options: options, logger: logger)
            var added: [Work] = []
            while !shared.stopping.withLock({ $0 }) {
                shared.additions.drain(into: &added)
                for work in added { body.add(work) }
                let wait = body.renewDue()
                let status = body.status
                shared.status.withLock { $0 = status }
                loop.runOnce(maxWaitMs: wait)
            }
        }
    }

    /// Takes an APNs key over; the bearer gets its value within milliseconds, or once Redis has been asked.
    package func keep(_ bearer: Bearer, _ key: APNsKey) { add(.apns(bearer, key)) }

    /// Takes a service account over. `tokenURI` replaces the address in the account's file.
    package func keep(_ bearer: Bearer, _ account: ServiceAccount, tokenURI: String?) {
        add(.google(bearer, account, tokenURI: tokenURI))
    }

    /// Renews a credential no longer.
    package func drop(_ bearer: Bearer) {
        bearer.markDropped()
        add(.drop(bearer))
    }

    /// What the keeper shows of itself, as of its last pass.
    package var status: KeeperStatus { shared.status.withLock { $0 } }

    func add(_ work: Work) {
        shared.additions.push(work)
        shared.waker.withLock { $0 }?.wake()
    }

    /// Ends the thread; waits at most for one exchange in flight.
    package func stop() {
        shared.stopping.withLock { $0 = true }
        shared.waker.withLock { $0 }?.wake()
        thread.join()
    }
}
