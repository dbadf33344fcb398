internal import Core

/// A client that is named by its own Ed25519 key: `did:key:z6Mk...` (the did:key method, section 3.1;
/// multicodec 0xED 0x01, multibase `z`).
package struct DIDKey: Equatable, Sendable {
    /// What such a name begins with.
    package static let prefix = "did:key:"
    private static let codec: [UInt8] = [0xED, 0x01]
    /// The 32 bytes of the public key.
    package let publicKey: [UInt8]

    /// Takes a public key; nil unless it has 32 bytes.
    package init?(publicKey: [UInt8]) {
        guard publicKey.count == 32 else { return nil }
        self.publicKey = publicKey
    }

    /// Reads a whole name; nil when it isn't one of an Ed25519 key.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let name = text.utf8.dropFirst(Self.prefix.utf8.count)
        guard name.first == UInt8(ascii: "z"), name.count <= 64,
            let bytes = Base58.decode(Array(name.dropFirst())), bytes.starts(with: Self.codec),
            bytes.count == Self.codec.count + 32
        else { return nil }
        publicKey = Array(bytes.dropFirst(Self.codec.count))
    }

    /// The key's own part of the name: `z6Mk...`. One key has one.
    package var identifier: String { "z" + (Base58.encode(Self.codec + publicKey) ?? "") }
    /// The whole name.
    package var text: String { Self.prefix + identifier }
}
