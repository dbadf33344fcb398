internal import Configuration
internal import Decisions
internal import Terminal

/// `peal check`: whether everything that a configuration names can be used.
enum CheckCommand {
    static let command = Command(
        "check", summary: "check a configuration, and what it names: credentials, Kafka, Redis, providers",
        options: ToolSettings.options + [
            Option("connect", help: "connect to the providers, without sending anything"),
            Option(
                "probe-apns",
                help: "show APNs a push to a token that doesn't exist: its answer tells whether the "
                    + "credentials are good; nobody gets anything"),
            Option(
                "probe-fcm", .value("TOKEN"),
                help: "have FCM validate a message to this token (validate_only); nobody gets anything"),
            Option("app", .value("APP"), help: "look at the credentials of this app only"),
            Option("timeout", .value("TIME"), help: "how long to wait for each server (5s)"),
            Option("json", help: "print one JSON object"),
        ],
        details: """
            `peal-worker --check` reads the same files without asking any server; this asks Kafka and Redis
            too. No secret is shown.

              peal check --config peal.yaml
              peal check --config peal.yaml --connect --probe-apns
              peal check --config peal.yaml --app shop --probe-fcm "$TOKEN"

            Exit codes: 0 nothing is bad (warnings may be), 1 something is, 64 wrong usage, 78 the
            configuration can't be read.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let request = try CheckRequest(arguments)
        let report = Self.report(request, arguments, environment: Console.environment)
        let width = TerminalScreen.size(of: 1)?.columns ?? 100
        Console.write(
            arguments.flag("json") ? report.json : report.text(style: Console.style, width: min(width, 120)))
        return report.exitCode
    }

    static func report(
        _ request: CheckRequest, _ arguments: Arguments, environment: [String: String]
    ) -> CheckReport {
        var report = CheckReport()
        let tools: ToolSettings
        do throws(ToolFailure) {
            tools = try ToolSettings(arguments, environment: environment)
        } catch {
            for problem in "\(error)".split(separator: "\n") {
                report.add(.init(CheckReport.configuration, .bad, String(problem)))
            }
            return report
        }
        let settings = tools.settings
        if let app = request.app, settings.app(app) == nil {
            let doubt = tools.doubt(about: app) ?? "the configuration has no app \"\(OneLine.text(app))\""
            report.add(.init(CheckReport.configuration, .bad, doubt))
            return report
        }
        report.add(ConfigurationChecks.lines(settings, path: arguments.string("config")))
        let credentials = CredentialChecks(settings, request)
        report.add(credentials.lines)
        report.add(ConfigurationChecks.gateway(settings))
        report.add(KafkaChecks.lines(settings, timeoutMs: request.timeoutMs))
        report.add(RedisChecks.lines(tools, timeoutMs: request.timeoutMs))
        report.add(ProviderChecks(settings, request).lines)
        return report
    }
}

/// What one `peal check` command line asks for.
struct CheckRequest {
    var connects = false
    var probesAPNs = false
    /// The token to show FCM; nil for none.
    var fcmToken: String?
    var app: String?
    var timeoutMs = 5000

    init() {}

    init(_ arguments: Arguments) throws(UsageFailure) {
        guard arguments.operands.isEmpty else { throw UsageFailure("check takes no argument") }
        probesAPNs = arguments.flag("probe-apns")
        fcmToken = arguments.string("probe-fcm")
        connects = arguments.flag("connect")
        app = arguments.string("app")
        if let fcmToken, !(1...4096).contains(fcmToken.utf8.count) {
            throw UsageFailure("--probe-fcm takes a token of 1 to 4096 bytes")
        }
        if let timeout = try arguments.durationMs("timeout") {
            guard (100...120_000).contains(timeout) else {
                throw UsageFailure("--timeout takes a time from 100ms to 2m")
            }
            timeoutMs = timeout
        }
    }

    /// Whether the app's credentials are looked at.
    func wants(_ name: String) -> Bool { app == nil || app == name }
}
