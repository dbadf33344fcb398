internal import Core
internal import Decisions
internal import EventLoop
internal import HTTP2
internal import HTTPClient
internal import Logging
internal import Security

/// The keeper's state on its own thread: each pass renews what is due and says when to come again.
///
/// A token is renewed by one pod for all: the pod whose turn comes first takes a short lock in Redis, mints
/// and publishes; the others find the new token when they look. A pod without Redis mints for itself.
final class KeeperLoop {
    /// Between two looks at a shared token that needs nothing.
    static let lookEveryMs: Int64 = 30_000
    /// Between two looks while another pod renews.
    static let lockPollMs: Int64 = 250

    private let loop: EventLoop
    private let client: HTTPClient
    private let shared: SharedCredentials?
    private let options: KeeperOptions
    private let logger: Logger
    private var kept: [KeptCredential] = []
    private var isAlarmed = false
    private(set) var status = KeeperStatus()

    init(loop: EventLoop, options: KeeperOptions, logger: Logger) {
        self.loop = loop
        self.options = options
        self.logger = logger
        var http = HTTPClientOptions()
        http.caFile = options.caFile
        http.verifiesPeer = options.verifiesPeer
        if let proxy = options.proxy {
            http.proxy = "http://\(proxy.host.contains(":") ? "[\(proxy.host)]" : proxy.host):\(proxy.port)"
            http.proxyCredentials = proxy.credentials
        }
        http.connectTimeoutMs = 5000
        http.totalTimeoutMs = Self.exchangeMs
        client = HTTPClient(http)
        shared = options.redis.map {
            SharedCredentials($0, timeoutMs: options.redisTimeoutMs, pod: options.pod, logger: logger)
        }
        status.isSharing = shared != nil
    }

    private static let exchangeMs = 10_000

    // MARK: What is kept

    func add(_ work: CredentialKeeper.Work) {
        switch work {
        case .apns(let bearer, let key):
            bearer.attach(loop.waker)
            kept.append(KeptCredential(bearer, key, renewalAgeMs: options.appleTokenAgeMs))
        case .google(let bearer, let account, let tokenURI):
            bearer.attach(loop.waker)
            kept.append(
                KeptCredential(
                    bearer, account, tokenURI: tokenURI, exchangeMs: Int64(Self.exchangeMs)))
        case .drop(let bearer):
            kept.removeAll { $0.bearer === bearer }
        }
    }

    // MARK: A pass

    /// Renews what is due and returns how long nothing else is, in milliseconds. It makes one exchange at
    /// most, the longest overdue, so that a token endpoint that hangs holds neither the APNs tokens nor a
    /// stop up for longer than that.
    func renewDue() -> Int {
        for index in kept.indices { kept[index].hear(steadyMs: steadyMs) }
        watchClock()
        for index in kept.indices where kept[index].isApple { renew(index) }
        let first = kept.indices.filter { !kept[$0].isApple }.min { nextCheck($0) < nextCheck($1) }
        if let first { renew(first) }
        publishStatus()
        var next = steadyMs + 60_000
        for index in kept.indices { next = min(next, nextCheck(index)) }
        return next < steadyMs ? 0 : Int(clamping: next - steadyMs)
    }

    private var steadyMs: Int64 { Int64(Clock.monotonicMs) }
    /// The wall time to date tokens by.
    private var wallMs: Int64 {
        status.skew.correctedMs(wallMs: Clock.wallMs, steadyMs: steadyMs)
    }

    private func nextCheck(_ index: Int) -> Int64 {
        let own: Int64
        switch kept[index].need(wallMs: wallMs, steadyMs: steadyMs) {
        case .renewal: own = kept[index].retryAtSteadyMs
        case .nothing(let until): own = until
        }
        return shared == nil ? own : min(own, kept[index].lookAtSteadyMs)
    }

    private func renew(_ index: Int) {
        guard steadyMs >= nextCheck(index) else { return }
        guard let shared, let place = kept[index].place else {
            if isDue(index) { make(index, nil) }
            return
        }
        tellHold(index, shared, place)
        let isDue = self.isDue(index)
        let wantsLock = isDue || kept[index].isWorthSharing
        // Redis's clock is needed to say how old the own token is by it.
        if wantsLock, kept[index].text != nil, kept[index].sharedMintedMs == nil, shared.clockOffsetMs == nil
        {
            _ = shared.look(place, wantsLock: false, knownMs: -1)
        }
        let known = knownMs(index, shared)
        guard let sight = shared.look(place, wantsLock: wantsLock, knownMs: known) else {
            kept[index].lookAtSteadyMs = steadyMs + SharedCredentials.restMs
            if isDue { makeAlone(index) }
            return
        }
        kept[index].lookAtSteadyMs = steadyMs + Self.lookEveryMs
        if sight.holdMs > 0 { kept[index].hold(steadyMs: steadyMs, forMs: sight.holdMs) }
        act(index, on: sight, isDue: isDue, knownMs: known, shared, place)
    }

    private func isDue(_ index: Int) -> Bool {
        guard steadyMs >= kept[index].retryAtSteadyMs else { return false }
        return kept[index].need(wallMs: wallMs, steadyMs: steadyMs) == .renewal
    }

    /// The own token's minting time by Redis's clock; -1 without a token.
    private func knownMs(_ index: Int, _ shared: SharedCredentials) -> Int64 {
        if let minted = kept[index].sharedMintedMs { return minted }
        guard kept[index].text != nil, let offset = shared.clockOffsetMs else { return -1 }
        return kept[index].mintedSteadyMs + offset
    }

    /// Says in Redis that APNs wants no new token for a while.
    private func tellHold(_ index: Int, _ shared: SharedCredentials, _ place: SharedPlace) {
        guard let until = kept[index].untoldHoldSteadyMs else { return }
        if steadyMs >= until || shared.hold(place, forMs: until - steadyMs) {
            kept[index].untoldHoldSteadyMs = nil
        }
    }

    private func act(
        _ index: Int, on sight: SharedCredentials.Sight, isDue: Bool, knownMs: Int64,
        _ shared: SharedCredentials, _ place: SharedPlace
    ) {
        if let token = sight.token, token.text == kept[index].text {
            kept[index].sharedMintedMs = token.mintedMs
        } else if let token = sight.token, token.mintedMs > knownMs, token.expiresMs > sight.nowMs {
            if isDue || kept[index].mayChange(steadyMs: steadyMs) { adopt(index, token, sight.nowMs) }
            return
        }
        // What was learned about a hold may forbid what was due before.
        let mayRenew = isDue && self.isDue(index)
        if let fence = sight.fence {
            if mayRenew {
                make(index, Renewal(shared: shared, place: place, fence: fence, nowMs: sight.nowMs))
            } else {
                offer(index, Renewal(shared: shared, place: place, fence: fence, nowMs: sight.nowMs))
            }
        } else if mayRenew, sight.isLockedByOther {
            let since = kept[index].waitingSinceSteadyMs ?? steadyMs
            kept[index].waitingSinceSteadyMs = since
            if steadyMs - since > 2 * place.lockMs { return makeAlone(index) }
            kept[index].retryAtSteadyMs = steadyMs + Self.lockPollMs
            kept[index].lookAtSteadyMs = steadyMs + Self.lockPollMs
        } else if mayRenew {
            makeAlone(index)
        }
    }

    // MARK: Making and taking tokens

    /// A lock in Redis and what goes with it.
    private struct Renewal {
        let shared: SharedCredentials
        let place: SharedPlace
        let fence: String
        /// Redis's time when the lock was taken.
        let nowMs: Int64
    }

    private func makeAlone(_ index: Int) {
        status.fallbacks &+= 1
        make(index, nil)
    }

    private func make(_ index: Int, _ renewal: Renewal?) {
        let sent = steadyMs
        let (made, date) = kept[index].make(client: client, nowMs: wallMs)
        if let date = date.flatMap({ RetryAfter.date(text: $0) }) {
            status.skew.note(
                dateMs: date, wallMs: Clock.wallMs, sentSteadyMs: sent, steadyMs: steadyMs)
        }
        let bearer = kept[index].bearer
        switch made {
        case .token(let text, let life):
            status.minted &+= 1
            use(index, text, lifeMs: life - (steadyMs - sent), renewal)
            logger.info(
                kept[index].isApple ? "apns.minted" : "fcm.token",
                kept[index].isApple ? "Minted a provider token." : "Got an access token.",
                ["credential": .text(bearer.name)])
        case .failed(let answer):
            kept[index].failed(answer, steadyMs: steadyMs)
            if let renewal { renewal.shared.release(renewal.place, fence: renewal.fence) }
            explain(index, answer)
        case .unsigned(let text):
            if let renewal { renewal.shared.release(renewal.place, fence: renewal.fence) }
            kept[index].retryAtSteadyMs = steadyMs + 60_000
            kept[index].lookAtSteadyMs = steadyMs + 60_000
            bearer.set(fault: .noCredential, text)
            logger.error("apns.unusable_key", text, ["credential": .text(bearer.name)])
        }
    }

    private func explain(_ index: Int, _ answer: GoogleTokens.Answer) {
        let bearer = kept[index].bearer
        switch answer {
        case .token: break
        case .refused(let reason, let text):
            bearer.set(fault: reason, text)
            logger.error("fcm.refused_account", text, ["credential": .text(bearer.name)])
        case .unavailable(let text):
            // The old token, while it lives, is better than none.
            if !kept[index].isValid(steadyMs: steadyMs) { bearer.set(fault: .oauthUnavailable, text) }
            logger.warning("fcm.no_token", text, ["credential": .text(bearer.name)])
        }
    }

    /// Publishes a token that was just made, then puts it in use, unless another pod was quicker.
    private func use(_ index: Int, _ text: String, lifeMs: Int64, _ renewal: Renewal?) {
        var sharedMintedMs: Int64?
        if let renewal {
            let token = SharedToken(
                text: text, mintedMs: renewal.nowMs, expiresMs: renewal.nowMs + lifeMs, pod: options.pod)
            switch renewal.shared.publish(
                token, at: renewal.place, fence: renewal.fence, nowMs: renewal.nowMs)
            {
            case .stored: sharedMintedMs = token.mintedMs
            case .superseded(let other): return adopt(index, other, renewal.nowMs)
            case .refused, .away: status.fallbacks &+= 1
            }
        }
        kept[index].take(
            text, ageMs: 0, remainingMs: lifeMs, isOwn: true, wallMs: wallMs, steadyMs: steadyMs)
        kept[index].sharedMintedMs = sharedMintedMs
    }

    private func adopt(_ index: Int, _ token: SharedToken, _ redisMs: Int64) {
        status.adopted &+= 1
        kept[index].take(
            token.text, ageMs: redisMs - token.mintedMs, remainingMs: max(1, token.expiresMs - redisMs),
            isOwn: false, wallMs: wallMs, steadyMs: steadyMs)
        kept[index].sharedMintedMs = token.mintedMs
        logger.info(
            "credentials.adopted", "Took over the provider token that another pod minted.",
            ["credential": .text(kept[index].bearer.name), "pod": .text(token.pod)])
    }

    /// Offers a token that was made while Redis was away.
    private func offer(_ index: Int, _ renewal: Renewal) {
        guard kept[index].isWorthSharing, let text = kept[index].text else {
            return renewal.shared.release(renewal.place, fence: renewal.fence)
        }
        let age = steadyMs - kept[index].mintedSteadyMs
        let token = SharedToken(
            text: text, mintedMs: renewal.nowMs - age,
            expiresMs: renewal.nowMs + kept[index].expiresSteadyMs - steadyMs, pod: options.pod)
        let outcome = renewal.shared.publish(
            token, at: renewal.place, fence: renewal.fence, nowMs: renewal.nowMs)
        if case .stored = outcome { kept[index].sharedMintedMs = token.mintedMs }
    }

    // MARK: The clock

    /// Says when this machine's clock goes wrong, and when it is right again.
    private func watchClock() {
        let isWrong = status.skew.isAlarming(wallMs: Clock.wallMs, steadyMs: steadyMs)
        guard isWrong != isAlarmed else { return }
        isAlarmed = isWrong
        let seconds = (status.skew.skewMs(wallMs: Clock.wallMs, steadyMs: steadyMs) ?? 0) / 1000
        if isWrong {
            logger.error(
                "clock.skew",
                "This machine's clock is \(abs(seconds)) s \(seconds > 0 ? "behind" : "ahead of") the "
                    + "providers'; tokens are dated by theirs. Mend its time synchronisation.")
        } else {
            logger.notice("clock.right", "This machine's clock agrees with the providers' again.")
        }
    }

    private func publishStatus() {
        status.isRedisAway = shared?.isAway ?? false
        status.entries = kept.map { credential in
            let snapshot = credential.bearer.snapshot()
            return KeeperStatus.Entry(
                name: credential.bearer.name,
                mintedSteadyMs: credential.text == nil ? nil : credential.mintedSteadyMs,
                expiresSteadyMs: credential.text == nil ? nil : credential.expiresSteadyMs,
                isShared: credential.sharedMintedMs != nil,
                fault: snapshot.fault == nil ? "" : snapshot.explanation)
        }
    }
}
