internal import Core
internal import EventLoop
package import Terminal

/// The command line of `peal`, the operator's tool.
package enum PealCommand {
    /// What it takes.
    package static let command = Command(
        "peal", summary: "The operator's tool of the Peal notification pipeline.",
        subcommands: [
            UpCommand.command, DemoCommand.command, BenchCommand.command, ChaosCommand.command,
            ControlCommand.command, TopicsCommand.command, DeadCommand.command, TraceCommand.command,
            SizeCommand.command, TopCommand.command, CheckCommand.command, DevicesCommand.command,
            UnreadCommand.command,
            CompletionsCommand.command, ManCommand.command,
        ],
        details: """
            Everything that 'up' and 'demo' start runs on loopback and ends with them: an embedded Kafka
            broker, a private redis-server, doubles of APNs and FCM, a worker and a retry service, and with
            'up' a gateway and the broadcast stage.
            """)

    /// Runs the process's command line.
    /// - Returns: the exit code: 0 good, 1 something was found wrong, 2 it could not run, 64 a usage mistake.
    package static func main() -> Int32 {
        Signals.ignorePipe()
        let arguments = Console.arguments(for: command, version: Version.current)
        do throws(UsageFailure) {
            switch arguments.path.first {
            case "up": return try UpCommand.run(arguments)
            case "demo": return try DemoCommand.run(arguments)
            case "bench": return try BenchCommand.run(arguments)
            case "chaos": return try ChaosCommand.run(arguments)
            case "control": return try ControlCommand.run(arguments)
            case "topics": return try TopicsCommand.run(arguments)
            case "dead": return try DeadCommand.run(arguments)
            case "trace": return try TraceCommand.run(arguments)
            case "size": return try SizeCommand.run(arguments)
            case "top": return try TopCommand.run(arguments)
            case "check": return try CheckCommand.run(arguments)
            case "devices": return try DevicesCommand.run(arguments)
            case "unread": return try UnreadCommand.run(arguments)
            case "completions": return try CompletionsCommand.run(arguments)
            case "man": return try ManCommand.run(arguments)
            default: throw UsageFailure("name a command; peal --help lists them")
            }
        } catch {
            Console.failUsage(error, of: command)
        }
    }
}
