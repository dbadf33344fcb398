extension Base64 {
    /// The standard form with padding (RFC 4648 section 4).
    package static func encode(_ bytes: [UInt8]) -> String {
        let text = encodeURL(bytes).map { character -> Character in
            switch character {
            case "-": "+"
            case "_": "/"
            default: character
            }
        }
        return String(text) + String(repeating: "=", count: (3 - bytes.count % 3) % 3)
    }
}

extension Base64 {
    /// Decodes base64url without padding in the one form that an encoder writes (RFC 7515 section 2); nil for
    /// anything else, so that a text has no second spelling.
    package static func decodeCanonicalURL(_ text: some Collection<UInt8>) -> [UInt8]? {
        let isOfAlphabet = text.allSatisfy { character in
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isOfAlphabet, text.count % 4 != 1, let bytes = decode(text) else { return nil }
        // Unused bits of the last character must be zero.
        return encodeURL(bytes).utf8.elementsEqual(text) ? bytes : nil
    }
}
