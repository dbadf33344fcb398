internal import Core
internal import Decisions

/// What a recipient wants, in the form that the HTTP API takes it and tools show it.
///
/// In Redis it is the field `prefs` of the user's hash:
/// `muted=<ms>;kinds=<a,b>;topics=<a,b>;threads=<a,b>;quiet=<22:00-07:00>;zone=<name>;locale=<tag>`, each
/// part left out when it is empty, and what would break the form escaped as ``EscapedText`` does.
package struct Preferences: Sendable, Equatable {
    /// The most entries of a list of mutes.
    package static let mutesMax = 200

    /// Milliseconds since 1970 until when everything is muted; nil when nothing is, `Int64.max` for ever.
    package var mutedUntilMs: Int64?
    /// Muted kinds of notifications, topics and threads.
    package var mutedKinds: [String]
    package var mutedTopics: [String]
    package var mutedThreads: [String]
    /// Quiet hours as `22:00-07:00`, or empty.
    package var quietHours: String
    /// The IANA time zone of the quiet hours; empty for that of the recipient's devices.
    package var timeZone: String
    /// A BCP 47 tag such as `en-GB`, or empty.
    package var locale: String

    /// Makes preferences.
    package init(
        mutedUntilMs: Int64? = nil, mutedKinds: [String] = [], mutedTopics: [String] = [],
        mutedThreads: [String] = [], quietHours: String = "", timeZone: String = "", locale: String = ""
    ) {
        self.mutedUntilMs = mutedUntilMs
        self.mutedKinds = mutedKinds
        self.mutedTopics = mutedTopics
        self.mutedThreads = mutedThreads
        self.quietHours = quietHours
        self.timeZone = timeZone
        self.locale = locale
    }

    /// Copies preferences out of a reply.
    package init(_ view: PreferencesView) {
        unsafe self.init(
            mutedUntilMs: view.mutedUntilMs, mutedKinds: EscapedText.list(view.mutedKinds),
            mutedTopics: EscapedText.list(view.mutedTopics),
            mutedThreads: EscapedText.list(view.mutedThreads),
            quietHours: EscapedText.unescape(view.quietHours),
            timeZone: EscapedText.unescape(view.timeZone), locale: EscapedText.unescape(view.locale))
    }

    /// What is wrong with them, as a sentence that says what to change; nil when nothing is.
    package var fault: String? {
        if !quietHours.isEmpty, QuietHours(quietHours.utf8) == nil {
            return "quiet hours are written like 22:00-07:00, in 24 hours, with different times"
        }
        if !timeZone.isEmpty, !TimeZoneTable.isName(timeZone) {
            return "a time zone is an IANA name such as Europe/Berlin"
        }
        if locale.utf8.count > 35 || !locale.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) {
            return "a locale is a BCP 47 tag such as en-GB"
        }
        let lists = [
            (mutedKinds, 128, "kinds"), (mutedTopics, 256, "topics"), (mutedThreads, 256, "threads"),
        ]
        for (list, bytes, name) in lists {
            if list.count > Self.mutesMax { return "at most \(Self.mutesMax) \(name) can be muted" }
            guard list.allSatisfy({ (1...bytes).contains($0.utf8.count) }) else {
                return "each of the muted \(name) has 1 to \(bytes) bytes"
            }
        }
        return nil
    }

    /// The value in Redis.
    package var text: String {
        var parts: [String] = []
        if let mutedUntilMs { parts.append("muted=\(mutedUntilMs == .max ? -1 : mutedUntilMs)") }
        for (name, list) in [("kinds", mutedKinds), ("topics", mutedTopics), ("threads", mutedThreads)] {
            let escaped = list.filter { !$0.isEmpty }.map { EscapedText.escape($0) }
            if !escaped.isEmpty { parts.append("\(name)=" + escaped.joined(separator: ",")) }
        }
        for (name, value) in [("quiet", quietHours), ("zone", timeZone), ("locale", locale)]
        where !value.isEmpty {
            parts.append("\(name)=" + EscapedText.escape(value))
        }
        return parts.joined(separator: ";")
    }
}

/// A recipient's preferences read in place; see ``Preferences`` for the format.
///
/// - Valid: as long as the bytes that it was made from.
@safe
package struct PreferencesView {
    let bytes: UnsafeRawBufferPointer

    /// Wraps the value of the field `prefs`; unknown parts are left alone.
    package init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = unsafe bytes }

    /// Whether the recipient has none: the common case.
    @inline(__always) package var isEmpty: Bool { unsafe bytes.isEmpty }

    /// Milliseconds since 1970 until when everything is muted; nil when nothing is, `Int64.max` for ever.
    package var mutedUntilMs: Int64? {
        let text = unsafe part("muted")
        guard unsafe !text.isEmpty, let until = unsafe Int64(String(decoding: text, as: UTF8.self)),
            until != 0
        else {
            return nil
        }
        return until < 0 ? .max : until
    }

    /// Muted kinds, separated by commas and escaped.
    package var mutedKinds: UnsafeRawBufferPointer { unsafe part("kinds") }

    /// Muted topics, separated by commas and escaped.
    package var mutedTopics: UnsafeRawBufferPointer { unsafe part("topics") }

    /// Muted threads, separated by commas and escaped.
    package var mutedThreads: UnsafeRawBufferPointer { unsafe part("threads") }

    /// Quiet hours as `22:00-07:00`, or empty.
    package var quietHours: UnsafeRawBufferPointer { unsafe part("quiet") }

    /// The IANA time zone of the quiet hours, or empty.
    package var timeZone: UnsafeRawBufferPointer { unsafe part("zone") }

    /// A BCP 47 tag, or empty.
    package var locale: UnsafeRawBufferPointer { unsafe part("locale") }

    /// Whether one of these lists has the name; an empty name never is in one.
    package static func contains(_ list: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer) -> Bool {
        guard unsafe !name.isEmpty, unsafe !list.isEmpty else { return false }
        var start = 0
        for at in 0...list.count where unsafe at == list.count || list[at] == UInt8(ascii: ",") {
            let element = unsafe UnsafeRawBufferPointer(rebasing: list[start..<at])
            if unsafe EscapedText.stands(element, for: name) { return true }
            start = at + 1
        }
        return false
    }

    private func part(_ name: StaticString) -> UnsafeRawBufferPointer {
        let name = unsafe UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var start = 0
        for at in unsafe 0...bytes.count where unsafe at == bytes.count || bytes[at] == UInt8(ascii: ";") {
            let one = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<at])
            start = at + 1
            guard one.count > name.count, unsafe one[name.count] == UInt8(ascii: "=") else { continue }
            if unsafe one.starts(with: name) {
                return unsafe UnsafeRawBufferPointer(rebasing: one[(name.count + 1)...])
            }
        }
        return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    }
}
