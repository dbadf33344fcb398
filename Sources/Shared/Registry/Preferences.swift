/// What a recipient wants, in the form that the HTTP API takes it and tools show it.
///
/// In Redis it is the field `prefs` of the user's hash:
/// `muted=<ms>;kinds=<a,b>;quiet=<22:00-07:00>;zone=<name>`, each part left out when it is empty.
package struct Preferences: Sendable, Equatable {
    /// Milliseconds since 1970 until when everything is muted; nil when nothing is, `Int64.max` for ever.
    package var mutedUntilMs: Int64?
    /// Muted kinds and topics; letters, digits, dots, hyphens, underscores, colons and slashes.
    package var mutedKinds: [String]
    /// Quiet hours as `22:00-07:00`, or empty.
    package var quietHours: String
    /// The IANA time zone of the quiet hours, or empty.
    package var timeZone: String

    /// Makes preferences.
    package init(
        mutedUntilMs: Int64? = nil, mutedKinds: [String] = [], quietHours: String = "", timeZone: String = ""
    ) {
        self.mutedUntilMs = mutedUntilMs
        self.mutedKinds = mutedKinds
        self.quietHours = quietHours
        self.timeZone = timeZone
    }

    /// Copies preferences out of a reply.
    package init(_ view: PreferencesView) {
        unsafe self.init(
            mutedUntilMs: view.mutedUntilMs,
            mutedKinds: String(decoding: view.mutedKinds, as: UTF8.self).split(separator: ",").map(
                String.init),
            quietHours: String(decoding: view.quietHours, as: UTF8.self),
            timeZone: String(decoding: view.timeZone, as: UTF8.self))
    }

    /// The value in Redis. Characters that would break the format are left out.
    package var text: String {
        var parts: [String] = []
        if let mutedUntilMs { parts.append("muted=\(mutedUntilMs == .max ? -1 : mutedUntilMs)") }
        let kinds = mutedKinds.map(Self.clean).filter { !$0.isEmpty }
        if !kinds.isEmpty { parts.append("kinds=" + kinds.joined(separator: ",")) }
        if !quietHours.isEmpty { parts.append("quiet=" + Self.clean(quietHours)) }
        if !timeZone.isEmpty { parts.append("zone=" + Self.clean(timeZone)) }
        return parts.joined(separator: ";")
    }

    private static func clean(_ text: String) -> String { text.filter { !";,=".contains($0) } }
}

/// A recipient's preferences read in place; see ``Preferences`` for the format. The rules are the worker's.
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

    /// Muted kinds and topics, separated by commas.
    package var mutedKinds: UnsafeRawBufferPointer { unsafe part("kinds") }

    /// Quiet hours as `22:00-07:00`, or empty.
    package var quietHours: UnsafeRawBufferPointer { unsafe part("quiet") }

    /// The IANA time zone of the quiet hours, or empty.
    package var timeZone: UnsafeRawBufferPointer { unsafe part("zone") }

    /// Whether the kind or topic is muted; an empty one never is.
    package func mutes(_ kind: UnsafeRawBufferPointer) -> Bool {
        guard unsafe !kind.isEmpty else { return false }
        let list = unsafe mutedKinds
        var start = 0
        for at in 0...list.count where unsafe at == list.count || list[at] == UInt8(ascii: ",") {
            if unsafe UnsafeRawBufferPointer(rebasing: list[start..<at]).elementsEqual(kind) { return true }
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
