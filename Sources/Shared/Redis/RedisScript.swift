internal import Core
internal import Security

/// A Lua script that runs in the Redis server, called by its SHA-1.
///
/// - Threading: immutable; shared freely.
package final class RedisScript: Sendable {
    /// A short name for logs and tests.
    package let name: String
    /// The Lua text.
    package let source: String
    /// The SHA-1 of `source` in lower-case hexadecimal, which is the script's name in Redis.
    package let digest: String
    /// `EVALSHA` and the digest as two encoded arguments.
    @usableFromInline let callPrefix: [UInt8]

    /// Makes a script and computes its digest.
    package init(name: String, source: String) {
        self.name = name
        self.source = source
        digest = Hex.encode(SHA1.hash(text: source))
        callPrefix = Array("$7\r\nEVALSHA\r\n$40\r\n\(digest)\r\n".utf8)
    }
}
