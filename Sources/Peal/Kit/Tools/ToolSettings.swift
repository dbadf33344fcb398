internal import Configuration
internal import EventLoop
internal import Redis
internal import Services
internal import Terminal

/// How the tools that look into Redis find it, and the apps that there are.
struct ToolSettings {
    /// The options that all of them have.
    static let options = [
        Option(
            "config", short: "c", .value("FILE"), environment: "PEAL_CONFIG", help: "the configuration"),
        Option(
            "redis", .value("URL"),
            help: "where Redis is, in place of what the configuration says: redis://, rediss:// or unix:/PATH"
        ),
    ]

    let settings: Settings

    /// Reads the configuration; `--redis` counts more than what it says.
    init(
        _ arguments: Arguments, environment: [String: String] = Console.environment
    ) throws(ToolFailure) {
        var environment = environment
        if let url = arguments.string("redis") { environment["PEAL_REDIS_URL"] = url }
        do throws(ConfigurationFailure) {
            settings = try Configuration.load(path: arguments.string("config"), environment: environment)
        } catch {
            throw ToolFailure(error)
        }
    }

    /// How Redis is reached. `timeoutMs` is in place of the configured one.
    func redis(scripts: [RedisScript] = [], timeoutMs: UInt64? = nil) throws(ToolFailure)
        -> RedisClientOptions
    {
        do throws(ConfigurationFailure) {
            var options = try settings.redisOptions(scripts: scripts)
            if let timeoutMs {
                options.timeoutMs = timeoutMs
                options.connectTimeoutMs = timeoutMs
            }
            return options
        } catch {
            throw ToolFailure(error)
        }
    }

    /// A session with Redis that knows the scripts. Nothing is sent yet.
    func session(scripts: [RedisScript] = []) throws(ToolFailure) -> RedisSession {
        let options = try redis(scripts: scripts)
        do throws(RedisFailure) {
            return try RedisSession(options: options)
        } catch {
            throw ToolFailure(away: "Redis can't be asked: \(error.message)")
        }
    }

    /// What is odd about an app's name: that the configuration doesn't have it. Nil when it has, or when
    /// there is no configuration that could tell.
    func doubt(about app: String) -> String? {
        let known = settings.apps.map(\.name)
        guard !known.isEmpty, !known.contains(app) else { return nil }
        let hint = Suggestion.nearest(to: app, among: known).map { "; did you mean \($0)?" } ?? ""
        return "the configuration has no app \"\(OneLine.text(app))\"\(hint)"
    }

    /// Checks the name of an app.
    static func app(_ text: String) throws(UsageFailure) -> String {
        let isName =
            (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2E, 0x2D, 0x5F: true
                default: false
                }
            }
        guard isName else {
            throw UsageFailure("\"\(OneLine.text(text))\" can't be an app: letters, digits, '.', '_' and '-'")
        }
        return text
    }

    /// Checks the name of a recipient.
    static func recipient(_ text: String) throws(UsageFailure) -> String {
        let isName =
            (1...256).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isName else {
            throw UsageFailure("a recipient has 1 to 256 bytes and no control characters")
        }
        return text
    }
}

/// Text from outside as a terminal may be given it.
enum OneLine {
    /// The text with every control character, and what turns the direction of writing, replaced.
    static func text(_ text: String) -> String {
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse:
                // The joiner holds an emoji together; a lone one does no harm.
                if scalar.value == 0x200D { out.append(scalar) } else { out.append("\u{FFFD}") }
            default: out.append(scalar)
            }
        }
        return String(out)
    }
}
