internal import Core
internal import Decisions
internal import EventLoop
internal import HTTPClient
internal import Security

/// One credential as its keeper has it: what it signs or trades with, the token in use and when to look
/// again.
///
/// - Threading: the keeper's. Steady times are ms of the monotonic clock.
struct KeptCredential {
    private enum Kind {
        case apple(APNsKey, MintingPolicy)
        case google(GoogleTokens)
    }

    enum Need: Equatable {
        case renewal
        /// Nothing before this steady time.
        case nothing(untilSteadyMs: Int64)
    }

    /// A new token, or why there is none.
    enum Made {
        case token(String, lifeMs: Int64)
        case failed(GoogleTokens.Answer)
        case unsigned(String)
    }

    let bearer: Bearer
    /// Where pods share it; nil when they don't.
    let place: SharedPlace?
    private var kind: Kind
    /// The token in use.
    private(set) var text: String?
    private(set) var mintedSteadyMs: Int64 = 0
    private(set) var expiresSteadyMs: Int64 = 0
    /// The minting time in Redis, once the token in use is there.
    var sharedMintedMs: Int64?
    /// When Redis is asked again although nothing is due.
    var lookAtSteadyMs: Int64 = .min
    /// A renewal that is due is not tried before.
    var retryAtSteadyMs: Int64 = .min
    /// Since when a renewal waits for the pod that has the lock.
    var waitingSinceSteadyMs: Int64?
    /// Until when updates are held up by what this pod heard and other pods do not know yet.
    var untoldHoldSteadyMs: Int64?
    private var toldHoldSteadyMs: Int64 = .min
    private var isRefused = false

    init(_ bearer: Bearer, _ key: APNsKey, renewalAgeMs: Int64) {
        self.bearer = bearer
        kind = .apple(key, MintingPolicy(renewalAgeMs: renewalAgeMs))
        place = try? SharedPlace(key)
    }

    init(_ bearer: Bearer, _ account: ServiceAccount, tokenURI: String?, exchangeMs: Int64) {
        self.bearer = bearer
        kind = .google(GoogleTokens(account: account, tokenURI: tokenURI))
        place = try? SharedPlace(account, exchangeMs: exchangeMs)
    }

    var isApple: Bool { if case .apple = kind { true } else { false } }
    /// Whether the token in use may be offered to other pods.
    var isWorthSharing: Bool { text != nil && sharedMintedMs == nil && !isRefused }

    /// Takes over what the shards said about the bearer since the last call.
    mutating func hear(steadyMs: Int64) {
        if bearer.takeRefusal() {
            // Another pod may have the next token already.
            if !isRefused { lookAtSteadyMs = steadyMs }
            isRefused = true
            if case .google(var tokens) = kind {
                tokens.refused(steadyMs: steadyMs)
                kind = .google(tokens)
            }
        }
        guard bearer.takeHold() else { return }
        hold(steadyMs: steadyMs, forMs: MintingPolicy.changeGapMs)
        // The same answer comes to many requests; the other pods are told once a minute.
        if steadyMs >= toldHoldSteadyMs + 60_000 || toldHoldSteadyMs == .min {
            untoldHoldSteadyMs = steadyMs + MintingPolicy.changeGapMs
            toldHoldSteadyMs = steadyMs
            lookAtSteadyMs = steadyMs
        }
    }

    mutating func hold(steadyMs: Int64, forMs: Int64) {
        guard case .apple(let key, var policy) = kind else { return }
        policy.hold(steadyMs: steadyMs, forMs: forMs)
        kind = .apple(key, policy)
    }

    func need(wallMs: Int64, steadyMs: Int64) -> Need {
        switch kind {
        case .apple(_, let policy):
            switch policy.decide(wallMs: wallMs, steadyMs: steadyMs, isRefused: isRefused) {
            case .mint: .renewal
            case .keep(let until): .nothing(untilSteadyMs: until)
            }
        case .google(let tokens):
            tokens.isDue(steadyMs: steadyMs)
                ? .renewal : .nothing(untilSteadyMs: tokens.nextCheckSteadyMs)
        }
    }

    /// Whether another pod's newer token may take the place of the own one now.
    func mayChange(steadyMs: Int64) -> Bool {
        guard case .apple(_, let policy) = kind else { return true }
        return policy.mayChange(steadyMs: steadyMs, isRefused: isRefused)
    }

    /// Whether the token in use is still good by its life.
    func isValid(steadyMs: Int64) -> Bool { text != nil && steadyMs < expiresSteadyMs }

    /// Signs or trades. An exchange blocks for as long as the client's deadlines allow.
    /// - Returns: the token, and the `Date` of the token endpoint's answer.
    func make(client: HTTPClient, nowMs: Int64) -> (made: Made, date: String?) {
        switch kind {
        case .apple(let key, _):
            do throws(SecurityFailure) {
                let token = try JWT.appleProviderToken(
                    keyID: key.keyID, teamID: key.teamID, issuedAtS: nowMs / 1000, key: key.key)
                return (.token(token, lifeMs: MintingPolicy.lifeMs), nil)
            } catch {
                return (.unsigned("the APNs key can't sign: \(error)"), nil)
            }
        case .google(let tokens):
            let (answer, date) = tokens.exchange(client: client, nowS: nowMs / 1000)
            guard case .token(let token, let life) = answer else { return (.failed(answer), date) }
            return (.token(token, lifeMs: life), date)
        }
    }

    /// Puts a token in use that was minted `ageMs` ago, by this pod or another.
    mutating func take(
        _ token: String, ageMs: Int64, remainingMs: Int64, isOwn: Bool, wallMs: Int64, steadyMs: Int64
    ) {
        let random = RandomSource.seed()
        switch kind {
        case .apple(let key, var policy):
            if isOwn {
                policy.minted(wallMs: wallMs, steadyMs: steadyMs, random: random)
            } else {
                policy.adopted(ageMs: ageMs, wallMs: wallMs, steadyMs: steadyMs, random: random)
            }
            kind = .apple(key, policy)
        case .google(var tokens):
            tokens.note(.token("", lifetimeMs: remainingMs), steadyMs: steadyMs, random: random)
            kind = .google(tokens)
        }
        text = token
        mintedSteadyMs = steadyMs - max(0, ageMs)
        expiresSteadyMs = steadyMs + remainingMs
        isRefused = false
        waitingSinceSteadyMs = nil
        bearer.set(authorization: Array("\(isApple ? "bearer" : "Bearer") \(token)".utf8))
    }

    /// Notes that the token endpoint gave none.
    mutating func failed(_ answer: GoogleTokens.Answer, steadyMs: Int64) {
        waitingSinceSteadyMs = nil
        guard case .google(var tokens) = kind else { return }
        tokens.note(answer, steadyMs: steadyMs, random: RandomSource.seed())
        kind = .google(tokens)
    }
}
