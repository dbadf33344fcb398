internal import Core

/// The master key that secrets in Redis are sealed with, and the former ones that still open some.
///
/// - Threading: immutable; any.
package struct SealingRing: Sendable {
    private struct Entry {
        let id: String
        let key: SealingKey
    }

    /// The current one is the first.
    private let entries: [Entry]

    /// Takes the texts of the key files.
    /// - Throws: `.badKey` for a text that is no master key; it never repeats the text.
    package init(current: String, former: [String] = []) throws(SecurityFailure) {
        entries = try ([current] + former).map { text throws(SecurityFailure) in
            let master = try Self.parse(text)
            return Entry(
                id: Hex.encode(SealingKey.derive(master, "peal master key id").prefix(4)),
                key: SealingKey(master: master, purpose: "peal credentials"))
        }
    }

    /// A short name of the current key. It tells keys apart and nothing else about them.
    package var currentID: String { entries.first?.id ?? "" }
    /// The names of all keys.
    package var ids: [String] { entries.map(\.id) }

    /// Seals with the current key.
    /// - Throws: `.internalError` when OpenSSL has no memory or no randomness.
    package func seal(_ plain: [UInt8], context: [UInt8]) throws(SecurityFailure) -> [UInt8] {
        guard let first = entries.first else { throw SecurityFailure(.badKey, "there is no master key") }
        return try first.key.seal(plain, context: context)
    }

    /// Opens what the key of this name sealed; nil when that key isn't here, or the text or its context is
    /// another than it was.
    package func open(_ sealed: [UInt8], keyID: String, context: [UInt8]) -> [UInt8]? {
        entries.first { $0.id == keyID }?.key.open(sealed, context: context)
    }

    /// A new master key, as its file holds it: 64 hexadecimal digits.
    package static func generate() throws(SecurityFailure) -> String {
        Hex.encode(try SecureRandom.bytes(32))
    }

    /// 32 bytes in hexadecimal or base64, with white space around them.
    private static func parse(_ text: String) throws(SecurityFailure) -> [UInt8] {
        let bytes = Array(text.utf8.filter { $0 > 0x20 })
        let key = bytes.count == 64 ? Hex.decode(bytes) : Base64.decode(bytes)
        guard let key, key.count == 32, Set(key).count > 1 else {
            throw SecurityFailure(
                .badKey,
                "a master key is 32 random bytes in hexadecimal or base64; make one with "
                    + "'peal-producer key master'")
        }
        return key
    }
}
