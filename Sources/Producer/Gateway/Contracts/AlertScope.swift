/// Of which apps a device takes alerts: all, all but some, or some.
///
/// A pure value. As text it is a list with commas: `*` for all, an app's id for one, `!` and an id for one
/// that is left out of all.
package struct AlertScope: Sendable, Equatable {
    /// The most ids that one device may name.
    package static let idsMax = 64

    /// Whether everything is taken that isn't left out.
    package private(set) var takesAll: Bool
    /// The apps that are left out of all, or the only ones taken.
    package private(set) var ids: Set<String>

    /// Every app.
    package static let all = AlertScope(takesAll: true, ids: [])
    /// No app.
    package static let none = AlertScope(takesAll: false, ids: [])

    init(takesAll: Bool, ids: Set<String>) {
        self.takesAll = takesAll
        self.ids = ids
    }

    /// Reads the text; nil stands for every app.
    package init(text: String?) {
        guard let text else {
            self = .all
            return
        }
        let entries = text.split(separator: ",")
        takesAll = entries.contains("*")
        let isLeftOut = takesAll
        ids = Set(
            entries.compactMap { entry in
                guard entry != "*" else { return nil }
                if isLeftOut { return entry.first == "!" ? String(entry.dropFirst()) : nil }
                return entry.first == "!" ? nil : String(entry)
            })
    }

    /// The text; nil for every app, which needs none.
    package var text: String? {
        if self == .all { return nil }
        let sorted = ids.sorted()
        return (takesAll ? ["*"] + sorted.map { "!\($0)" } : sorted).joined(separator: ",")
    }

    /// Whether nothing is taken, so that the device need not be known.
    package var isNone: Bool { !takesAll && ids.isEmpty }

    /// Whether the app's alerts are taken.
    package func takes(_ id: String) -> Bool { takesAll != ids.contains(id) }

    /// Subscribes to one app, or to all when there is no id; false when that would be more than ``idsMax``.
    package mutating func subscribe(_ id: String?) -> Bool {
        guard let id else {
            self = .all
            return true
        }
        if takesAll { ids.remove(id) } else { ids.insert(id) }
        return ids.count <= Self.idsMax
    }

    /// Unsubscribes from one app, or from all when there is no id; false when that would be more than
    /// ``idsMax``.
    package mutating func unsubscribe(_ id: String?) -> Bool {
        guard let id else {
            self = .none
            return true
        }
        if takesAll { ids.insert(id) } else { ids.remove(id) }
        return ids.count <= Self.idsMax
    }
}
