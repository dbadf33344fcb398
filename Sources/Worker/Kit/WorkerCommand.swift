internal import Configuration
internal import Core
internal import EventLoop
internal import Logging
internal import Services
package import Terminal

/// The command line of `peal-worker`.
package enum WorkerCommand {
    /// What it takes.
    package static let command = Command(
        "peal-worker", summary: "Reads jobs from Kafka and sends them to APNs and FCM.",
        options: [
            Option(
                "config", short: "c", .value("FILE"), environment: "PEAL_CONFIG",
                help: "the configuration (YAML)"),
            Option("check", help: "read the configuration and the credentials, say what is wrong, and end"),
            Option("json", help: "log JSON lines even on a terminal"),
        ],
        details: """
            Every setting can come from the environment too: PEAL_ and its path in upper case, such as PEAL_REDIS_URL.
            SIGHUP reads the credentials and the log levels again; a change of the configuration or of a
            credential's file does the same.
            SIGTERM finishes what is in flight within worker.drain_deadline, commits and leaves the consumer groups.
            Exit codes: 0 stopped, 1 can't start, 64 wrong usage, 70 the drain deadline passed, 78 wrong configuration.
            """)

    /// Runs the process and returns its exit code.
    package static func main() -> Int32 {
        ServiceRunner.prepare()
        let arguments = Console.arguments(for: command, version: Version.current)
        let path = arguments.string("config")
        let environment = Console.environment
        let load: @Sendable () -> Result<Settings, ConfigurationFailure> = {
            Configuration.result(path: path, environment: environment)
        }
        let settings: Settings
        do throws(ConfigurationFailure) {
            settings = try load().get()
        } catch {
            Console.complain("peal-worker: \(error)")
            return ServiceRunner.configurationExitCode
        }
        let (logger, sink) = settings.makeLogger("worker", json: arguments.flag("json"))
        for warning in settings.warnings { logger.warning("config.odd", warning) }
        for name in settings.notInForce {
            logger.warning("config.not_in_force", "\(name) is set, but this version does not act on it yet.")
        }
        if arguments.flag("check") { return check(settings) }
        do throws(WorkerFailure) {
            let reread: @Sendable () -> Result<Settings, ConfigurationFailure> = {
                let fresh = load()
                if case .success(let settings) = fresh { logger.configure(settings.log.logLevels) }
                return fresh
            }
            let service = try WorkerService.start(settings, log: logger, reread: reread)
            return ServiceRunner.runUntilSignal(
                deadlineMs: UInt64(clamping: settings.worker.drainDeadlineMs) + 5000, logger: logger,
                sink: sink, reload: { service.reload() }, stop: { service.stop() })
        } catch {
            sink.close()
            Console.complain("peal-worker: \(error)")
            return 1
        }
    }

    private static func check(_ settings: Settings) -> Int32 {
        do throws(WorkerFailure) {
            try WorkerService.check(settings)
            Console.write("The configuration and its credentials can be used.\n")
            return 0
        } catch {
            Console.complain("peal-worker: \(error)")
            return 1
        }
    }
}
