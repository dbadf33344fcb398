import YAML
package import Decisions

extension Settings {
    /// The broker.
    package struct Kafka: Equatable, Sendable {
        /// One librdkafka property.
        package struct Property: Equatable, Sendable {
            package var name: String
            package var value: String

            package init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }

        /// `host:port`, with commas between several.
        package var brokers = "localhost:9092"
        /// The file that holds `sasl.password`.
        package var passwordFile: String?
        /// librdkafka properties as they are, in the order of the file; the environment's come last.
        package var properties: [Property] = []

        package init() {}

        /// What Peal sets itself, with the reason that is told.
        private static let reserved: [String: String] = [
            "bootstrap.servers": "write it as kafka.brokers",
            "metadata.broker.list": "write it as kafka.brokers",
            "group.id": "it comes from worker.group, retry.group and expand.group",
            "enable.auto.commit": "Peal commits only what has an outcome",
            "enable.auto.offset.store": "Peal commits only what has an outcome",
            "enable.idempotence": "Peal needs it on",
            "acks": "Peal needs the answer of all in-sync replicas",
            "partition.assignment.strategy": "write it as worker.assignment",
        ]
        /// Properties without a dot in their name.
        private static let plain = ["debug", "log_level", "retries", "partitioner"]

        init(_ section: SectionReader) {
            let problemsBefore = section.context.problems.count
            let hosts = section.texts("brokers", [brokers])
            if hosts.isEmpty, section.context.problems.count == problemsBefore {
                section.context.report(
                    .missing, at: section.place, "kafka.brokers is empty; write host:port, or leave it out")
            }
            brokers = hosts.joined(separator: ",")
            if !hosts.isEmpty, let fault = BrokerList.fault(brokers) {
                section.context.report(.badValue, at: section.place, "kafka.brokers \(fault)")
            }
            passwordFile = section.file("password_file")
            for entry in section.otherEntries(than: ["brokers", "password_file"])
            where entry.key.contains(".") || Self.plain.contains(entry.key) {
                section.accept(entry.key)
                let place = section.context.place(line: entry.line)
                guard let text = entry.value.text else {
                    section.context.report(
                        .badValue, at: place,
                        "kafka.\(entry.key) is \(entry.value.kindName); write a single value")
                    continue
                }
                add(entry.key, text, place, section)
            }
            readEnvironment(section)
            section.finish()
        }

        /// `PEAL_KAFKA_SASL_USERNAME` sets `sasl.username`.
        private mutating func readEnvironment(_ section: SectionReader) {
            let prefix = "PEAL_KAFKA_"
            for variable in section.context.environment.keys.sorted() where variable.hasPrefix(prefix) {
                let rest = variable.dropFirst(prefix.count)
                if rest == "BROKERS" || rest == "PASSWORD_FILE" || Configuration.isServiceLink(variable) {
                    continue
                }
                guard let value = section.context.variable(variable) else { continue }
                let name =
                    rest == "LOG_LEVEL"
                    ? "log_level" : rest.lowercased().split(separator: "_").joined(separator: ".")
                add(name, value, variable, section)
            }
        }

        private mutating func add(_ name: String, _ value: String, _ place: String, _ section: SectionReader)
        {
            if let why = Self.reserved[name] {
                section.context.report(.conflict, at: place, "kafka.\(name) can't be set: \(why)")
                return
            }
            properties.removeAll { $0.name == name }
            properties.append(Property(name: name, value: value))
        }
    }

    /// The store.
    package struct Redis: Equatable, Sendable {
        /// `redis://host:port/db`, `rediss://` for TLS, or `unix:/path`; several hosts with commas for a
        /// cluster.
        package var url = "redis://127.0.0.1:6379"
        /// Whether it is a Redis Cluster. Several hosts say so too.
        package var cluster = false
        package var username: String?
        package var passwordFile: String?
        /// The CA that signed the server's certificate; nil for the system's.
        package var caFile: String?
        /// Whether the server's certificate is checked.
        package var verify = true
        /// How long one command may take, in ms.
        package var commandTimeoutMs: Int64 = 2000
        /// How long a connection may take, in ms.
        package var connectTimeoutMs: Int64 = 2000

        package init() {}

        init(_ section: SectionReader) {
            if let found = section.find("url") {
                let schemes = ["redis://", "rediss://", "unix:"]
                if schemes.contains(where: { found.text.hasPrefix($0) }) {
                    url = found.text
                } else {
                    // The text may hold a password, so it is not repeated.
                    section.report(
                        .badValue, found, "url", "must begin with redis://, rediss:// (TLS) or unix:/path")
                }
            }
            cluster = section.flag("cluster", cluster)
            username = section.optionalText("username")
            passwordFile = section.file("password_file")
            caFile = section.file("ca_file")
            verify = section.flag("verify", verify)
            commandTimeoutMs = section.duration("command_timeout", commandTimeoutMs, in: 10...60_000)
            connectTimeoutMs = section.duration("connect_timeout", connectTimeoutMs, in: 10...60_000)
            section.finish()
        }
    }

    /// The topics' names and shapes.
    package struct Topics: Equatable, Sendable {
        package var prefix = "peal"
        /// The lanes that exist, most urgent first.
        package static let allLanes = ["urgent", "normal", "bulk"]
        package var retryTiers = RetryTier.standard
        /// For `peal topics create`.
        package var partitions = 48
        package var replication = 3

        package init() {}

        init(_ section: SectionReader) {
            if let found = section.find("prefix") {
                let isName =
                    !found.text.isEmpty && found.text.utf8.count <= 100
                    && found.text.allSatisfy {
                        $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0))
                    }
                if isName {
                    prefix = found.text
                } else {
                    section.report(
                        .badValue, found, "prefix",
                        "use letters, digits, '.', '_' and '-', at most 100 of them")
                }
            }
            readTiers(section)
            partitions = section.integer("partitions", partitions, in: 1...10_000)
            replication = section.integer("replication", replication, in: 1...15)
            section.finish()
        }

        private mutating func readTiers(_ section: SectionReader) {
            let problemsBefore = section.context.problems.count
            guard let list = section.findList("retry_tiers") else { return }
            var tiers: [RetryTier] = []
            for found in list {
                guard let delay = Units.durationMs(found.text), (1...86_400_000).contains(delay) else {
                    section.report(
                        .badValue, found, "retry_tiers",
                        "'\(found.text)' is no duration up to 1d; write it like 10s or 15m")
                    continue
                }
                if tiers.contains(where: { $0.delayMs == delay }) {
                    section.report(.conflict, found, "retry_tiers", "'\(found.text)' stands twice")
                    continue
                }
                tiers.append(RetryTier(name: found.text, delayMs: delay))
            }
            if tiers.isEmpty {
                guard section.context.problems.count == problemsBefore else { return }
                section.context.report(
                    .missing, at: list.first?.place ?? section.place,
                    "topics.retry_tiers needs at least one duration")
            } else {
                retryTiers = tiers.sorted { $0.delayMs < $1.delayMs }
            }
        }

        /// The topic of a lane: `peal.jobs.urgent`.
        package func jobs(lane: String) -> String { "\(prefix).jobs.\(lane)" }
        /// The topic of a retry tier: `peal.retry.10s`.
        package func retry(_ tier: RetryTier) -> String { "\(prefix).retry.\(tier.name)" }
        /// The dead-letter topic.
        package var dead: String { "\(prefix).dead" }
        /// The outcome topic.
        package var outcomes: String { "\(prefix).outcomes" }
        /// The topic of the broadcasts that wait to be planned.
        package var broadcasts: String { "\(prefix).broadcast" }
        /// The topic of the parts of planned broadcasts.
        package var broadcastParts: String { "\(prefix).broadcast.parts" }
        /// Every topic that Peal uses.
        package var all: [String] {
            Self.allLanes.map(jobs(lane:)) + retryTiers.map(retry)
                + [broadcasts, broadcastParts, dead, outcomes]
        }
    }
}
