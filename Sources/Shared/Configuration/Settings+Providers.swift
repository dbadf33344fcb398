package import Decisions

extension Settings {
    /// A server and how to trust it.
    package struct Endpoint: Equatable, Sendable {
        package var host: String
        package var port: Int
        /// The CA that signed the server's certificate; nil for the system's.
        package var caFile: String?
        /// Whether the certificate is checked. Only for servers of one's own.
        package var verify = true
        /// The path, for the token endpoint; `/` elsewhere.
        package var path = "/"

        package init(host: String, port: Int = 443, path: String = "/") {
            self.host = host
            self.port = port
            self.path = path
        }

        /// What stands in the `:authority` header.
        package var authority: String { port == 443 ? host : "\(host):\(port)" }

        init(_ section: SectionReader, _ fallback: Endpoint, hasPath: Bool = false) {
            self = fallback
            if let found = section.find("host") {
                let isHost =
                    !found.text.isEmpty && found.text.utf8.count <= 255
                    && found.text.allSatisfy {
                        $0.isASCII && ($0.isLetter || $0.isNumber || ".-:_".contains($0))
                    }
                if isHost {
                    host = found.text
                } else {
                    section.report(
                        .badValue, found, "host",
                        "'\(found.text)' is no host name; write it without scheme, port and path")
                }
            }
            port = section.integer("port", port, in: 1...65_535)
            caFile = section.file("ca_file")
            verify = section.flag("verify", verify)
            if hasPath { path = section.text("path", path) }
            section.finish()
        }
    }

    /// The bounds of the connections to one provider, for each credential and shard.
    package struct Pool: Equatable, Sendable {
        package var connectionsMin = 1
        package var connectionsMax: Int
        /// Connections at most for what is likely to be refused, beside the others.
        package var sideConnectionsMax = 2
        /// Streams used at once on a connection; the server's limit applies as well.
        package var streamsMax: Int
        package var requestTimeoutMs: Int64
        package var connectTimeoutMs: Int64 = 10_000
        /// A PING after this long without a sign of life, in ms; 0 for none.
        package var pingIntervalMs: Int64
        /// The same while no request is in flight.
        package var idlePingIntervalMs: Int64
        /// The age at which a connection is replaced, in ms; 0 for none.
        package var connectionAgeMs: Int64 = 43_200_000
        /// Requests that wait for a stream.
        package var pendingMax = 16_384

        package init(
            connectionsMax: Int, streamsMax: Int, requestTimeoutMs: Int64, pingIntervalMs: Int64,
            idlePingIntervalMs: Int64
        ) {
            self.connectionsMax = connectionsMax
            self.streamsMax = streamsMax
            self.requestTimeoutMs = requestTimeoutMs
            self.pingIntervalMs = pingIntervalMs
            self.idlePingIntervalMs = idlePingIntervalMs
        }

        mutating func read(_ section: SectionReader) {
            connectionsMin = section.integer("connections_min", connectionsMin, in: 0...1000)
            connectionsMax = section.integer("connections_max", connectionsMax, in: 1...1000)
            if connectionsMin > connectionsMax {
                section.context.report(
                    .conflict, at: section.place,
                    "\(section.name("connections_min")) is above connections_max (\(connectionsMax))")
            }
            sideConnectionsMax = section.integer("side_connections_max", sideConnectionsMax, in: 1...100)
            streamsMax = section.integer("streams_max", streamsMax, in: 1...10_000)
            requestTimeoutMs = section.duration("request_timeout", requestTimeoutMs, in: 100...300_000)
            connectTimeoutMs = section.duration("connect_timeout", connectTimeoutMs, in: 100...120_000)
            pingIntervalMs = section.duration("ping_interval", pingIntervalMs, in: 0...86_400_000)
            idlePingIntervalMs = section.duration(
                "idle_ping_interval", idlePingIntervalMs, in: 0...86_400_000)
            connectionAgeMs = section.duration("connection_age", connectionAgeMs, in: 0...2_592_000_000)
            pendingMax = section.integer("pending_max", pendingMax, in: 16...1_000_000)
        }
    }

    /// APNs, FCM and Web Push: where they are and what they bear.
    package struct Providers: Equatable, Sendable {
        package var apnsProduction = Endpoint(host: "api.push.apple.com")
        package var apnsSandbox = Endpoint(host: "api.sandbox.push.apple.com")
        package var apnsPool = Pool(
            connectionsMax: 8, streamsMax: 1000, requestTimeoutMs: 15_000, pingIntervalMs: 60_000,
            idlePingIntervalMs: 3_600_000)
        /// The age at which a provider token is renewed, in ms: APNs wants 20 to 60 minutes.
        package var apnsTokenAgeMs: Int64 = 2_700_000

        package var fcm = Endpoint(host: "fcm.googleapis.com")
        package var fcmTokenEndpoint = Endpoint(host: "oauth2.googleapis.com", path: "/token")
        /// FCM refuses more than 100 streams and dislikes frequent PINGs.
        package var fcmPool = Pool(
            connectionsMax: 16, streamsMax: 80, requestTimeoutMs: 15_000, pingIntervalMs: 300_000,
            idlePingIntervalMs: 0)
        /// Messages a second for each project; the default quota is 600,000 a minute.
        package var fcmRate = 9500

        /// Only the trust settings are used; the hosts come from the subscriptions.
        package var webPush = Endpoint(host: "push.invalid")
        package var webPushConcurrency = 64

        /// The proxies on the way to APNs and to Google; nil for none.
        package var apnsProxy: Proxy?
        package var fcmProxy: Proxy?

        package var circuit = CircuitBreaker.Limits()
        package var invalidation = InvalidationBreaker.Limits()

        package init() {}

        init(_ section: SectionReader) {
            let proxy = Proxy.read(section.section("proxy"), nil)
            let apns = section.section("apns")
            apnsProxy = Proxy.read(apns.section("proxy"), proxy)
            apnsProduction = Endpoint(apns.section("production"), apnsProduction)
            apnsSandbox = Endpoint(apns.section("sandbox"), apnsSandbox)
            apnsPool.read(apns)
            apnsTokenAgeMs = apns.duration("token_age", apnsTokenAgeMs, in: 1_200_000...3_500_000)
            apns.finish()
            let google = section.section("fcm")
            fcmProxy = Proxy.read(google.section("proxy"), proxy)
            fcm = Endpoint(google.section("endpoint"), fcm)
            fcmTokenEndpoint = Endpoint(google.section("token_endpoint"), fcmTokenEndpoint, hasPath: true)
            fcmPool.read(google)
            fcmRate = google.integer("rate", fcmRate, in: 1...1_000_000)
            google.finish()
            let web = section.section("web_push")
            webPush.caFile = web.file("ca_file")
            webPush.verify = web.flag("verify", true)
            webPushConcurrency = web.integer("concurrency", webPushConcurrency, in: 1...10_000)
            web.finish()
            readBreakers(section)
            section.finish()
        }

        private mutating func readBreakers(_ section: SectionReader) {
            let circuitSection = section.section("circuit")
            circuit.windowMs = circuitSection.duration("window", circuit.windowMs, in: 1000...600_000)
            circuit.callsMin = circuitSection.integer("calls_min", circuit.callsMin, in: 1...1_000_000)
            circuit.failureShare = circuitSection.number("failure_share", circuit.failureShare, in: 0.01...1)
            circuit.openMs = circuitSection.duration("open", circuit.openMs, in: 100...600_000)
            circuit.openMaxMs = circuitSection.duration("open_max", circuit.openMaxMs, in: 100...3_600_000)
            circuit.probes = circuitSection.integer("probes", circuit.probes, in: 1...1000)
            circuitSection.finish()
            let tokens = section.section("invalidation")
            invalidation.windowMs = tokens.duration("window", invalidation.windowMs, in: 1000...3_600_000)
            invalidation.refusedMin = tokens.integer(
                "refused_min", invalidation.refusedMin, in: 1...1_000_000)
            invalidation.share = tokens.number("share", invalidation.share, in: 0.001...1)
            invalidation.openMs = tokens.duration("open", invalidation.openMs, in: 1000...86_400_000)
            tokens.finish()
        }
    }
}
