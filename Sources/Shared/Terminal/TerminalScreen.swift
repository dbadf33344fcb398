import Glibc

/// A terminal's whole screen, for a program that shows something live: keys come as they are typed, the
/// screen of before comes back at the end.
///
/// - Ownership: changes the terminal between ``open()`` and ``close()``; whoever opens it closes it on every
///   way out.
/// - Threading: one thread.
package final class TerminalScreen {
    private let input: Int32
    private let output: Int32
    private var saved: termios?
    private var isOpen = false
    private var shown: [String] = []

    /// A screen on these descriptors, which stay as they are until ``open()``.
    package init(input: Int32 = 0, output: Int32 = 1) {
        self.input = input
        self.output = output
    }

    deinit { close() }

    /// The size of the terminal behind a descriptor; nil when it is none or doesn't say.
    package static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return nil
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// The size now; 80 x 24 when the terminal doesn't say.
    package var size: (columns: Int, rows: Int) { Self.size(of: output) ?? (80, 24) }

    /// Takes the screen over: another one than the shell's, without a cursor, without an echo of keys. Keys
    /// that send signals are plain bytes from now on.
    package func open() {
        guard !isOpen else { return }
        isOpen = true
        shown = []
        var state = termios()
        if unsafe tcgetattr(input, &state) == 0 {
            saved = state
            state.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
            state.c_iflag &= ~tcflag_t(IXON | ICRNL)
            unsafe tcsetattr(input, TCSANOW, &state)
        }
        // Another screen, no cursor, no line that goes on in the next one.
        Console.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[H\u{1B}[2J", to: output)
    }

    /// Shows the lines. Only those that differ from what is there are written, so nothing flickers.
    package func draw(_ lines: [String]) {
        guard isOpen else { return }
        let text = Self.update(from: shown, to: lines)
        shown = lines
        if !text.isEmpty { Console.write(text, to: output) }
    }

    /// Writes everything anew with the next lines, as after a change of size.
    package func forget() {
        shown = []
        if isOpen { Console.write("\u{1B}[0m\u{1B}[2J", to: output) }
    }

    /// Gives the terminal back as it was. May be called again.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        Console.write("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l", to: output)
        if var state = saved {
            unsafe tcsetattr(input, TCSANOW, &state)
            saved = nil
        }
    }

    /// What has to be written so that `new` stands where `old` did. A terminal that knows the mark at the
    /// beginning shows it in one piece.
    package static func update(from old: [String], to new: [String]) -> String {
        var text = ""
        for row in 0..<max(old.count, new.count) {
            let line = row < new.count ? new[row] : ""
            if row < old.count, old[row] == line { continue }
            if row >= old.count, line.isEmpty, !old.isEmpty { continue }
            text += "\u{1B}[\(row + 1);1H\(line)\u{1B}[0m\u{1B}[K"
        }
        return text.isEmpty ? "" : "\u{1B}[?2026h\(text)\u{1B}[?2026l"
    }
}

/// A key that was typed.
package enum TerminalKey: Equatable, Sendable {
    case character(Character)
    case up, down, left, right
    case pageUp, pageDown, home, end
    case tab, backTab, enter, escape
    /// Ctrl-C, Ctrl-D or Ctrl-\.
    case interrupt
}

/// Tells keys out of the bytes that a terminal sends.
package struct KeyReader: Sendable {
    private var rest: [UInt8] = []

    /// Nothing was typed yet.
    package init() {}

    /// The most bytes of an unfinished sequence.
    private static let sequenceMax = 16

    /// Takes what came; what is only the beginning of a key waits for the next call. With `isPause` no more
    /// came for a while, and a lone escape is the key of that name.
    package mutating func take(_ bytes: some Sequence<UInt8>, isPause: Bool = false) -> [TerminalKey] {
        rest += bytes
        var keys: [TerminalKey] = []
        while let first = rest.first {
            if first == 0x1B {
                guard let (key, length) = sequence(isPause) else { break }
                rest.removeFirst(length)
                if let key { keys.append(key) }
            } else {
                let length = Self.length(of: first)
                if rest.count < length, !isPause { break }
                let text = String(decoding: rest.prefix(length), as: UTF8.self)
                rest.removeFirst(min(length, rest.count))
                if let key = Self.plain(first, text) { keys.append(key) }
            }
        }
        return keys
    }

    private static func length(of first: UInt8) -> Int {
        switch first {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 1
        }
    }

    private static func plain(_ byte: UInt8, _ text: String) -> TerminalKey? {
        switch byte {
        case 0x03, 0x04, 0x1C: return .interrupt
        case 0x09: return .tab
        case 0x0A, 0x0D: return .enter
        case ..<0x20, 0x7F, 0x80...0xC1, 0xF5...: return nil
        default: return text.first.map { .character($0) }
        }
    }

    /// The key of the escape sequence at the beginning, and its length; nil while it isn't complete.
    private func sequence(_ isPause: Bool) -> (TerminalKey?, Int)? {
        guard rest.count > 1 else { return isPause ? (.escape, 1) : nil }
        guard rest[1] == UInt8(ascii: "[") || rest[1] == UInt8(ascii: "O") else { return (.escape, 1) }
        for at in 2..<max(2, min(rest.count, Self.sequenceMax)) where (0x40...0x7E).contains(rest[at]) {
            let middle = String(decoding: rest[2..<at], as: UTF8.self)
            return (Self.named(rest[at], middle), at + 1)
        }
        // Longer than any key, or cut off: none of ours.
        return rest.count >= Self.sequenceMax || isPause ? (nil, min(rest.count, Self.sequenceMax)) : nil
    }

    private static func named(_ last: UInt8, _ middle: String) -> TerminalKey? {
        switch (last, middle) {
        case (UInt8(ascii: "A"), _): .up
        case (UInt8(ascii: "B"), _): .down
        case (UInt8(ascii: "C"), _): .right
        case (UInt8(ascii: "D"), _): .left
        case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
        case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
        case (UInt8(ascii: "Z"), _): .backTab
        case (UInt8(ascii: "~"), "5"): .pageUp
        case (UInt8(ascii: "~"), "6"): .pageDown
        default: nil
        }
    }
}
