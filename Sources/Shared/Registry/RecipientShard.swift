internal import Core

/// The parts that an app's recipients are divided into: each has one hash of devices, and one of the
/// subscribers of each topic.
///
/// Many small hashes cost Redis less than many keys: a key of its own costs some hundred bytes, an entry of a
/// hash that is one piece of memory a handful. With 32,768 of them a hash has 30 recipients at a million and
/// stays one piece (512 entries) up to 16 million, and can be read whole.
package enum RecipientShard {
    /// How many there are. It may never change: keys depend on it.
    package static let count = 32_768

    /// The shard of a recipient: the CRC-32 of its name, modulo ``count``.
    package static func of(_ recipient: UnsafeRawBufferPointer) -> Int {
        unsafe Int(CRC32.of(recipient) % UInt32(count))
    }

    /// The shard of a recipient.
    package static func of(text recipient: String) -> Int {
        Int(CRC32.of(text: recipient) % UInt32(count))
    }
}
