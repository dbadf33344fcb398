internal import EventLoop
internal import Terminal

/// Finds the demo's data files at run time.
///
/// In this order: `PEAL_HOME` (the root of the repository or of an installation), then every directory above
/// the executable. In each, `Sources/Peal/Data` and `share/peal` are looked at.
enum DemoFiles {
    static let jobs = "demo-jobs.ndjson"
    static let devices = "demo-devices.ndjson"

    /// The path that was given or, without one, where the demo's own file of that name is.
    static func path(_ given: String?, of name: String) throws(StackFailure) -> String {
        if let given { return given }
        var roots: [String] = []
        if let home = Console.environment["PEAL_HOME"], !home.isEmpty { roots.append(home) }
        var directory = StackOptions.ownDirectory[...]
        while let slash = directory.lastIndex(of: "/") {
            directory = directory[..<slash]
            roots.append(String(directory))
        }
        for root in roots {
            for folder in ["Sources/Peal/Data", "share/peal"] {
                let path = "\(root)/\(folder)/\(name)"
                if Files.exists(path) { return path }
            }
        }
        throw StackFailure(
            .files,
            "\(name) was not found; set PEAL_HOME to the repository, or name it with --input and --devices")
    }
}
