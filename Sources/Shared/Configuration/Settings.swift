package import Core

/// The whole configuration as values, every one of them checked.
///
/// Secrets are not in it, only the paths of the files that hold them: see ``SecretFile``.
package struct Settings: Equatable, Sendable {
    package var kafka = Kafka()
    package var redis = Redis()
    package var registry = Registry()
    package var topics = Topics()
    package var worker = Worker()
    package var retry = Retry()
    package var expand = Expand()
    package var http = HTTP()
    package var gateway = Gateway()
    package var providers = Providers()
    package var log = Log()
    package var otlp = OTLP()
    package var credentials = Credentials()
    /// By name, sorted.
    package var apps: [App] = []
    /// The file that was read, and the files that it names.
    package var files: [String] = []
    /// What is odd but no reason to stop.
    package var warnings: [String] = []

    /// The defaults: everything on this machine, no apps.
    package init() {}

    /// The app of this name, or nil.
    package func app(_ name: String) -> App? { apps.first { $0.name == name } }

    init(_ root: SectionReader) {
        kafka = Kafka(root.section("kafka"))
        redis = Redis(root.section("redis"))
        registry = Registry(root.section("registry"))
        topics = Topics(root.section("topics"))
        worker = Worker(root.section("worker"))
        retry = Retry(root.section("retry"))
        expand = Expand(root.section("expand"))
        http = HTTP(root.section("http"))
        gateway = Gateway(root.section("gateway"))
        providers = Providers(root.section("providers"))
        log = Log(root.section("log"))
        otlp = OTLP(root.section("otlp"))
        credentials = Credentials(root.section("credentials"))
        let section = root.section("apps")
        apps = section.namedSections().compactMap { App(name: $0.name, $0.section) }.sorted {
            $0.name < $1.name
        }
        for app in apps where app.credentialSource == .uploaded && credentials.masterKeyFile == nil {
            section.context.report(
                .missing, at: section.place,
                "credentials.master_key_file is missing; apps.\(app.name).credentials is 'uploaded', and "
                    + "what is uploaded is sealed with it")
        }
        section.finish()
        root.finish()
        files = namedFiles()
    }

    private func namedFiles() -> [String] {
        var list: [String?] = [kafka.passwordFile, redis.passwordFile, redis.caFile, gateway.keysFile]
        list += [gateway.tlsCertificateFile, gateway.tlsKeyFile]
        for endpoint in [
            providers.apnsProduction, providers.apnsSandbox, providers.fcm, providers.fcmTokenEndpoint,
            providers.webPush,
        ] {
            list.append(endpoint.caFile)
        }
        list += [otlp.headersFile, otlp.caFile]
        list += [credentials.masterKeyFile] + credentials.formerKeyFiles
        list += [providers.apnsProxy?.credentialsFile, providers.fcmProxy?.credentialsFile]
        for app in apps {
            for credential in [app.apnsProduction, app.apnsSandbox] {
                list += [credential?.keyFile, credential?.certificateFile, credential?.certificateKeyFile]
            }
            list += [app.fcm?.serviceAccountFile, app.webPush?.keyFile] + (app.users?.files ?? [])
            list.append(app.clientKeysFile)
        }
        return Set(list.compactMap { $0 }).sorted()
    }

    /// How much is logged, and how.
    package struct Log: Equatable, Sendable {
        /// The severities, least important first.
        package enum Level: String, CaseIterable, Sendable {
            case trace, debug, info, notice, warning, error, critical
        }

        /// The form of a line.
        package enum Format: String, CaseIterable, Sendable {
            /// For people on a terminal, JSON elsewhere.
            case auto
            case human
            case json
        }

        package var level = Level.info
        /// The levels of single subsystems.
        package var levels: [LogSubsystem: Level] = [:]
        package var format = Format.auto

        package init() {}

        init(_ section: SectionReader) {
            level = section.choice("level", .info)
            format = section.choice("format", .auto)
            let own = section.section("levels")
            for subsystem in LogSubsystem.allCases where own.has(subsystem.rawValue) {
                levels[subsystem] = own.choice(subsystem.rawValue, level)
            }
            for subsystem in LogSubsystem.allCases { own.accept(subsystem.rawValue) }
            own.finish()
            section.finish()
        }

        /// The same as the logger takes it.
        package var logLevels: LogLevels {
            let own = levels.compactMapValues { LogLevel(name: $0.rawValue) }
            return LogLevels(standard: LogLevel(name: level.rawValue) ?? .info, subsystems: own)
        }
    }

    /// Where the processes serve health, metrics and their HTTP interfaces; nil for not at all.
    package struct HTTP: Equatable, Sendable {
        package var worker: ListenAddress? = ListenAddress(host: "0.0.0.0", port: 9101)
        package var retry: ListenAddress? = ListenAddress(host: "0.0.0.0", port: 9102)
        package var expand: ListenAddress? = ListenAddress(host: "0.0.0.0", port: 9103)
        package var gateway: ListenAddress? = ListenAddress(host: "0.0.0.0", port: 8080)

        package init() {}

        init(_ section: SectionReader) {
            worker = section.listen("worker", worker)
            retry = section.listen("retry", retry)
            expand = section.listen("expand", expand)
            gateway = section.listen("gateway", gateway)
            section.finish()
        }
    }
}
