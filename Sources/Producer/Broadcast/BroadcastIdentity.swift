internal import Core

/// What a broadcast is known by: its app and the id of its job. Pure.
package struct BroadcastIdentity: Hashable, Sendable {
    /// The app.
    package let app: String
    /// The job's id; for a job without one, the id that follows from where its record stands.
    package let id: String

    /// Puts the two together.
    package init(app: String, id: String) {
        self.app = app
        self.id = id
    }

    /// The id of a broadcast whose job has none. It follows from the record's first place and time alone, so
    /// that the same record makes the same broadcast however often it is read.
    package static func derivedID(origin: String, publishedMs: Int64) -> String {
        "b" + hex(origin, seed: UInt64(bitPattern: publishedMs))
            + hex(origin, seed: ~UInt64(bitPattern: publishedMs))
    }

    /// The `peal-origin` of every job of the broadcast: a place in the bulk lane with partition -1 and a
    /// number of the broadcast's own, as jobs have that wait from the start. Workers claim it once for each
    /// recipient.
    package func origin(topic: String) -> String {
        let number = Hash64.of(text: "\(app)\u{0}\(id)", seed: 0x6361_7374) & UInt64(Int64.max)
        return "\(topic)/-1/\(number)"
    }

    /// What the ids of its jobs begin with. A job's id has at most 128 bytes, and the recipient's part of it
    /// takes 17.
    var jobIDStem: String {
        id.utf8.count <= 128 - RecipientHash.length - 1
            ? id : "b" + Self.hex(id, seed: 1) + Self.hex(id, seed: 2)
    }

    private static func hex(_ text: String, seed: UInt64) -> String {
        let value = Hash64.of(text: text, seed: seed)
        return Hex.encode((0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - $0 * 8)) })
    }
}

/// The part of a job's id that names its recipient: 80 bits of hash in 16 characters.
enum RecipientHash {
    /// Characters.
    static let length = 16

    private static let alphabet: StaticString = "0123456789abcdefghjkmnpqrstvwxyz"

    /// Appends the characters.
    @inline(__always)
    static func append(_ recipient: UnsafeRawBufferPointer, to out: inout ByteBuffer) {
        let low = unsafe Hash64.of(recipient, seed: 0x7265_6369)
        let high = Hash64.mix(low, 0xA076_1D64_78BD_642F) ^ (unsafe Hash64.of(recipient, seed: 0x7069_656E))
        unsafe out.appendWith(minimum: length) { room in
            for place in 0..<8 {
                let shift = UInt64(place * 5)
                unsafe room[place] = alphabet.utf8Start[Int(low >> shift & 31)]
                unsafe room[place + 8] = alphabet.utf8Start[Int(high >> shift & 31)]
            }
            return length
        }
    }
}
