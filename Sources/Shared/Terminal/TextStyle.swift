/// Colours, or none.
package struct TextStyle: Sendable {
    /// The styles that are used.
    package enum Kind: String, Sendable {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case cyan = "36"
        case inverse = "7"
    }

    /// Whether text is styled at all.
    package let isEnabled: Bool

    /// Styles text, or leaves it as it is.
    package init(isEnabled: Bool) { self.isEnabled = isEnabled }

    /// The text in the style.
    package func callAsFunction(_ kind: Kind, _ text: String) -> String {
        isEnabled && !text.isEmpty ? "\u{1B}[\(kind.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Whether to colour: only a terminal, never with NO_COLOR (no-color.org) or TERM=dumb.
    package static func wantsColour(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }
}

/// How many columns text takes in a terminal.
package enum DisplayWidth {
    /// The columns of the text; escape sequences take none, wide characters two.
    package static func of(_ text: String) -> Int {
        var width = 0
        var isEscape = false
        for character in text {
            if isEscape {
                if character == "m" { isEscape = false }
            } else if character == "\u{1B}" {
                isEscape = true
            } else {
                width += columns(character)
            }
        }
        return width
    }

    /// The text, which holds no escape sequences, in at most `width` columns; what is left out leaves a mark.
    package static func clip(_ text: String, to width: Int) -> String {
        guard of(text) > width else { return text }
        guard width > 0 else { return "" }
        var out = ""
        var used = 0
        for character in text {
            let columns = columns(character)
            guard used + columns < width else { break }
            out.append(character)
            used += columns
        }
        return out + "…"
    }

    /// The text in exactly `width` columns.
    package static func fit(_ text: String, to width: Int, right: Bool = false) -> String {
        let clipped = clip(text, to: width)
        let pad = String(repeating: " ", count: max(0, width - of(clipped)))
        return right ? pad + clipped : clipped + pad
    }

    /// The text in lines of at most `width` columns, broken between words where that can be.
    package static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            var word = String(word)
            if of(line) + of(word) + (line.isEmpty ? 0 : 1) <= width {
                line += (line.isEmpty ? "" : " ") + word
                continue
            }
            if !line.isEmpty { lines.append(line) }
            while of(word) > width {
                var head = ""
                while let next = word.first, of(head + String(next)) <= width {
                    head.append(word.removeFirst())
                }
                if head.isEmpty { break }
                lines.append(head)
            }
            line = word
        }
        return line.isEmpty ? lines : lines + [line]
    }

    private static func columns(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        let value = scalar.value
        if value < 0x20 || value == 0x7F { return 0 }
        if value < 0x1100 { return character.unicodeScalars.contains { $0.value == 0xFE0F } ? 2 : 1 }
        let isWide =
            (0x1100...0x115F).contains(value) || (0x2E80...0xA4CF).contains(value)
            || (0xAC00...0xD7A3).contains(value) || (0xF900...0xFAFF).contains(value)
            || (0xFE30...0xFE6F).contains(value) || (0xFF00...0xFF60).contains(value)
            || (0x1F300...0x1FAFF).contains(value) || (0x20000...0x3FFFD).contains(value)
            || character.unicodeScalars.contains { $0.value == 0xFE0F }
        return isWide ? 2 : 1
    }
}
