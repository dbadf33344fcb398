internal import Configuration
internal import EventLoop
internal import Kafka
internal import Redis
internal import Registry
internal import Services
internal import Terminal

/// Whether Kafka answers and has the topics.
enum KafkaChecks {
    static func lines(_ settings: Settings, timeoutMs: Int) -> [CheckReport.Line] {
        let name = "kafka"
        let found: [(name: String, partitions: Int)]
        do {
            var configuration = KafkaConfiguration.tool(
                brokers: settings.kafka.brokers, group: settings.worker.group)
            try configuration.apply(try settings.kafkaProperties())
            let inspector = try KafkaInspector(configuration)
            defer { inspector.close() }
            found = try inspector.topics(timeoutMs: timeoutMs)
        } catch let failure as KafkaFailure {
            let isSetting = failure.code == .configuration
            return [
                .init(
                    name, .bad,
                    isSetting
                        ? "a setting can't be used: \(failure.message)"
                        : "\(settings.kafka.brokers) doesn't answer: \(failure.message)",
                    fix: isSetting
                        ? "correct it under kafka:"
                        : "check kafka.brokers, and kafka's security settings if the port is open")
            ]
        } catch {
            return [.init(name, .bad, "\(error)")]
        }
        let counts = Dictionary(found.map { ($0.name, $0.partitions) }, uniquingKeysWith: { one, _ in one })
        return [.init(name, .good, "\(settings.kafka.brokers) answers")] + topics(counts, settings.topics)
    }

    /// What is to be said of the topics that there are.
    static func topics(_ counts: [String: Int], _ topics: Settings.Topics) -> [CheckReport.Line] {
        let name = "kafka"
        let missing = topics.all.filter { (counts[$0] ?? 0) == 0 }
        var lines: [CheckReport.Line] = []
        if !missing.isEmpty {
            lines.append(
                .init(
                    name, .bad,
                    "\(missing.count) of \(topics.all.count) topics are missing: "
                        + missing.joined(separator: ", "),
                    fix: "peal topics create"))
        }
        let lanes = Settings.Topics.allLanes.compactMap { lane in
            counts[topics.jobs(lane: lane)].map { "\(lane) \($0)" }
        }
        if !lanes.isEmpty {
            let others = topics.retryTiers.map { topics.retry($0) }.compactMap { counts[$0] }
            let retry = Set(others).sorted().map(String.init).joined(separator: " to ")
            let state = missing.isEmpty ? CheckReport.State.good : .skipped
            lines.append(
                .init(
                    name, state,
                    "partitions: \(lanes.joined(separator: ", "))"
                        + (retry.isEmpty ? "" : ", retry topics \(retry)")))
        }
        let single = topics.all.filter { counts[$0] == 1 }
        if !single.isEmpty {
            lines.append(
                .init(
                    name, .warn,
                    "with one partition only one process can read: " + single.joined(separator: ", "),
                    fix: "make it at least twice the most processes you will run, before the first job"))
        }
        return lines
    }
}

/// Whether Redis answers, may be written to, and is set up for Peal.
enum RedisChecks {
    private static let name = "redis"

    static func lines(_ tools: ToolSettings, timeoutMs: Int) -> [CheckReport.Line] {
        let options: RedisClientOptions
        do throws(ConfigurationFailure) {
            var made = try tools.settings.redisOptions(scripts: RegistryScripts.all)
            made.timeoutMs = UInt64(timeoutMs)
            made.connectTimeoutMs = UInt64(timeoutMs)
            options = made
        } catch {
            return [.init(name, .bad, "\(error)")]
        }
        let where_ = options.clusterSeeds.isEmpty ? "\(options.endpoint)" : "the cluster"
        do throws(RedisFailure) {
            let session = try RedisSession(options: options)
            defer { session.close() }
            // The first command waits for the connection.
            try session.command("PING")
            let startNs = Clock.monotonicNs
            let clock = try ControlStore(session: session).nowMs()
            let tookMs = Double(Clock.monotonicNs - startNs) / 1e6
            let skewMs = clock - (Clock.wallMs - Int64(tookMs / 2))
            var lines = [answer(where_, tookMs)]
            lines.append(skew(skewMs))
            lines += try server(session)
            lines += try writing(session)
            let complaints = try ServerSettings.complaints(session)
            lines += complaints.map { complaint in
                guard let at = complaint.lastRange(of: ": CONFIG SET ") else {
                    return .init(name, .warn, complaint)
                }
                return .init(
                    name, .warn, String(complaint[..<at]), fix: "redis-cli " + complaint[at...].dropFirst(2))
            }
            if complaints.isEmpty { lines.append(.init(name, .good, "its settings are those for Peal")) }
            return lines
        } catch {
            return [
                .init(
                    name, .bad, "\(where_) can't be used: \(error.message)",
                    fix: "check redis.url, its user and password, and that the server runs")
            ]
        }
    }

    private static func answer(_ place: String, _ ms: Double) -> CheckReport.Line {
        let took = Human.duration(ms: ms)
        guard ms > 20 else { return .init(name, .good, "\(place) answers in \(took)") }
        return .init(
            name, .warn, "\(place) takes \(took) to answer",
            fix: "bring it nearer: every job waits for one answer of it")
    }

    /// The server's clock against this machine's.
    static func skew(_ ms: Int64) -> CheckReport.Line {
        let far = Human.duration(ms: Double(ms.magnitude))
        let way = ms > 0 ? "behind" : "ahead of"
        let text = "this machine's clock is \(far) \(way) Redis'"
        let fix = "set both by NTP: deadlines and provider tokens depend on it"
        return switch ms.magnitude {
        case ..<1000: .init(name, .good, "the clocks agree")
        case ..<5000: .init(name, .warn, text, fix: fix)
        default: .init(name, .bad, text, fix: fix)
        }
    }

    private static func server(_ session: RedisSession) throws(RedisFailure) -> [CheckReport.Line] {
        let facts: [String: String]
        do throws(RedisFailure) {
            facts = info(try session.command("INFO").text ?? "")
        } catch {
            // A user without @dangerous may not ask.
            guard error.code == .notPermitted || error.code == .refused else { throw error }
            return [.init(name, .skipped, "its version and state can't be asked with this user")]
        }
        return lines(info: facts)
    }

    /// The `name:value` lines of INFO.
    static func info(_ text: String) -> [String: String] {
        var facts: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            facts[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        return facts
    }

    /// What the server says of itself.
    static func lines(info: [String: String]) -> [CheckReport.Line] {
        var lines: [CheckReport.Line] = []
        let version = info["redis_version"] ?? ""
        let parts = version.split(separator: ".").compactMap { Int($0) }
        if parts.count >= 2 {
            let isNew = (parts[0], parts[1]) >= (6, 2)
            lines.append(
                .init(
                    name, isNew ? .good : .bad, "version \(version)",
                    fix: isNew ? "" : "Peal needs Redis 6.2 or newer"))
        }
        if info["role"] == "slave" {
            lines.append(
                .init(name, .bad, "it is a replica, which can't be written", fix: "name its master"))
        }
        if info["loading"] == "1" {
            lines.append(.init(name, .bad, "it is still loading its data", fix: "wait until it has"))
        }
        let used = Double(info["used_memory"] ?? "") ?? 0
        let most = Double(info["maxmemory"] ?? "") ?? 0
        if most > 0, used > 0 {
            let share = used / most
            let text =
                "\(Human.bytes(UInt64(used))) of \(Human.bytes(UInt64(most))) are used "
                + "(\(Human.decimal(share * 100, places: 0)) %)"
            lines.append(
                share >= 0.98
                    ? .init(name, .bad, text, fix: "raise maxmemory: at the limit no job can be admitted")
                    : share >= 0.8
                        ? .init(name, .warn, text, fix: "raise maxmemory before it is full")
                        : .init(name, .good, text))
        }
        if info["rdb_last_bgsave_status"] == "err" || info["aof_last_write_status"] == "err" {
            lines.append(
                .init(
                    name, .bad, "it can't write its data to the disk, and may refuse to be written",
                    fix: "make room on its disk; its log says more"))
        }
        return lines
    }

    /// Writes a key that is gone at once: a replica, a full server or a user without rights refuses it.
    private static func writing(_ session: RedisSession) throws(RedisFailure) -> [CheckReport.Line] {
        do throws(RedisFailure) {
            try session.command("SET", "peal:lock:{peal:check}", "1", "PX", "1")
            return [.init(name, .good, "it can be written")]
        } catch {
            if error.code.isOutage { throw error }
            return [
                .init(
                    name, .bad, "it can't be written: \(error.message)",
                    fix: "docs/redis-keys.md has the rights that Peal's user needs")
            ]
        }
    }
}

extension String {
    /// Where the last occurrence of the text begins.
    fileprivate func lastRange(of text: String) -> String.Index? { ranges(of: text).last?.lowerBound }
}
