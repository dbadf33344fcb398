package import Configuration
import Core
import Decisions
import HTTPServer
import Kafka
import Logging
import Services
package import Terminal
import Tracing

/// The command line of `peal-retry`.
package enum RetryCommand {
    /// What it takes.
    package static let command = Command(
        "peal-retry",
        summary: "Gives waiting jobs back to their job topics when they are due.",
        options: [
            Option(
                "config", short: "c", .value("FILE"), environment: "PEAL_CONFIG", help: "configuration file"),
            Option("brokers", short: "b", .value("HOST:PORT,..."), help: "Kafka's bootstrap servers"),
            Option("property", short: "X", .values("NAME=VALUE"), help: "A librdkafka property."),
            Option("tiers", .value("NAME,..."), help: "serve only these retry topics, such as 1s,10s (all)"),
            Option("http", .value("ADDRESS"), help: "serve /livez, /readyz, /metrics here; off for nowhere"),
            Option("log-level", .value("LEVEL"), help: "trace to critical, also by part: info,kafka=debug"),
            Option("json", help: "log JSON lines, also on a terminal"),
        ],
        details: """
            SIGHUP reads the configuration's log levels again, unless --log-level was given.
            SIGTERM and SIGINT hand over what is due, commit and leave the consumer groups.
            A stop that hangs is cut off; nothing is lost by that.
            """)

    /// Reads the process's command line and serves; the process's exit code.
    package static func main() -> Int32 { run(Console.arguments(for: command, version: Version.current)) }

    /// Serves until SIGINT or SIGTERM; the process's exit code: 0 after a clean stop, 1 when it can't start
    /// or go on, 64 for a wrong command line, 78 for a wrong configuration (sysexits.h).
    package static func run(_ arguments: Arguments) -> Int32 {
        ServiceRunner.prepare()
        do {
            let load: () -> Result<Settings, ConfigurationFailure> = {
                Configuration.result(path: arguments.string("config"), environment: Console.environment)
            }
            let settings = try load().get()
            return try serve(arguments, settings, reread: load)
        } catch let failure as UsageFailure {
            Console.complain("peal-retry: \(failure.message)")
            return UsageFailure.exitCode
        } catch let failure as ConfigurationFailure {
            Console.complain("peal-retry: \(failure.description)")
            return ServiceRunner.configurationExitCode
        } catch {
            Console.complain("peal-retry: \(error)")
            return 1
        }
    }

    private static func serve(
        _ arguments: Arguments, _ settings: Settings,
        reread: @escaping () -> Result<Settings, ConfigurationFailure>
    ) throws -> Int32 {
        var retry = try retrySettings(arguments, settings)
        let levels = try arguments.logLevels()
        let (log, sink) = settings.makeLogger("retry", json: arguments.flag("json"), levels: levels)
        for warning in settings.warnings { log.warning("retry.configuration", warning) }
        retry.tracer = try settings.tracer(role: "retry", logger: log)
        let tracer = retry.tracer
        do throws(ConfigurationFailure) {
            retry.redis = try settings.redisOptions(scripts: [])
        } catch {
            log.warning("retry.not_listed", "It is not listed among the pods: \(error)")
        }
        let address = try arguments.listenAddress(or: settings.http.retry)
        let service: RetryService
        let server: HTTPServer?
        do {
            service = try RetryService.start(retry, log: log)
            server = try listen(address, service.endpoints.telling(log).telling(tracer), service)
        } catch {
            sink.close()
            throw error
        }
        log.info(
            "retry.started", "The retry service is running.",
            [
                "kafka.brokers": .text(retry.brokers), "retry.tiers": .number(service.snapshot.tiers.count),
                "http.port": .number(server?.port ?? 0),
            ])
        let follower = settings.logOrders(log)
        return ServiceRunner.runUntilSignal(
            deadlineMs: retry.drainDeadlineMs + 15_000, logger: log, sink: sink,
            hasFailed: { service.hasFailed },
            // What the command line says stays in force.
            reload: { if levels == nil { log.reconfigure(reread) } }
        ) {
            follower?.stop()
            // The probes say that it drains for as long as it does.
            service.stop()
            server?.stop()
            tracer?.stop()
        }
    }

    /// The settings with what the command line says on top.
    package static func retrySettings(
        _ arguments: Arguments, _ settings: Settings
    ) throws -> RetrySettings {
        var retry = try RetrySettings(settings)
        if let brokers = arguments.string("brokers") { retry.brokers = brokers }
        retry.kafkaProperties += try arguments.pairs("property")
        if let tiers = arguments.string("tiers") {
            let names = tiers.split(separator: ",").map(String.init)
            let known = retry.tiers.map(\.name)
            if let unknown = names.first(where: { !known.contains($0) }) {
                throw UsageFailure(
                    "--tiers names \"\(unknown)\"; the configured tiers are \(known.joined(separator: ", "))")
            }
            retry.servedTiers = Set(names)
        }
        return retry
    }

    /// Serves the probes; a service whose port is taken does not run.
    private static func listen(
        _ address: ListenAddress?, _ endpoints: HealthEndpoints, _ service: RetryService
    ) throws -> HTTPServer? {
        guard let address else { return nil }
        do throws(HTTPServerFailure) {
            return try endpoints.serve(
                HTTPServerOptions(host: address.host, port: UInt16(clamping: address.port)))
        } catch {
            service.abandon()
            throw error
        }
    }
}
