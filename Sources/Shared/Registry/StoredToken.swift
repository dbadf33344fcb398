package import Core
internal import Security

/// A token in the form in which the registry stores it, as short as it can be.
///
/// An APNs token in hexadecimal is stored as raw bytes. An FCM token is an instance id, `:APA91b` and a long
/// text of the 64 characters of base64url: it is stored as one byte and then six bits a character. The byte
/// is the length of the instance id, plus 128 when the last six bits of the rest stand for no character. Any
/// other token is stored as it is.
package struct StoredToken: Sendable, Equatable {
    /// The form, as a flag of a device's record.
    package enum Form: UInt8, Sendable {
        case text = 0
        case hexadecimal = 2
        case firebase = 8
    }

    /// The bytes.
    package let bytes: [UInt8]
    /// What they are.
    package let form: Form

    /// What stands between an FCM token's instance id and the rest.
    static let firebaseMark = Array(":APA91b".utf8)
    static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The stored form of a platform's token as the provider wants it.
    package init(_ token: some Collection<UInt8>, _ platform: DevicePlatform) {
        if platform == .ios, !token.isEmpty, let raw = Hex.decode(token) {
            bytes = raw
            form = .hexadecimal
        } else if platform == .android, let packed = Self.pack(Array(token)) {
            bytes = packed
            form = .firebase
        } else {
            bytes = Array(token)
            form = .text
        }
    }

    /// The stored form of a platform's token as the provider wants it.
    package init(text: String, _ platform: DevicePlatform) {
        self.init(Array((platform == .ios ? text.lowercased() : text).utf8), platform)
    }

    private static func pack(_ token: [UInt8]) -> [UInt8]? {
        guard let colon = token.firstIndex(of: UInt8(ascii: ":")), (1...127).contains(colon),
            token[colon...].starts(with: firebaseMark)
        else { return nil }
        var out = [UInt8(colon)]
        var bits: UInt32 = 0
        var held = 0
        var count = 0
        for index in token.indices where !(colon..<colon + firebaseMark.count).contains(index) {
            guard let value = Self.value(token[index]) else { return nil }
            count += 1
            bits = bits << 6 | UInt32(value)
            held += 6
            if held >= 8 {
                held -= 8
                out.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        if held > 0 { out.append(UInt8(truncatingIfNeeded: bits << UInt32(8 - held))) }
        if count % 4 == 3 { out[0] |= 0x80 }
        return out
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }

    /// Appends the token behind stored bytes, as the provider wants it. Broken bytes give some other text,
    /// which the provider refuses.
    package static func append(_ stored: UnsafeRawBufferPointer, _ form: Form, to out: inout ByteBuffer) {
        switch form {
        case .text: unsafe out.append(stored)
        case .hexadecimal:
            unsafe out.appendWith(minimum: stored.count * 2) { room in
                var whole = 0
                while whole + 4 <= stored.count {
                    let four = unsafe stored.loadUnaligned(fromByteOffset: whole, as: UInt32.self)
                    unsafe room.storeBytes(
                        of: Hex.digits(of: UInt32(bigEndian: four)).littleEndian, toByteOffset: whole * 2,
                        as: UInt64.self)
                    whole += 4
                }
                for index in whole..<stored.count {
                    unsafe room[index * 2] = unsafe Hex.digit(stored[index] >> 4)
                    unsafe room[index * 2 + 1] = unsafe Hex.digit(stored[index])
                }
                return stored.count * 2
            }
        case .firebase: unsafe appendFirebase(stored, to: &out)
        }
    }

    private static func appendFirebase(_ stored: UnsafeRawBufferPointer, to out: inout ByteBuffer) {
        guard let first = unsafe stored.first else { return }
        let groups = (stored.count - 1) / 3
        let rest = stored.count - 1 - groups * 3
        let count = max(0, groups * 4 + rest - (rest == 0 && first & 0x80 != 0 ? 1 : 0))
        let colon = min(Int(first & 0x7F), count)
        let mark = firebaseMark.count
        unsafe out.appendWith(minimum: count + mark + 4) { room in
            unsafe digits.withUnsafeBufferPointer { digits in
                for group in 0..<groups {
                    let at = 1 + group * 3
                    let bits = unsafe Int(stored[at]) << 16 | Int(stored[at + 1]) << 8 | Int(stored[at + 2])
                    for place in 0..<4 {
                        unsafe room[group * 4 + place] = digits[bits >> (18 - place * 6) & 63]
                    }
                }
                let at = 1 + groups * 3
                if rest > 0 { unsafe room[groups * 4] = digits[Int(stored[at] >> 2)] }
                if rest > 1 {
                    let low = unsafe Int(stored[at] & 3) << 4 | Int(stored[at + 1] >> 4)
                    unsafe room[groups * 4 + 1] = digits[low]
                }
            }
            // The mark goes in between.
            for place in stride(from: count - 1, through: colon, by: -1) {
                unsafe room[place + mark] = room[place]
            }
            for place in 0..<mark { unsafe room[colon + place] = firebaseMark[place] }
            return count + mark
        }
    }
}

/// Where the owner of a token stands: a hash of owners and a field of six bytes in it, both from the SHA-256
/// of the stored token.
package struct TokenOwnerPlace: Sendable, Equatable {
    /// How many hashes an app's owners are spread over. It may never change: keys depend on it.
    package static let buckets = 32_768

    /// The hash's number.
    package let bucket: Int
    /// The field.
    package let field: [UInt8]

    /// Makes the place of a stored token.
    package init(_ token: StoredToken) {
        let digest = unsafe token.bytes.withUnsafeBytes { unsafe SHA256.hash($0) }
        bucket = (Int(digest[0]) << 8 | Int(digest[1])) % Self.buckets
        field = Array(digest[2..<8])
    }

    /// Minutes since the beginning of 2020, the time in an owner's entry; at least 0, and below 2^24.
    package static func minute(ofMs time: Int64) -> Int64 {
        min(max(0, time / 60_000 - 26_297_280), (1 << 24) - 1)
    }
}
