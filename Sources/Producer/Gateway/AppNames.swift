internal import Configuration

/// The names of the configured apps: what workers deliver for, since one that isn't configured there has its
/// jobs put to `peal.dead`.
package struct AppNames: Sendable, Equatable {
    private let names: Set<String>

    /// Takes names.
    package init(_ names: some Sequence<String>) { self.names = Set(names) }

    /// Whether there is an app of this name.
    package func contains(_ name: String) -> Bool { names.contains(name) }

    /// What is wrong with a name that isn't one of an app, and what to do about it.
    package func fault(_ name: String) -> String {
        let hint = Suggestion.nearest(to: name, among: names).map { "did you mean \($0)? If not, " } ?? ""
        return "There is no app \"\(JSONBody.printable(name))\" in the gateway's configuration; \(hint)"
            + "write it under apps there and for the workers, a name is enough."
    }
}
