internal import ProducerKit
package import Terminal

/// The whole of `peal-producer`: what publishes from the command line, and the keys.
package enum ProducerProgram {
    private static let key = Command(
        "key", summary: "Makes and changes keys.", subcommands: MasterKeyCommand.subcommands)

    /// The whole command.
    package static let root = Command(
        "peal-producer", summary: ProducerCommand.root.summary,
        subcommands: ProducerCommand.root.subcommands + [key])

    /// Runs the process and gives its exit code.
    package static func main(version: String) -> Int32 {
        let arguments = Console.arguments(for: root, version: version)
        if arguments.path.first == "key" { return MasterKeyCommand.run(arguments) }
        return ProducerCommand.main(version: version)
    }
}
