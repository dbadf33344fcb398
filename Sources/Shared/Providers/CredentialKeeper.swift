internal import Core
internal import Decisions
internal import EventLoop
package import HTTP2
internal import HTTPClient
package import Logging
internal import Security

/// Keeps every credential's `authorization` value fresh, on one thread of its own.
///
/// One signer a key and one exchange at a time an account: single flight by construction. The hot path never
/// waits for it; it reads ``Bearer`` snapshots.
package final class CredentialKeeper: Sendable {
    private let thread: WorkerThread
    private let shared: Shared

    private final class Shared: Sendable {
        let stopping = Locked(false)
        let waker = Locked<Waker?>(nil)
        let additions: Inbox<Work> = Inbox(waker: nil)
    }

    fileprivate enum Work: Sendable {
        case apns(Bearer, APNsKey)
        case google(Bearer, ServiceAccount, tokenURI: String?)
    }

    /// Starts the thread. `caFile` is trusted for token endpoints, nil for the system's authorities; they are
    /// reached through `proxy`, nil for what the environment says.
    package init(
        caFile: String?, verifiesPeer: Bool = true, proxy: HTTP2Proxy? = nil,
        appleTokenAgeMs: Int64 = MintingPolicy.standardAgeMs,
        logger: Logger
    ) {
        let shared = Shared()
        self.shared = shared
        thread = WorkerThread.start(name: "credentials") {
            var options = HTTPClientOptions()
            options.caFile = caFile
            options.verifiesPeer = verifiesPeer
            if let proxy {
                options.proxy =
                    "http://\(proxy.host.contains(":") ? "[\(proxy.host)]" : proxy.host):\(proxy.port)"
                options.proxyCredentials = proxy.credentials
            }
            options.connectTimeoutMs = 5000
            options.totalTimeoutMs = 10_000
            guard let loop = try? EventLoop() else {
                logger.error(
                    "credentials.no_descriptor",
                    "No descriptors are left for the credentials thread; raise ulimit -n.")
                return
            }
            shared.waker.withLock { $0 = loop.waker }
            let body = KeeperLoop(
                loop: loop, client: HTTPClient(options), appleTokenAgeMs: appleTokenAgeMs, logger: logger)
            while !shared.stopping.withLock({ $0 }) {
                shared.additions.drain(into: &body.added)
                for work in body.added { body.add(work) }
                let wait = body.renewDue()
                loop.runOnce(maxWaitMs: wait)
            }
        }
    }

    /// Takes an APNs key over; the bearer gets its value within milliseconds.
    package func keep(_ bearer: Bearer, _ key: APNsKey) { add(.apns(bearer, key)) }

    /// Takes a service account over. `tokenURI` replaces the address in the account's file.
    package func keep(_ bearer: Bearer, _ account: ServiceAccount, tokenURI: String?) {
        add(.google(bearer, account, tokenURI: tokenURI))
    }

    private func add(_ work: Work) {
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

/// The keeper's state on its own thread.
private final class KeeperLoop {
    private struct AppleEntry {
        let bearer: Bearer
        let key: APNsKey
        var policy: MintingPolicy
    }

    private struct GoogleEntry {
        let bearer: Bearer
        var tokens: GoogleTokens
    }

    private let loop: EventLoop
    private let client: HTTPClient
    private let appleTokenAgeMs: Int64
    private let logger: Logger
    private var apple: [AppleEntry] = []
    private var google: [GoogleEntry] = []
    var added: [CredentialKeeper.Work] = []

    init(loop: EventLoop, client: HTTPClient, appleTokenAgeMs: Int64, logger: Logger) {
        self.appleTokenAgeMs = appleTokenAgeMs
        self.loop = loop
        self.client = client
        self.logger = logger
    }

    func add(_ work: CredentialKeeper.Work) {
        switch work {
        case .apns(let bearer, let key):
            bearer.attach(loop.waker)
            apple.append(
                AppleEntry(bearer: bearer, key: key, policy: MintingPolicy(renewalAgeMs: appleTokenAgeMs)))
        case .google(let bearer, let account, let tokenURI):
            bearer.attach(loop.waker)
            google.append(
                GoogleEntry(bearer: bearer, tokens: GoogleTokens(account: account, tokenURI: tokenURI)))
        }
    }

    /// Renews what is due and returns how long nothing else is, in milliseconds. It makes one exchange at
    /// most, the longest overdue, so that a token endpoint that hangs holds neither the APNs tokens nor a
    /// stop up for longer than that.
    func renewDue() -> Int {
        var next = Int64(Clock.monotonicMs) + 60_000
        for index in apple.indices { next = min(next, renewApple(index)) }
        for index in google.indices { noteRefusal(index) }
        let first = google.indices.min {
            google[$0].tokens.nextCheckSteadyMs < google[$1].tokens.nextCheckSteadyMs
        }
        if let first { renewGoogle(first) }
        for entry in google { next = min(next, entry.tokens.nextCheckSteadyMs) }
        return next == .min ? 0 : Int(clamping: max(0, next - Int64(Clock.monotonicMs)))
    }

    private func renewApple(_ index: Int) -> Int64 {
        let steady = Int64(Clock.monotonicMs)
        let wall = Clock.wallMs
        if apple[index].bearer.takeHold() { apple[index].policy.hold(steadyMs: steady) }
        let isRefused = apple[index].bearer.takeRefusal()
        switch apple[index].policy.decide(wallMs: wall, steadyMs: steady, isRefused: isRefused) {
        case .keep(let until): return until
        case .mint:
            let entry = apple[index]
            do throws(SecurityFailure) {
                let token = try JWT.appleProviderToken(
                    keyID: entry.key.keyID, teamID: entry.key.teamID, issuedAtS: wall / 1000,
                    key: entry.key.key)
                apple[index].policy.minted(wallMs: wall, steadyMs: steady, random: RandomSource.seed())
                entry.bearer.set(authorization: Array("bearer \(token)".utf8))
                logger.info(
                    "apns.minted", "Minted a provider token.", ["credential": .text(entry.bearer.name)])
                return steady
            } catch {
                entry.bearer.set(fault: .noCredential, "the APNs key can't sign: \(error)")
                logger.error(
                    "apns.unusable_key", "The APNs key can't sign: \(error)",
                    ["credential": .text(entry.bearer.name)])
                return steady + 60_000
            }
        }
    }

    private func noteRefusal(_ index: Int) {
        guard google[index].bearer.takeRefusal() else { return }
        google[index].tokens.refused(steadyMs: Int64(Clock.monotonicMs))
    }

    private func renewGoogle(_ index: Int) {
        guard google[index].tokens.isDue(steadyMs: Int64(Clock.monotonicMs)) else { return }
        let bearer = google[index].bearer
        let answer = google[index].tokens.exchange(client: client, nowS: Clock.wallMs / 1000)
        let after = Int64(Clock.monotonicMs)
        google[index].tokens.note(answer, steadyMs: after, random: RandomSource.seed())
        switch answer {
        case .token(let token, _):
            bearer.set(authorization: Array("Bearer \(token)".utf8))
            logger.info("fcm.token", "Got an access token.", ["credential": .text(bearer.name)])
        case .refused(let reason, let text):
            bearer.set(fault: reason, text)
            logger.error("fcm.refused_account", text, ["credential": .text(bearer.name)])
        case .unavailable(let text):
            // The old token, while it lives, is better than none.
            if !google[index].tokens.isValid(steadyMs: after) { bearer.set(fault: .oauthUnavailable, text) }
            logger.warning("fcm.no_token", text, ["credential": .text(bearer.name)])
        }
    }
}
