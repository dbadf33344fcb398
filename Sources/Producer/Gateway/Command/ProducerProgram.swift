internal import ProducerKit
package import Terminal

/// The whole of `peal-producer`: what publishes from the command line, and the gateway.
package enum ProducerProgram {
    /// The whole command.
    package static let root = Command(
        "peal-producer", summary: ProducerCommand.root.summary,
        subcommands: ProducerCommand.root.subcommands + [ServeCommand.command, KeyCommand.command])

    /// Runs the process and gives its exit code.
    package static func main(version: String) -> Int32 {
        let arguments = Console.arguments(for: root, version: version)
        switch arguments.path.first {
        case "serve": return ServeCommand.run(arguments)
        case "key": return KeyCommand.run(arguments, root: root)
        default: return ProducerCommand.run(arguments, root: root)
        }
    }
}
