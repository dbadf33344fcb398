internal import Configuration
internal import Core
internal import EventLoop
internal import Services
internal import Tracing
package import HTTPServer
package import Logging
internal import Metrics
internal import Registry

/// The gateway: HTTP in front, jobs to Kafka and the registry in Redis behind.
///
/// - Ownership: `stop` ends it; call it once.
/// - Threading: any thread.
package final class GatewayService: Sendable {
    /// The port that it listens on.
    package var port: UInt16 { server.port }

    private let server: HTTPServer
    private let parts: Parts
    private let housekeeper: Housekeeper
    private let beacon: PodBeacon
    private let threads: Locked<[WorkerThread]>
    private let drainDeadlineMs: UInt64

    /// What the server's handler and the health closures reach.
    struct Parts: Sendable {
        let hub: GatewayHub
        let registry: RegistryPool
        let ring: KeyRing?
        let tracer: Tracer?
        let senders: Locked<[SendingControl]>
        let connections: Locked<@Sendable () -> Int>
        let draining = Locked(false)
        /// What the dashboard shows; nil without one.
        let overviews: OverviewHub?
    }

    /// Starts serving the gateway's own routes and `more`, whose handlers may ask the gatekeeper. `verifier`
    /// checks users' tokens; without one none is taken.
    /// - Throws: what can't be used: the keys file, the certificate, the address, a Kafka property.
    package static func start(
        _ settings: GatewaySettings, log: Logger, verifier: (any UserTokenVerifier)? = nil,
        more: (Gatekeeper) -> [GatewayRoute] = { _ in [] }
    ) throws(GatewayFailure) -> GatewayService {
        let gateway = settings.gateway
        let ring = try makeRing(settings, log)
        let gatekeeper = Gatekeeper(
            ring: ring, verifier: verifier,
            keyLimiter: RateLimiter(perThousandSeconds: gateway.rate.perThousandSeconds),
            addressLimiter: RateLimiter(perThousandSeconds: gateway.addressRate.perThousandSeconds))
        // Asks Redis nothing before somebody looks.
        let overviews =
            gateway.hasDashboard ? OverviewHub(redis: settings.redis, log: log) : nil
        let table = RouteTable(
            SendRoutes.routes(settings.apps) + more(gatekeeper)
                + (overviews.map { DashboardRoutes(hub: $0, gatekeeper: gatekeeper).routes } ?? []))
        let hub = GatewayHub(
            metrics: GatewayMetrics(operations: table.all.map(\.operation)), log: log,
            timeoutMs: UInt64(clamping: gateway.timeoutMs), cors: CORSPolicy(origins: gateway.corsOrigins))
        let registry = RegistryPool(
            options: settings.redis, queueMax: gateway.queueMax, settlementsMax: gateway.connectionsMax,
            hub: hub)
        let dispatch = Dispatch(hub: hub, registry: registry)
        var controls: [SendingControl] = []
        var threads: [WorkerThread] = []
        do throws(GatewayFailure) {
            for number in 0..<gateway.sendingThreads {
                let runner = try SendingThread(settings, hub: hub, dispatch: dispatch, gatekeeper: gatekeeper)
                controls.append(runner.control)
                dispatch.add(runner.control)
                threads.append(WorkerThread.start(name: "sending-\(number)") { runner.run() })
            }
            let parts = Parts(
                hub: hub, registry: registry, ring: ring, tracer: settings.tracer,
                senders: Locked(controls),
                connections: Locked({ 0 }), overviews: overviews)
            let door = FrontDoor(
                hub: hub, table: table, gatekeeper: gatekeeper, dispatch: dispatch, endpoints: parts.endpoints
            )
            registry.start(count: gateway.registryThreads, dispatch: dispatch)
            let server = try listen(settings, hub) { door.take($0) }
            parts.connections.withLock { $0 = { [weak server] in server?.connectionCount ?? 0 } }
            return GatewayService(server, parts, threads, settings)
        } catch {
            registry.stop()
            overviews?.stop()
            for control in controls { control.stop() }
            for thread in threads { thread.join() }
            throw error
        }
    }

    private init(
        _ server: HTTPServer, _ parts: Parts, _ threads: [WorkerThread], _ settings: GatewaySettings
    ) {
        self.server = server
        self.parts = parts
        self.threads = Locked(threads)
        drainDeadlineMs = UInt64(clamping: settings.gateway.drainDeadlineMs)
        housekeeper = Housekeeper(hub: parts.hub, ring: parts.ring)
        beacon = PodBeacon(name: PodLine.podName, redis: settings.redis, line: parts.podLine())
    }

    private static func makeRing(
        _ settings: GatewaySettings, _ log: Logger
    ) throws(GatewayFailure) -> KeyRing? {
        guard let path = settings.gateway.keysFile else { return nil }
        do throws(KeyTable.Fault) { return try KeyRing(path: path, log: log) } catch {
            throw GatewayFailure(.keys, "gateway.keys_file \(path): \(error)")
        }
    }

    private static func listen(
        _ settings: GatewaySettings, _ hub: GatewayHub, _ handler: @escaping @Sendable (HTTPExchange) -> Void
    ) throws(GatewayFailure) -> HTTPServer {
        let gateway = settings.gateway
        var options = HTTPServerOptions(
            host: settings.listen.host, port: UInt16(clamping: settings.listen.port))
        options.threads = gateway.httpThreads
        options.connectionsMax = UInt32(clamping: gateway.connectionsMax)
        options.connectionsPerAddressMax = UInt32(clamping: gateway.connectionsPerAddress)
        options.idleTimeoutSeconds = UInt32(clamping: max(1, gateway.idleTimeoutMs / 1000))
        options.requestTimeoutMs = UInt64(clamping: gateway.receiveTimeoutMs)
        options.bodyBytesMax = gateway.bodyMax
        options.bodiesBytesMax = gateway.bodiesMax
        options.headerBytesMax = gateway.headerMax
        options.refusal = { status, sentence in hub.refusal(status, sentence) }
        options.identity = try identity(settings)
        do throws(HTTPServerFailure) {
            return try HTTPServer.start(options, exchange: handler)
        } catch {
            throw GatewayFailure(error.code == .identity ? .tls : .listen, error.description)
        }
    }

    /// Reads what the settings name, without serving anybody. For the certificate a server is started on
    /// loopback and stopped at once, as only the server's own library knows what it takes.
    /// - Returns: the keys; nil when the gateway needs none.
    /// - Throws: what can't be used.
    package static func check(_ settings: GatewaySettings) throws(GatewayFailure) -> KeyTable? {
        let ring = try makeRing(settings, .silent)
        if let identity = try identity(settings) {
            var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
            options.identity = identity
            do throws(HTTPServerFailure) {
                try HTTPServer.start(options) { (_: HTTPRequest) in .notFound }.stop(deadlineMs: 0)
            } catch {
                throw GatewayFailure(.tls, "gateway.tls: \(error.description)")
            }
        }
        return ring?.table
    }

    private static func identity(
        _ settings: GatewaySettings
    ) throws(GatewayFailure) -> HTTPServerOptions.Identity? {
        guard let certificate = settings.gateway.tlsCertificateFile, let key = settings.gateway.tlsKeyFile
        else { return nil }
        do throws(ConfigurationFailure) {
            return .init(
                certificatePEM: String(decoding: try SecretFile.read(certificate), as: UTF8.self),
                keyPEM: String(decoding: try SecretFile.read(key), as: UTF8.self))
        } catch {
            throw GatewayFailure(.tls, "gateway.tls: \(error)")
        }
    }

    /// Reads the keys file again.
    package func reload() { parts.ring?.reload(always: true) }

    /// How things stand with the threads, Kafka and Redis.
    package var endpoints: HealthEndpoints { parts.endpoints }

    /// Takes no more requests, answers those under way, waits for the jobs that Kafka has not acknowledged,
    /// and ends the threads.
    package func stop() {
        parts.draining.withLock { $0 = true }
        server.stop(deadlineMs: drainDeadlineMs)
        housekeeper.stop()
        beacon.stop()
        parts.overviews?.stop()
        parts.registry.stop()
        for sender in parts.senders.withLock({ $0 }) { sender.stop() }
        let running = threads.withLock { (list: inout [WorkerThread]) -> [WorkerThread] in
            defer { list = [] }
            return list
        }
        for thread in running { thread.join() }
    }
}

extension GatewayService.Parts {
    var gauges: GatewayGauges {
        var gauges = GatewayGauges()
        gauges.openRequests = hub.openCount
        gauges.connections = connections.withLock { $0 }()
        gauges.registryQueue = registry.queueCount
        gauges.isRedisAway = registry.isRedisAway
        for sender in senders.withLock({ $0 }) {
            let values = sender.gauges
            gauges.sendingQueue += sender.queueCount
            gauges.jobsInFlight += values.jobsInFlight
            if values.isKafkaAway { gauges.isKafkaAway = true }
        }
        return gauges
    }

    var live: Health {
        let now = Clock.monotonicMs
        for sender in senders.withLock({ $0 }) {
            let tick = sender.gauges.tickMs
            if tick > 0, now > tick + 30_000 {
                return .failing("A sending thread has not moved for 30 seconds.")
            }
        }
        return .ok
    }

    /// Without Kafka the gateway is of little use; without Redis it still takes sends.
    var ready: Health {
        if draining.withLock({ $0 }) { return .failing("draining") }
        let all = senders.withLock { $0 }.map(\.gauges)
        if all.contains(where: \.isKafkaAway) { return .failing("No Kafka broker answers.") }
        if all.contains(where: { !$0.hasMetBroker }) { return .failing("No Kafka broker has answered yet.") }
        if registry.isRedisAway {
            return .degraded("Redis does not answer: only sends without Idempotency-Key or send_at work.")
        }
        if let fault = ring?.fault { return .degraded("the keys file can't be used: \(fault)") }
        return live
    }

    /// Gives the lines of `peal:pods`.
    func podLine() -> @Sendable () -> [UInt8] {
        let startedMs = Clock.wallMs
        let rate = Locked(RecentRate())
        return {
            let values = hub.metrics.snapshot
            let perSecond = rate.withLock { $0.take(values.latencyUs.total, nowMs: Clock.monotonicMs) }
            var line = PodLine(role: "gateway", startedMs: startedMs, ready: ready.sentence)
            line.set("requests_per_s", tenths: perSecond)
            line.set("in_flight", Int64(hub.openCount))
            line.set("jobs", Int64(clamping: values.jobs))
            return line.end()
        }
    }

    var endpoints: HealthEndpoints {
        HealthEndpoints(
            role: .gateway, live: { live }, ready: { ready },
            metrics: { hub.metrics.write(gauges, to: &$0) }, status: { hub.metrics.json(gauges) },
            page: { hub.metrics.page(gauges, live: live, ready: ready) }
        ).telling(hub.log).telling(tracer)
    }
}

/// Looks after what has no thread of its own: overdue requests and the keys file.
private final class Housekeeper: Sendable {
    private let stopping = BlockingQueue<Void>(capacity: 1)
    private let thread: WorkerThread

    init(hub: GatewayHub, ring: KeyRing?) {
        let stopping = stopping
        thread = WorkerThread.start(name: "housekeeper") {
            while case .nothing = stopping.next(timeoutMs: 500) {
                hub.answerOverdue()
                ring?.reload()
            }
        }
    }

    func stop() {
        stopping.close()
        thread.join()
    }
}
