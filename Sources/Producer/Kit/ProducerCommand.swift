import Configuration
import Core
import EventLoop
import Glibc
import Kafka
package import Terminal

/// The command line of `peal-producer`.
package enum ProducerCommand {
    /// The options that say where Kafka is.
    package static let kafkaOptions = [
        Option(
            "brokers", short: "b", .value("HOST:PORT,..."), environment: "PEAL_KAFKA_BROKERS",
            help: "Where Kafka is; 127.0.0.1:9092 unless given."),
        Option("property", short: "X", .values("NAME=VALUE"), help: "A librdkafka property."),
        Option(
            "topic-prefix", .value("TEXT"), environment: "PEAL_TOPIC_PREFIX",
            help: "What the topics' names begin with; peal unless given."),
    ]

    /// The `send` command.
    package static let send = Command(
        "send", summary: "Sends notification jobs from files or standard input to Kafka.",
        operands: "[FILE...|-]",
        options: kafkaOptions + [
            Option(
                "lane", short: "l", .value("LANE"), help: "urgent, normal (unless given) or bulk."),
            Option("rate", short: "r", .value("N"), help: "At most N jobs a second."),
            Option("dry-run", short: "n", help: "Check every job and send nothing."),
            Option(
                "on-bad", .value("stop|skip"),
                help: "What to do about a job that can't be read: send what came before it and end "
                    + "(unless given), or leave it out."),
            Option(
                "patience", .value("TIME"),
                help: "How long to wait for the brokers at the start and at the end; 30s unless given."),
            Option("json", help: "Print the summary as JSON."),
            Option("quiet", short: "q", help: "Show no progress and no summary."),
        ],
        details: """
            The input is one job a line (NDJSON) or one JSON array of jobs. A job without an id gets a ULID. A
            job whose send_at is still to come waits in a retry topic. Ctrl-C ends cleanly and tells how many
            jobs are confirmed.

            Exit codes: 0 all confirmed, 1 some are not or the input is bad, 64 wrong call, 69 no broker,
            130 interrupted.
            """)

    /// A command of another library that this program offers as well.
    package struct Service: Sendable {
        /// What it takes.
        package let command: Command
        /// Does it; the exit code. The second argument is the whole command, for its help.
        package let run: @Sendable (Arguments, Command) -> Int32

        /// Puts the two together.
        package init(_ command: Command, _ run: @escaping @Sendable (Arguments, Command) -> Int32) {
            self.command = command
            self.run = run
        }
    }

    /// The whole command.
    package static let root = root([])

    /// The whole command with those of the services.
    package static func root(_ services: [Command]) -> Command {
        Command(
            "peal-producer", summary: "Publishes notification jobs.",
            subcommands: [send, ReadCommand.command] + services)
    }

    /// Reads the `send` command's options.
    /// - Throws: what is wrong with them.
    package static func settings(_ arguments: Arguments) throws(UsageFailure) -> SendSettings {
        var settings = SendSettings()
        if let brokers = try Self.brokers(arguments) { settings.brokers = brokers }
        settings.properties = try arguments.pairs("property")
        if let prefix = arguments.string("topic-prefix") { settings.names = TopicNames(prefix: prefix) }
        if let lane = try arguments.choice("lane", of: TopicNames.lanes) {
            settings.lane = TopicNames.lanes.firstIndex(of: lane) ?? settings.lane
        }
        if let rate = try arguments.number("rate") {
            guard rate > 0 else { throw UsageFailure("--rate takes a number above 0") }
            settings.perSecond = rate
        }
        settings.isDryRun = arguments.flag("dry-run")
        if let text = try arguments.choice("on-bad", of: SendSettings.BadJob.allCases.map(\.rawValue)) {
            settings.badJob = SendSettings.BadJob(rawValue: text) ?? .stop
        }
        if let patience = try arguments.durationMs("patience") { settings.patienceMs = patience }
        settings.showsProgress = !arguments.flag("quiet")
        return settings
    }

    /// The brokers that the options name.
    /// - Throws: what is wrong with one of them.
    static func brokers(_ arguments: Arguments) throws(UsageFailure) -> String? {
        guard let brokers = arguments.string("brokers") else { return nil }
        if let fault = BrokerList.fault(brokers) { throw UsageFailure("--brokers \(fault)") }
        return brokers
    }

    private static func read(_ arguments: Arguments, _ root: Command) -> Int32 {
        do throws(UsageFailure) {
            return ReadCommand.run(try ReadCommand.settings(arguments))
        } catch {
            Console.failUsage(error, of: root)
        }
    }

    /// Runs the process, which offers the services' commands too, and gives its exit code.
    package static func main(version: String, services: [Service] = []) -> Int32 {
        let root = root(services.map(\.command))
        let arguments = Console.arguments(for: root, version: version)
        // A service has signals and a life of its own.
        for service in services where arguments.path.first == service.command.name {
            return service.run(arguments, root)
        }
        let stop = StopFlag()
        Interruption.watch(stop)
        Signals.ignorePipe()
        if arguments.path == ["read"] { return read(arguments, root) }
        let settings: SendSettings
        do throws(UsageFailure) {
            settings = try Self.settings(arguments)
        } catch {
            Console.failUsage(error, of: root)
        }
        do throws(KafkaFailure) {
            let sender = try JobSender(settings, stop: stop, complain: Console.complain)
            let paths = arguments.operands.isEmpty ? ["-"] : arguments.operands
            let summary = try sender.run(paths)
            if arguments.flag("json") {
                Console.write(summary.json + "\n")
            } else if !arguments.flag("quiet") {
                Console.write(summary.text(style: Console.style))
            }
            return summary.exitCode
        } catch {
            let place = error.code == .timeout ? "Kafka at \(settings.brokers) can't be reached: " : ""
            Console.complain("peal-producer: \(place)\(error.message)")
            if error.code == .configuration { return UsageFailure.exitCode }
            // EX_UNAVAILABLE of sysexits.h.
            return 69
        }
    }
}
