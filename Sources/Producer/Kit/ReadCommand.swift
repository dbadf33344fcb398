import Core
import EventLoop
import Jobs
package import Redis
package import Registry
package import Terminal

/// What one call of `read` does.
package struct ReadSettings: Sendable {
    package var app = ""
    package var recipient = ""
    /// The device that read; empty when it is none of them.
    package var device = ""
    package var change = UnreadChange.set(0, asOfMs: 0)
    package var redis: RedisEndpoint
    /// Where Kafka is and how long it is waited for.
    package var kafka: SendSettings
    package var isJSON = false

    /// Makes settings that still lack who is meant.
    package init(redis: RedisEndpoint, kafka: SendSettings) {
        self.redis = redis
        self.kafka = kafka
    }
}

/// The command `peal-producer read`.
package enum ReadCommand {
    /// Its description.
    package static let command = Command(
        "read", summary: "Sets the unread counter after a read and tells the other devices.",
        options: ProducerCommand.kafkaOptions + [
            Option(
                "redis", .value("URL"), environment: "PEAL_REDIS_URL",
                help: "Where Redis is, as redis://, rediss:// or unix:///PATH; redis://127.0.0.1:6379 unless "
                    + "given."),
            Option("app", .value("APP"), help: "The app."),
            Option("recipient", .value("RECIPIENT"), help: "Whose counter it is."),
            Option("device", .value("DEVICE"), help: "The device that read; it isn't told."),
            Option("set", .value("N"), help: "The counter is now N."),
            Option(
                "as-of", .value("MS"),
                help: "The client's time of --set, milliseconds since 1970; an older one is ignored."),
            Option(
                "thread", .value("THREAD"),
                help: "With --set: it is that of one thread, and the counter changes by the difference."),
            Option("add", .value("N"), help: "Adds N to the counter; -3 takes three away."),
            Option(
                "patience", .value("TIME"),
                help: "How long to wait for the brokers; 30s unless given."),
            Option("json", help: "Print the result as JSON."),
        ],
        details: """
            The other devices are told by a silent push that carries the counter's value when it is sent. Reads
            of one device within a second share one push.

            Exit codes: 0 done, 64 wrong call, 69 no Redis or no broker. When only the broker was missing, the
            counter has been changed, and the next read tells the other devices.
            """)

    /// Reads the options.
    /// - Throws: what is wrong with them.
    package static func settings(_ arguments: Arguments) throws(UsageFailure) -> ReadSettings {
        let endpoint: RedisEndpoint
        do throws(RedisFailure) {
            endpoint = try RedisEndpoint(url: arguments.string("redis") ?? "redis://127.0.0.1:6379")
        } catch {
            throw UsageFailure("--redis: \(error.message)")
        }
        var kafka = SendSettings()
        if let brokers = try ProducerCommand.brokers(arguments) { kafka.brokers = brokers }
        kafka.properties = try arguments.pairs("property")
        if let prefix = arguments.string("topic-prefix") { kafka.names = .init(prefix: prefix) }
        if let patience = try arguments.durationMs("patience") { kafka.patienceMs = patience }
        var settings = ReadSettings(redis: endpoint, kafka: kafka)
        guard let app = arguments.string("app"), let recipient = arguments.string("recipient") else {
            throw UsageFailure("read needs --app and --recipient")
        }
        settings.app = app
        settings.recipient = recipient
        settings.device = arguments.string("device") ?? ""
        settings.isJSON = arguments.flag("json")
        let count = try arguments.integer("set", in: 0...1_000_000_000)
        let delta = try arguments.integer("add", in: -1_000_000_000...1_000_000_000)
        let asOf = try arguments.integer("as-of")
        let thread = arguments.string("thread")
        switch (count, delta) {
        case (let count?, nil) where thread != nil && asOf == nil:
            settings.change = .setThread(thread ?? "", Int64(count))
        case _ where thread != nil: throw UsageFailure("--thread goes with --set alone")
        case (let count?, nil): settings.change = .set(Int64(count), asOfMs: Int64(asOf ?? 0))
        case (nil, let delta?) where asOf == nil: settings.change = .add(Int64(delta))
        case (nil, _?): throw UsageFailure("--as-of goes with --set")
        default: throw UsageFailure("read needs either --set or --add")
        }
        return settings
    }

    /// Runs the command and gives its exit code.
    package static func run(
        _ settings: ReadSettings, write: (String) -> Void = Console.write,
        complain: (String) -> Void = Console.complain
    ) -> Int32 {
        do {
            let session = try RedisSession(settings.redis, scripts: RegistryScripts.all)
            defer { session.close() }
            guard let publisher = ReadPublisher(session: session, kafka: settings.kafka) else {
                complain("peal-producer: no memory is left for the job parser")
                return 69
            }
            defer { publisher.close() }
            let answer = try publisher.read(
                settings.change, app: settings.app, recipient: settings.recipient, device: settings.device,
                nowMs: Clock.wallMs)
            write(text(answer, isJSON: settings.isJSON))
            return 0
        } catch ReadFailure.job(let fault) {
            complain("peal-producer: \(fault.description)")
            return UsageFailure.exitCode
        } catch ReadFailure.kafka(let sentence) {
            complain("peal-producer: the counter is set, but the other devices aren't told: \(sentence)")
        } catch ReadFailure.redis(let failure) {
            complain("peal-producer: \(failure.message)")
        } catch {
            complain("peal-producer: \(error)")
        }
        // EX_UNAVAILABLE of sysexits.h.
        return 69
    }

    private static func text(_ answer: DeviceDirectory.ReadAnswer, isJSON: Bool) -> String {
        if isJSON { return "{\"unread\":\(answer.unread),\"published\":\(answer.isOurs)}\n" }
        let told = answer.isOurs ? "the other devices are told" : "a push under way tells the other devices"
        return "unread \(answer.unread); \(told)\n"
    }
}
