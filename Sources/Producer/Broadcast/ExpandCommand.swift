internal import Configuration
internal import HTTPServer
internal import Kafka
internal import Logging
internal import Services
package import Terminal

/// The command `peal-producer expand`.
package enum ExpandCommand {
    /// What it takes.
    package static let command = Command(
        "expand", summary: "Expands broadcasts into one job for each recipient, until it is stopped.",
        options: [
            Option(
                "config", short: "c", .value("FILE"), environment: "PEAL_CONFIG", help: "configuration file"),
            Option("brokers", short: "b", .value("HOST:PORT,..."), help: "Kafka's bootstrap servers"),
            Option("property", short: "X", .values("NAME=VALUE"), help: "A librdkafka property."),
            Option("http", .value("ADDRESS"), help: "serve /livez, /readyz, /metrics here; off for nowhere"),
            Option("log-level", .value("LEVEL"), help: "trace to critical, also by part: info,kafka=debug"),
            Option("json", help: "log JSON lines, also on a terminal"),
        ],
        details: """
            Several processes share the work. SIGTERM and SIGINT finish what is out, store how far each part
            has got, and leave the consumer group. A process that is killed repeats some jobs; the workers
            send each of them once. SIGHUP reads the configuration's log levels again, unless --log-level was
            given.
            """)

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
            Console.complain("peal-producer expand: \(failure.message)")
            return UsageFailure.exitCode
        } catch let failure as ConfigurationFailure {
            Console.complain("peal-producer expand: \(failure.description)")
            return ServiceRunner.configurationExitCode
        } catch {
            Console.complain("peal-producer expand: \(error)")
            return 1
        }
    }

    private static func serve(
        _ arguments: Arguments, _ settings: Settings,
        reread: @escaping () -> Result<Settings, ConfigurationFailure>
    ) throws -> Int32 {
        var expand = try ExpandSettings(settings)
        if let brokers = arguments.string("brokers") { expand.brokers = brokers }
        expand.kafkaProperties += try arguments.pairs("property")
        let levels = try arguments.logLevels()
        let (log, sink) = settings.makeLogger("expand", json: arguments.flag("json"), levels: levels)
        for warning in settings.warnings { log.warning("expand.configuration", warning) }
        let address = try arguments.listenAddress(or: settings.http.expand)
        let service: ExpandService
        let server: HTTPServer?
        do {
            service = try ExpandService.start(expand, log: log)
            server = try listen(address, service, log)
        } catch {
            sink.close()
            throw error
        }
        log.info(
            "expand.started", "The broadcast stage is running.",
            [
                "kafka.brokers": .text(expand.brokers), "kafka.group": .text(expand.group),
                "http.port": .number(server?.port ?? 0),
            ])
        return ServiceRunner.runUntilSignal(
            deadlineMs: expand.drainDeadlineMs + 15_000, logger: log, sink: sink,
            hasFailed: { service.hasFailed },
            // What the command line says stays in force.
            reload: { if levels == nil { log.reconfigure(reread) } }
        ) {
            // The probes say that it drains for as long as it does.
            service.stop()
            server?.stop()
        }
    }

    /// Serves the probes; a service whose port is taken does not run.
    private static func listen(
        _ address: ListenAddress?, _ service: ExpandService, _ log: Logger
    ) throws -> HTTPServer? {
        guard let address else { return nil }
        do throws(HTTPServerFailure) {
            return try service.endpoints.telling(log).serve(
                HTTPServerOptions(host: address.host, port: UInt16(clamping: address.port)))
        } catch {
            service.abandon()
            throw error
        }
    }
}
