internal import Core
internal import EventLoop
internal import Logging
internal import Redis
internal import Security

/// The provider tokens that all pods share, in Redis.
///
/// - Threading: the keeper's thread; a call blocks for a second at most. After a failure Redis is left
///   alone for   a while, and calls return at once.
final class SharedCredentials {
    /// What Redis says of a credential.
    struct Sight {
        /// The shared token; nil when there is none that can be read.
        var token: SharedToken?
        /// Whether there is a token that was sealed with another private key.
        var isForeign = false
        /// The caller's lock, if it has got one: it is to renew the token.
        var fence: String?
        /// Whether another pod has the lock.
        var isLockedByOther = false
        /// How long nobody may mint, in ms.
        var holdMs: Int64 = 0
        /// Ms since 1970 by Redis's clock.
        var nowMs: Int64 = 0
    }

    enum Published {
        case stored
        /// The token of another pod counts.
        case superseded(SharedToken)
        /// The lock was lost, or there is a token that can't be read.
        case refused
        case away
    }

    /// After a failure Redis is asked again this much later.
    static let restMs: Int64 = 5_000

    private let session: RedisSession?
    private let logger: Logger
    private let pod: String
    private var restUntilSteadyMs: Int64 = .min
    /// Whether the last call failed; for metrics.
    private(set) var isAway = false
    /// Redis's wall time less this machine's monotonic time, once it was asked.
    private(set) var clockOffsetMs: Int64?

    /// `timeoutMs` bounds each call, and so does the options' own limit.
    init(_ options: RedisClientOptions, timeoutMs: UInt64, pod: String, logger: Logger) {
        var options = options
        options.timeoutMs = min(options.timeoutMs, timeoutMs)
        options.connectTimeoutMs = min(options.connectTimeoutMs, timeoutMs)
        options.backoffLastMs = 200
        options.clientName = "peal-credentials"
        options.scripts = [Self.look, Self.publish]
        self.pod = String(pod.filter { $0 != "\n" })
        self.logger = logger
        session = try? RedisSession(options: options)
    }

    deinit { session?.close() }

    /// Reads a credential's token. With `wantsLock` it also takes the lock if no token newer than `knownMs`
    /// is there and nobody holds updates up. nil: Redis is away.
    func look(_ place: SharedPlace, wantsLock: Bool, knownMs: Int64) -> Sight? {
        let fence = Hex.encode(RandomSource.bytes(16))
        guard
            let reply = run({ buffer in
                buffer.begin(Self.look, keys: 3, arguments: 4)
                for key in [place.key, place.lock, place.hold] { buffer.argument(text: key) }
                buffer.argument(text: wantsLock ? "1" : "0")
                buffer.argument(text: fence)
                buffer.argument(decimal: place.lockMs)
                buffer.argument(decimal: knownMs)
            })
        else { return nil }
        let parts = reply.array
        guard parts.count == 4, let locked = parts[1].integer, let now = parts[3].integer else { return nil }
        clockOffsetMs = now - Int64(Clock.monotonicMs)
        var sight = Sight()
        sight.nowMs = now
        sight.holdMs = max(0, parts[2].integer ?? 0)
        sight.fence = locked == 1 ? fence : nil
        sight.isLockedByOther = locked == 2
        if case .string(let stored) = parts[0] {
            sight.token = SharedToken(stored: stored, key: place.sealing, place: place.key)
            sight.isForeign = sight.token == nil
        }
        return sight
    }

    /// Puts a token in the place of an older one and gives the lock back.
    func publish(_ token: SharedToken, at place: SharedPlace, fence: String, nowMs: Int64) -> Published {
        guard let sealed = try? token.sealed(by: place.sealing, for: place.key) else { return .refused }
        let life = max(1, token.expiresMs - nowMs)
        guard
            let reply = run({ buffer in
                buffer.begin(Self.publish, keys: 2, arguments: 4)
                for key in [place.key, place.lock] { buffer.argument(text: key) }
                buffer.argument(text: fence)
                buffer.argument(text: sealed)
                buffer.argument(decimal: token.mintedMs)
                buffer.argument(decimal: life)
            })
        else { return .away }
        let parts = reply.array
        if parts.first?.integer == 1 { return .stored }
        guard parts.count == 2, case .string(let stored) = parts[1],
            let other = SharedToken(stored: stored, key: place.sealing, place: place.key)
        else { return .refused }
        return other == token ? .stored : .superseded(other)
    }

    /// Gives a lock back without a token, so that another pod need not wait for its end.
    func release(_ place: SharedPlace, fence: String) {
        _ = run { buffer in
            buffer.begin(Self.publish, keys: 2, arguments: 4)
            for text in [place.key, place.lock, fence, "", "0", "1"] { buffer.argument(text: text) }
        }
    }

    /// Keeps every pod from minting for this long. False: Redis is away.
    func hold(_ place: SharedPlace, forMs: Int64) -> Bool {
        run { $0.append(["SET", place.hold, self.pod, "PX", String(forMs)]) } != nil
    }

    private func run(_ encode: (inout RedisCommandBuffer) -> Void) -> RedisValue? {
        guard let session, Int64(Clock.monotonicMs) >= restUntilSteadyMs else { return nil }
        do throws(RedisFailure) {
            let value = try session.run(encode)
            if isAway { logger.info("credentials.shared", "Provider tokens are shared by Redis again.") }
            isAway = false
            return value
        } catch {
            if !isAway {
                logger.warning(
                    "credentials.not_shared",
                    "Redis can't be asked for the shared provider tokens; this pod makes its own: "
                        + error.message)
            }
            isAway = true
            restUntilSteadyMs = Int64(Clock.monotonicMs) + Self.restMs
            return nil
        }
    }

    // MARK: Scripts

    private static let look = RedisScript(
        name: "credential-look",
        source: """
            local stored = redis.call('GET', KEYS[1])
            local hold = redis.call('PTTL', KEYS[3])
            local minted = -1
            if stored then minted = tonumber(string.match(stored, '^1 (%d+) ')) or 0 end
            local lock = 0
            if ARGV[1] == '1' and hold <= 0 and minted <= tonumber(ARGV[4]) then
              if redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then lock = 1 else lock = 2 end
            end
            local time = redis.call('TIME')
            return {stored, lock, hold, tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)}
            """)

    private static let publish = RedisScript(
        name: "credential-publish",
        source: """
            local stored = redis.call('GET', KEYS[1])
            if redis.call('GET', KEYS[2]) ~= ARGV[1] then return {0, stored} end
            redis.call('DEL', KEYS[2])
            local minted = -1
            if stored then minted = tonumber(string.match(stored, '^1 (%d+) ')) or 0 end
            if ARGV[2] == '' or minted >= tonumber(ARGV[3]) then return {0, stored} end
            redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[4])
            return {1, false}
            """)
}
