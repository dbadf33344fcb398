internal import Configuration
internal import Core
internal import Decisions
internal import EventLoop
internal import Redis
internal import Registry
internal import Services
internal import Terminal

/// `peal control`: the kill switch.
enum ControlCommand {
    static let command = Command(
        "control", summary: "pause, resume and cancel what is being sent, and set log levels, on all pods",
        operands: "list|pause|resume|cancel|log LEVEL|SUBSYSTEM=LEVEL",
        options: [
            Option(
                "config", short: "c", .value("FILE"), environment: "PEAL_CONFIG", help: "the configuration"),
            Option("app", .value("APP"), help: "an app"),
            Option("provider", .value("NAME"), help: "apns, fcm or web_push: for --app, else for every app"),
            Option("campaign", .value("NAME"), help: "a campaign of --app"),
            Option("job", .value("ID"), help: "a job of --app that has not been sent"),
            Option("reason", .value("TEXT"), help: "why; shown to the next one who looks"),
            Option("by", .value("NAME"), environment: "USER", help: "who"),
            Option("for", .value("TIME"), help: "end by itself after that long, such as 30m or 2d"),
            Option("json", help: "print one JSON object"),
        ],
        details: """
            What is paused is kept: it waits in the retry topics and goes on after 'resume'; what reaches its ttl
            meanwhile expires. What is cancelled ends with the outcome 'cancelled' when its turn comes. 'resume'
            takes either back. A cancelled job's id is remembered for a year unless --for says otherwise. With a
            configuration that has apps, a name that is none of theirs is refused; without one it is written as it
            stands, and the command says so.

            'log' raises or lowers what all services log, over their configuration, for 15 minutes unless --for
            says otherwise (a day at most): 'log debug', 'log delivery=debug', 'log reset'. Subsystems are
            \(LogSubsystem.allCases.map(\.rawValue).joined(separator: ", ")).

              peal control pause --app shop --reason "wrong price in the text"
              peal control pause --provider fcm
              peal control cancel --app shop --campaign spring
              peal control cancel --app shop --job 01J9ZK3V8Q7M4X2C6B5N1A0D9F
              peal control log delivery=debug --for 10m

            Exit codes: 0 in force everywhere, 1 a pod has not confirmed or nothing was there to take back,
            2 Redis can't be reached, 64 wrong usage, 78 wrong configuration.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let order = try ControlOrder(arguments)
        let settings: Settings
        do throws(ConfigurationFailure) {
            settings = try Configuration.load(
                path: arguments.string("config"), environment: Console.environment)
        } catch {
            return complain(error)
        }
        let note = try order.checkApp(among: settings.apps.map(\.name))
        let session: RedisSession
        do throws(ConfigurationFailure) {
            session = try open(try settings.redisOptions(scripts: ControlStore.scripts))
        } catch {
            return complain(error)
        }
        defer { session.close() }
        do throws(RedisFailure) {
            var report = try order.carryOut(ControlStore(session: session))
            report.note = note
            Console.write(arguments.flag("json") ? report.json : report.text(style: Console.style))
            return report.exitCode
        } catch {
            Console.complain("peal control: Redis can't do it: \(error.message)")
            return 2
        }
    }

    private static func complain(_ failure: ConfigurationFailure) -> Int32 {
        Console.complain("peal control: \(failure)")
        return ServiceRunner.configurationExitCode
    }

    private static func open(_ options: RedisClientOptions) throws(ConfigurationFailure) -> RedisSession {
        do throws(RedisFailure) {
            return try RedisSession(options: options)
        } catch {
            throw ConfigurationFailure([.init(code: .badValue, place: "redis", message: error.message)])
        }
    }
}
