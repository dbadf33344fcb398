extension Settings {
    /// The HTTP gateway of `peal-producer serve`.
    package struct Gateway: Equatable, Sendable {
        /// Requests allowed in a second, and how many of them at once.
        package struct Rate: Equatable, Sendable {
            /// Requests in a thousand seconds; 0 for no limit.
            package var perThousandSeconds: Int64

            package init(perThousandSeconds: Int64) { self.perThousandSeconds = perThousandSeconds }

            /// No limit.
            package static let off = Rate(perThousandSeconds: 0)
        }

        /// One `name:sha256:apps:scopes` a line; nil for no authentication.
        package var keysFile: String?
        /// Whether anybody may do anything; only on a loopback address.
        package var isOpen = false
        /// Whether the dashboard's page and its overview are served.
        package var hasDashboard = true
        /// The largest request body, in bytes.
        package var bodyMax = 4 << 20
        /// The largest request line with its headers, in bytes.
        package var headerMax = 32 << 10
        /// The most jobs in one request.
        package var batchMax = 1000
        /// How long an answer may wait for the broker or Redis, in ms.
        package var timeoutMs: Int64 = 10_000
        /// How long a client may take to send one request, in ms.
        package var receiveTimeoutMs: Int64 = 30_000
        /// How long a connection may stay silent, in ms; whole seconds.
        package var idleTimeoutMs: Int64 = 30_000
        /// Connections at a time.
        package var connectionsMax = 1024
        /// Connections at a time from one address; 0 for no limit.
        package var connectionsPerAddress = 0
        /// Bytes of all request bodies that may be in memory at a time.
        package var bodiesMax = 256 << 20
        /// Threads that speak HTTP.
        package var httpThreads = 2
        /// Threads that publish.
        package var sendingThreads = 1
        /// Threads that ask Redis.
        package var registryThreads = 4
        /// Requests of one kind that may wait for a thread.
        package var queueMax = 1024
        /// Jobs that may wait for the broker.
        package var jobsMax = 100_000
        /// What one API key may ask for.
        package var rate = Rate(perThousandSeconds: 20_000_000)
        /// What one address without an API key may ask for.
        package var addressRate = Rate(perThousandSeconds: 1_000_000)
        /// The origins that browsers may call from; empty for none.
        package var corsOrigins: [String] = []
        /// PEM files; both or neither.
        package var tlsCertificateFile: String?
        package var tlsKeyFile: String?
        /// How long a stop may take, in ms.
        package var drainDeadlineMs: Int64 = 15_000

        package init() {}

        init(_ section: SectionReader) {
            keysFile = section.file("keys_file")
            isOpen = section.flag("open", isOpen)
            hasDashboard = section.flag("dashboard", hasDashboard)
            bodyMax = section.size("body_max", bodyMax, in: 1024...(64 << 20))
            headerMax = section.size("header_max", headerMax, in: 4096...(1 << 20))
            batchMax = section.integer("batch_max", batchMax, in: 1...10_000)
            timeoutMs = section.duration("timeout", timeoutMs, in: 100...120_000)
            receiveTimeoutMs = section.duration("receive_timeout", receiveTimeoutMs, in: 500...600_000)
            idleTimeoutMs = section.duration("idle_timeout", idleTimeoutMs, in: 1000...600_000)
            connectionsMax = section.integer("connections_max", connectionsMax, in: 8...100_000)
            connectionsPerAddress = section.integer(
                "connections_per_address", connectionsPerAddress, in: 0...100_000)
            bodiesMax = section.size("bodies_max", bodiesMax, in: (1 << 20)...(16 << 30))
            httpThreads = section.integer("http_threads", httpThreads, in: 1...64)
            sendingThreads = section.integer("sending_threads", sendingThreads, in: 1...64)
            registryThreads = section.integer("registry_threads", registryThreads, in: 1...64)
            queueMax = section.integer("queue_max", queueMax, in: 8...100_000)
            jobsMax = section.integer("jobs_max", jobsMax, in: 1000...150_000)
            rate = Self.rate("rate", rate, section)
            addressRate = Self.rate("address_rate", addressRate, section)
            corsOrigins = Self.origins(section)
            drainDeadlineMs = section.duration("drain_deadline", drainDeadlineMs, in: 100...600_000)
            let tls = section.section("tls")
            tlsCertificateFile = tls.file("certificate_file")
            tlsKeyFile = tls.file("key_file")
            if (tlsCertificateFile == nil) != (tlsKeyFile == nil) {
                tls.context.report(
                    .missing, at: tls.place,
                    "gateway.tls needs both certificate_file and key_file, or neither")
            }
            tls.finish()
            section.finish()
        }

        /// A rate is written `500/s`, `30000/m` or `1000/10s`, or `off`.
        private static func rate(_ key: String, _ fallback: Rate, _ section: SectionReader) -> Rate {
            guard let found = section.find(key) else { return fallback }
            if found.text == "off" { return .off }
            let parts = found.text.split(separator: "/", omittingEmptySubsequences: false)
            if parts.count == 2, let count = Int64(parts[0]), (1...10_000_000).contains(count) {
                let unit = parts[1].first?.isNumber == true ? String(parts[1]) : "1\(parts[1])"
                if let per = Units.durationMs(unit), (1000...3_600_000).contains(per) {
                    return Rate(perThousandSeconds: max(1, count * 1_000_000 / per))
                }
            }
            section.report(
                .badValue, found, key,
                "'\(found.text)' is no rate; write it like 500/s or 30000/m, or off")
            return fallback
        }

        /// An origin is written as browsers send it: `https://app.example.com`, with a port unless it is the
        /// scheme's own.
        private static func origins(_ section: SectionReader) -> [String] {
            (section.findList("cors_origins") ?? []).compactMap { found in
                let rest = ["https://", "http://"].first { found.text.hasPrefix($0) }
                    .map { found.text.dropFirst($0.count) }
                guard let rest, !rest.isEmpty, !rest.contains("/"), !rest.contains("*") else {
                    section.report(
                        .badValue, found, "cors_origins",
                        "'\(found.text)' is no origin; write it like https://app.example.com")
                    return nil
                }
                return found.text
            }
        }
    }
}
