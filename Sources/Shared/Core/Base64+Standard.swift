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
