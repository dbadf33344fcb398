package import Redis

/// What became of the requests of one idempotency key: `peal:idem:{<key name>:<digest>}`.
///
/// The answer, with the jobs' ids, is written down before anything is published, so that a repeat after a
/// crash carries the same ids.
/// - Threading: one thread; every call waits for Redis, at most the session's deadline.
package struct IdempotencyStore {
    /// What a claim found.
    package enum Claim: Equatable, Sendable {
        /// The request is the caller's to carry out, with the ids of this answer.
        case ours(answer: String)
        /// It was carried out, with this answer.
        case done(answer: String)
        /// Another one carries it out, for so many ms more at most.
        case underWay(Int64)
        /// The key was used for another request.
        case other
    }

    /// How long the key is remembered, in ms.
    package static let memoryMs: Int64 = 86_400_000
    /// How long a request that doesn't end keeps others from carrying it out, in ms.
    package static let claimMs: Int64 = 60_000

    /// What the session must know.
    package static let scripts = [claimScript, settleScript]

    private let session: RedisSession
    private let name: String
    private let owner: String
    private let claimMs: Int64

    /// Works on a key of an API key; `owner` tells this request from others.
    package init(
        session: RedisSession, keyName: String, key: String, owner: String,
        claimMs: Int64 = IdempotencyStore.claimMs
    ) {
        self.session = session
        name = "peal:idem:{\(keyName):\(key)}"
        self.owner = owner
        self.claimMs = claimMs
    }

    /// Claims the key for the request of this digest, which will be answered so.
    package func claim(digest: String, answer: String) throws(RedisFailure) -> Claim {
        let name = name
        let owner = owner
        let claimMs = claimMs
        let reply = try session.run {
            $0.begin(Self.claimScript, keys: 1, arguments: 5)
            $0.argument(text: name)
            $0.argument(text: digest)
            $0.argument(text: owner)
            $0.argument(text: answer)
            $0.argument(decimal: claimMs)
            $0.argument(decimal: Self.memoryMs)
        }
        let parts = reply.array
        guard parts.count == 2, let code = parts[0].integer else {
            throw RedisFailure(.protocolBroken, "the claim was answered with something else")
        }
        switch code {
        case 0: return .other
        case 1: return .ours(answer: parts[1].text ?? "")
        case 2: return .done(answer: parts[1].text ?? "")
        default: return .underWay(parts[1].integer ?? 0)
        }
    }

    /// The request was carried out.
    package func finish() throws(RedisFailure) { try settle("done") }

    /// Nothing was done: the key is free for any request.
    package func release() throws(RedisFailure) { try settle("release") }

    /// It isn't known what was done: the same request may be carried out again, with the same ids.
    package func giveUp() throws(RedisFailure) { try settle("retry") }

    private func settle(_ word: String) throws(RedisFailure) {
        let name = name
        let owner = owner
        _ = try session.run {
            $0.begin(Self.settleScript, keys: 1, arguments: 2)
            $0.argument(text: name)
            $0.argument(text: owner)
            $0.argument(text: word)
        }
    }

    /// - Keys: the key. Arguments: digest, owner, answer, ms of the claim, ms of the memory. Returns: 0 and
    ///   nothing (another request's), 1 and the answer to give (ours), 2 and the answer (done), 3 and the ms
    ///   that are left (under way).
    private static let claimScript = RedisScript(
        name: "claim_idempotency",
        source: """
            local t=redis.call('TIME')
            local now=t[1]*1000+math.floor(t[2]/1000)
            local f=redis.call('HMGET',KEYS[1],'d','s','u','a')
            if f[1] then
             if f[1]~=ARGV[1] then return {0,''} end
             if f[2]=='1' then return {2,f[4]} end
             local left=(tonumber(f[3]) or 0)-now
             if left>0 then return {3,left} end
             redis.call('HSET',KEYS[1],'o',ARGV[2],'u',now+ARGV[4])
             return {1,f[4]}
            end
            redis.call('HSET',KEYS[1],'d',ARGV[1],'s','0','o',ARGV[2],'u',now+ARGV[4],'a',ARGV[3])
            redis.call('PEXPIRE',KEYS[1],ARGV[5])
            return {1,ARGV[3]}
            """)

    /// - Keys: the key. Arguments: owner, `done`, `release` or `retry`. Returns: 1, or 0 when the claim is
    ///   another one's by now.
    private static let settleScript = RedisScript(
        name: "settle_idempotency",
        source: """
            if redis.call('HGET',KEYS[1],'o')~=ARGV[1] then return 0 end
            if ARGV[2]=='done' then redis.call('HSET',KEYS[1],'s','1')
            elseif ARGV[2]=='retry' then redis.call('HSET',KEYS[1],'u','0')
            else redis.call('DEL',KEYS[1]) end
            return 1
            """)
}
