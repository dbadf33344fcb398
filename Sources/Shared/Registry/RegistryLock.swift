internal import Core
internal import EventLoop
internal import Glibc
package import Redis

/// A lock in Redis, `peal:lock:{app:name}`, for changes of several steps that lie on different cluster slots:
/// two processes that make the same one at once would mix their steps.
///
/// It ends by itself, so a process that dies holds nothing up for long, and one that is slower than its life
/// works unprotected: what it guards must be mended by repeating the change.
/// - Threading: that of its session, which waits.
package struct RegistryLock {
    /// How long it holds when its owner dies, in milliseconds.
    package static let lifeMs: UInt64 = 10_000
    /// How long it is waited for, in milliseconds.
    package static let patienceMs: UInt64 = 8_000

    private let session: RedisSession
    private let key: String
    private let fence = Hex.encode(RandomSource.bytes(16))

    /// Names a lock; nothing is taken yet. The session knows ``RegistryScripts/all``.
    package init(session: RedisSession, app: String, name: String) {
        self.session = session
        key = RegistryKeys.lock(app: app, name: name)
    }

    /// Takes the lock, and waits for whoever has it.
    /// - Throws: `.contended` when it is not to be had, else what Redis says.
    package func take() throws(RedisFailure) {
        let giveUp = Clock.monotonicMs + Self.patienceMs
        var pauseUs: UInt32 = 500
        while try session.command("SET", key, fence, "NX", "PX", "\(Self.lifeMs)") == .null {
            guard Clock.monotonicMs < giveUp else {
                throw RedisFailure(.contended, "another change of the same thing does not end")
            }
            // Not in step with the others that wait.
            usleep(pauseUs / 2 + UInt32(RandomSource.bytes(1)[0]) * pauseUs / 256)
            pauseUs = min(pauseUs * 2, 16_000)
        }
    }

    /// Lets it go; when Redis can't be told it ends by itself.
    package func release() {
        let (key, fence) = (key, fence)
        _ = try? session.run {
            $0.begin(RegistryScripts.unlock, keys: 1, arguments: 1)
            $0.argument(text: key)
            $0.argument(text: fence)
        }
    }
}

extension RegistryScripts {
    /// Lets a lock go, if it is still the caller's.
    ///
    /// - Keys: lock. Arguments: the owner's fence. Returns: 1 let go, 0 it was another's.
    static let unlock = RedisScript(
        name: "unlock",
        source: """
            if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end
            return redis.call('DEL',KEYS[1])
            """)
}
