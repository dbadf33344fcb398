internal import Configuration
internal import HTTPServer
internal import Logging
internal import Services
package import Terminal
internal import Tracing

/// The command `peal-producer serve`.
package enum ServeCommand {
    /// Its description.
    package static let command = Command(
        "serve", summary: "Serves the HTTP gateway: sends, devices, preferences.",
        options: [
            Option(
                "config", short: "c", .value("FILE"), environment: "PEAL_CONFIG",
                help: "The configuration (YAML)."),
            Option(
                "check",
                help: "Read the configuration, keys and certificates, say what is wrong or odd, and end."),
            Option("json", help: "Log JSON lines even on a terminal."),
        ],
        details: """
            Every setting can come from the environment too: PEAL_ and its path in upper case, such as
            PEAL_GATEWAY_KEYS_FILE. SIGHUP reads the keys file and the log levels again; a change of the keys
            file does the same. SIGTERM answers the requests under way within gateway.drain_deadline.

            Exit codes: 0 stopped, 1 can't start, 64 wrong usage, 70 the drain deadline passed,
            78 wrong configuration.
            """)

    /// Serves until SIGINT or SIGTERM and returns the process's exit code.
    package static func run(_ arguments: Arguments) -> Int32 {
        ServiceRunner.prepare()
        let reread: () -> Result<Settings, ConfigurationFailure> = {
            Configuration.result(path: arguments.string("config"), environment: Console.environment)
        }
        let settings: Settings
        var gateway: GatewaySettings
        do throws(ConfigurationFailure) {
            settings = try reread().get()
            gateway = try GatewaySettings(settings)
        } catch {
            Console.complain("peal-producer: \(error)")
            return ServiceRunner.configurationExitCode
        }
        let (logger, sink) = settings.makeLogger("gateway", json: arguments.flag("json"))
        for warning in settings.warnings { logger.warning("config.odd", warning) }
        do throws(GatewayFailure) {
            let check = try GatewayCheck(settings, gateway, log: logger)
            for warning in check.warnings { logger.warning("config.odd", warning) }
            if arguments.flag("check") {
                sink.close()
                Console.write("The gateway's configuration and its keys can be used.\n")
                return 0
            }
            do throws(ConfigurationFailure) {
                gateway.tracer = try settings.tracer(role: "gateway", logger: logger)
            } catch {
                throw GatewayFailure(.keys, "otlp: \(error)")
            }
            let tracer = gateway.tracer
            let service = try start(settings, gateway, check, logger)
            logger.info(
                "gateway.started", "The gateway is running.",
                [
                    "http.host": .text(gateway.listen.host), "http.port": .number(service.port),
                    "kafka.brokers": .text(gateway.brokers), "gateway.open": .flag(gateway.gateway.isOpen),
                ])
            let follower = settings.logOrders(logger)
            return ServiceRunner.runUntilSignal(
                deadlineMs: UInt64(clamping: gateway.gateway.drainDeadlineMs) * 2 + 5_000, logger: logger,
                sink: sink,
                reload: {
                    logger.reconfigure(reread)
                    service.reload()
                },
                stop: {
                    follower?.stop()
                    service.stop()
                    tracer?.stop()
                })
        } catch {
            sink.close()
            Console.complain("peal-producer: \(error)")
            return error.isConfiguration ? ServiceRunner.configurationExitCode : 1
        }
    }

    private static func start(
        _ settings: Settings, _ gateway: GatewaySettings, _ check: GatewayCheck, _ logger: Logger
    ) throws(GatewayFailure) -> GatewayService {
        let apps = GatewayApps(settings)
        return try GatewayService.start(gateway, log: logger, verifier: check.users) { gatekeeper in
            GatewayRoutes.all(apps, GatekeeperAuthority(gatekeeper))
                + CredentialRoutes.routes(settings, ring: check.ring, logger: logger)
        }
    }
}

extension UserTokens: UserTokenVerifier {}
