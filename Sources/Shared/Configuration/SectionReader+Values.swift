/// The typed values of a section. Each reports what is wrong and then goes on with the default, so that all
/// problems of a file are found in one go.
extension SectionReader {
    func text(_ key: String, _ fallback: String) -> String {
        find(key)?.text ?? fallback
    }

    /// A text that may be missing; an empty one counts as missing.
    func optionalText(_ key: String) -> String? {
        guard let text = find(key)?.text, !text.isEmpty else { return nil }
        return text
    }

    /// A list of texts without empty ones.
    func texts(_ key: String, _ fallback: [String]) -> [String] {
        guard let found = findList(key) else { return fallback }
        return found.map(\.text).filter { !$0.isEmpty }
    }

    /// A file's path, made absolute or relative to the working directory.
    func file(_ key: String) -> String? {
        guard let found = find(key), !found.text.isEmpty else { return nil }
        return path(found, key)
    }

    /// A list of files' paths.
    func files(_ key: String) -> [String] {
        (findList(key) ?? []).filter { !$0.text.isEmpty }.map { path($0, key) }
    }

    private func path(_ found: Found, _ key: String) -> String {
        // A path from the environment is relative to where the process was started, one from the file to the
        // file.
        let isFromFile = found.place != variableName(key)
        guard isFromFile, !found.text.hasPrefix("/"), !context.directory.isEmpty else { return found.text }
        return context.directory + "/" + found.text
    }

    func flag(_ key: String, _ fallback: Bool) -> Bool {
        guard let found = find(key) else { return fallback }
        switch found.text.lowercased() {
        case "true", "yes", "on", "1": return true
        case "false", "no", "off", "0": return false
        default:
            report(.badValue, found, key, "'\(found.text)' is neither true nor false")
            return fallback
        }
    }

    func integer(_ key: String, _ fallback: Int, in range: ClosedRange<Int>) -> Int {
        guard let found = find(key) else { return fallback }
        guard let value = Int(found.text), range.contains(value) else {
            report(
                .badValue, found, key,
                "'\(found.text)' must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return fallback
        }
        return value
    }

    func number(_ key: String, _ fallback: Double, in range: ClosedRange<Double>) -> Double {
        guard let found = find(key) else { return fallback }
        guard let value = Double(found.text), range.contains(value) else {
            report(
                .badValue, found, key,
                "'\(found.text)' must be a number from \(range.lowerBound) to \(range.upperBound)")
            return fallback
        }
        return value
    }

    /// A duration in ms.
    func duration(_ key: String, _ fallback: Int64, in range: ClosedRange<Int64>) -> Int64 {
        guard let found = find(key) else { return fallback }
        guard let value = Units.durationMs(found.text) else {
            report(
                .badValue, found, key, "'\(found.text)' is no duration; write it like 500ms, 10s, 15m or 1h")
            return fallback
        }
        guard range.contains(value) else {
            let low = Units.text(durationMs: range.lowerBound)
            let high = Units.text(durationMs: range.upperBound)
            report(.badValue, found, key, "\(found.text) must lie between \(low) and \(high)")
            return fallback
        }
        return value
    }

    /// A size in bytes.
    func size(_ key: String, _ fallback: Int, in range: ClosedRange<Int>) -> Int {
        guard let found = find(key) else { return fallback }
        guard let value = Units.bytes(found.text).flatMap({ Int(exactly: $0) }), range.contains(value) else {
            report(
                .badValue, found, key,
                "'\(found.text)' must be a size from \(range.lowerBound) to \(range.upperBound) bytes, "
                    + "like 4096, 64KiB or 1MB")
            return fallback
        }
        return value
    }

    /// One of a closed set of names.
    func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, _ fallback: Choice) -> Choice
    where Choice.RawValue == String {
        guard let found = find(key) else { return fallback }
        guard let value = Choice(rawValue: found.text) else {
            let names = Choice.allCases.map(\.rawValue)
            let hint = Suggestion.nearest(to: found.text, among: names).map { " (did you mean \($0)?)" } ?? ""
            report(
                .badValue, found, key,
                "'\(found.text)' must be one of \(names.joined(separator: ", "))\(hint)")
            return fallback
        }
        return value
    }

    /// An address to listen on; nil for `off`.
    func listen(_ key: String, _ fallback: ListenAddress?) -> ListenAddress? {
        guard let found = find(key) else { return fallback }
        if found.text == "off" { return nil }
        guard let address = ListenAddress(found.text) else {
            report(
                .badValue, found, key,
                "'\(found.text)' is no address; write host:port, :port for all interfaces, or off")
            return fallback
        }
        return address
    }
}

/// Where a process listens.
package struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    /// An IPv4 or IPv6 address; `0.0.0.0` for all interfaces.
    package var host: String
    /// 0 lets the system choose.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port`, `[v6]:port` or `:port`; nil when it is none of them.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        self.host = host.isEmpty ? "0.0.0.0" : String(host)
        self.port = port
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
