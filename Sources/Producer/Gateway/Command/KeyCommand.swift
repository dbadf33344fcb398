package import Terminal

/// The command `peal-producer key`.
package enum KeyCommand {
    private static let new = Command(
        "new", summary: "Makes an API key and the line for the keys file.",
        options: [
            Option("name", .value("NAME"), help: "What the key is called; unique in the file."),
            Option("apps", .value("APP,...|*"), help: "The apps that it may be used for."),
            Option("scopes", .value("SCOPE,..."), help: "send, register, read, admin; one or more of them."),
        ],
        details: """
            The key is printed once and stands nowhere: the line holds its SHA-256 alone. Append the line to
            the file that gateway.keys_file names; a running gateway takes it up within a second.

            Exit codes: 0 made, 64 wrong call.
            """)

    /// Its description.
    package static let command = Command(
        "key", summary: "Makes API keys and the master key, and changes the latter.",
        subcommands: [new] + MasterKeyCommand.subcommands)

    /// Makes what the keys file holds of the key `text`.
    /// - Throws: what is wrong with the options.
    package static func make(_ arguments: Arguments, text: String) throws(UsageFailure) -> APIKey {
        let form = "1 to 64 letters, digits, dots, underscores or hyphens"
        if let twice = arguments.repeated.first {
            // The last one would count, and the key would open less, or something else, than was meant.
            throw UsageFailure("--\(twice) stands twice; give it once, names with commas")
        }
        guard let name = arguments.string("name") else {
            throw UsageFailure("key new needs --name: \(form)")
        }
        guard APIKey.isName(name) else { throw UsageFailure("--name may hold \(form), nothing else") }
        guard let list = arguments.string("apps"), !list.isEmpty else {
            throw UsageFailure("key new needs --apps: names with commas, or * for all")
        }
        var apps: Set<String>?
        if list != "*" {
            let names = list.split(separator: ",", omittingEmptySubsequences: false)
            if let wrong = names.first(where: { !APIKey.isName($0) }) {
                throw UsageFailure("--apps names \"\(wrong)\", which can't be an app")
            }
            apps = Set(names.map(String.init))
        }
        var scopes: Set<Scope> = []
        for word in (arguments.string("scopes") ?? "").split(separator: ",") {
            guard let scope = Scope(rawValue: String(word)) else {
                throw UsageFailure("--scopes names \"\(word)\"; there are send, register, read and admin")
            }
            scopes.insert(scope)
        }
        guard !scopes.isEmpty else {
            throw UsageFailure("key new needs --scopes: one or more of send, register, read, admin")
        }
        return APIKey(name: name, digest: APIKey.digest(of: text), apps: apps, scopes: scopes)
    }

    /// Makes a key and prints it; the process's exit code.
    package static func run(_ arguments: Arguments, root: Command) -> Int32 {
        guard arguments.path.last == "new" else { return MasterKeyCommand.run(arguments) }
        let text = APIKey.makeText()
        do throws(UsageFailure) {
            let key = try make(arguments, text: text)
            Console.write("key   \(text)\nline  \(key.line)\n")
            return 0
        } catch {
            Console.failUsage(error, of: root)
        }
    }
}
