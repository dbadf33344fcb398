internal import Core
internal import EventLoop
internal import Glibc
internal import HTTPClient
internal import Kafka
internal import Redis
internal import Registry
internal import SimulatorKit

/// The pipeline of a run: every service a process of its own, the broker in this one, and a fault proxy
/// between each worker and what it talks to.
///
/// The broker can't be behind a proxy, since it tells its clients its own addresses: its faults are the
/// stand-in's own.
/// - Threading: one thread. ``stop()`` ends everything, as does the end of this process.
final class ChaosStack {
    static let prefix = "peal"
    /// Routes of a worker in the proxy, in this order; the retry service has only Redis, behind them all.
    static let routesPerWorker = 4

    let options: ChaosOptions
    let directory: String
    let broker: EmbeddedBroker
    let redis: PrivateRedisServer
    let proxy: FaultProxy
    let simulator: ChaosProgram
    private(set) var workers: [ChaosProgram] = []
    let retry: ChaosProgram
    var programs: [ChaosProgram] { [simulator, retry] + workers }
    var names: TopicNames { TopicNames(prefix: Self.prefix) }
    var recordPath: String { "\(directory)/record.ndjson" }

    private let client: HTTPClient
    private let watcher: StackWatcher
    private let adminPort: UInt16
    private var healthPorts: [UInt16] = []

    /// Starts everything; ``waitUntilReady()`` comes after it.
    init(_ options: ChaosOptions, directory: String) throws(StackFailure) {
        self.options = options
        self.directory = directory
        var probe = HTTPClientOptions()
        probe.connectTimeoutMs = 1_000
        probe.totalTimeoutMs = 3_000
        probe.proxy = ""
        client = HTTPClient(probe)
        watcher = try StackWatcher(directory: options.directory == nil && !options.keeps ? directory : "")
        broker = try Self.makeBroker(options)
        do throws(RedisFailure) { redis = try PrivateRedisServer(persistence: .appendOnly) } catch {
            throw StackFailure(.redis, "\(error)")
        }
        var ports: [UInt16] = []
        for _ in 0..<4 { ports.append(try Self.freePort()) }
        adminPort = ports[3]
        let programs = options.programDirectory ?? StackOptions.ownDirectory
        simulator = ChaosProgram(
            name: "simulator", program: "\(programs)/peal-simulator",
            arguments: [
                "--apns-port", "\(ports[0])", "--sandbox-port", "\(ports[1])", "--fcm-port", "\(ports[2])",
                "--admin-port", "\(ports[3])", "--certificate-dir", "\(directory)/credentials",
                "--record-file", "\(directory)/record.ndjson", "--json",
            ], directory: directory, watcher: watcher)
        var upstreams: [UInt16] = []
        for _ in 0..<options.workers { upstreams += [ports[0], ports[1], ports[2], redis.port] }
        proxy = try FaultProxy(upstreams: upstreams + [redis.port])
        let routes = proxy.ports
        let brokers = broker.bootstrapServers
        func configure(_ kind: String, _ slot: Int, _ first: Int, _ redisPort: UInt16, _ port: UInt16)
            throws(StackFailure) -> String
        {
            let name = slot < 0 ? kind : "\(kind)-\(slot + 1)"
            let path = "\(directory)/\(name).yaml"
            let text = Self.configuration(
                options, directory, brokers, providers: Array(routes[first..<first + 3]),
                redis: redisPort, health: port)
            do throws(SystemFailure) { try Files.write(path: path, text: text) } catch {
                throw StackFailure(.files, "\(error)")
            }
            return path
        }
        let retryPort = try Self.freePort()
        healthPorts.append(retryPort)
        retry = ChaosProgram(
            name: "retry", program: "\(programs)/peal-retry",
            arguments: ["--config", try configure("retry", -1, 0, routes[routes.count - 1], retryPort)],
            directory: directory, watcher: watcher)
        for slot in 0..<options.workers {
            let first = slot * Self.routesPerWorker
            let port = try Self.freePort()
            healthPorts.append(port)
            workers.append(
                ChaosProgram(
                    name: "worker-\(slot + 1)", slot: slot, program: "\(programs)/peal-worker",
                    arguments: ["--config", try configure("worker", slot, first, routes[first + 3], port)],
                    directory: directory, watcher: watcher))
        }
    }

    private static func makeBroker(_ options: ChaosOptions) throws(StackFailure) -> EmbeddedBroker {
        let names = TopicNames(prefix: prefix)
        let all =
            TopicNames.lanes.map { names.jobs(lane: $0) } + tiers.map { names.retry(tier: $0) }
            + [names.outcomes, names.dead]
        do throws(KafkaFailure) {
            return try EmbeddedBroker(topics: all.map { ($0, options.partitions) }, brokers: 3)
        } catch {
            throw StackFailure(.broker, "\(error)")
        }
    }

    /// The retry topics of the run.
    static var tiers: [String] { StackConfiguration.tiers(StackOptions()) }

    private static func configuration(
        _ options: ChaosOptions, _ directory: String, _ brokers: String, providers: [UInt16], redis: UInt16,
        health: UInt16
    ) -> String {
        var stack = StackOptions()
        stack.partitions = options.partitions
        stack.topicPrefix = prefix
        stack.apps = [StackApp(ChaosPlan.app)]
        stack.logLevel = options.logLevel
        let pool = ["request_timeout: \(ChaosOptions.requestMs)ms", "connect_timeout: 2s"]
        stack.settings = [
            // What the stand-in never answers after one of its faults is given up after this, instead of a
            // minute, and a join instead of five.
            "kafka": [
                "max.poll.interval.ms: 10000", "socket.timeout.ms: \(ChaosOptions.kafkaMs)",
                // The stand-in doesn't refuse a request that overtakes one which failed, as a broker does.
                "max.in.flight.requests.per.connection: 1",
            ],
            "redis": ["url: redis://127.0.0.1:\(redis)"],
            "worker": ["shards: 1", "in_flight: 400", "drain_deadline: 8s"],
            "providers.apns": pool, "providers.fcm": pool,
        ]
        let settings = SimulatorSettings()
        return StackConfiguration(
            options: stack, brokers: brokers, redisSocket: "",
            endpoints: Simulator.Endpoints(
                host: "127.0.0.1", apns: providers[0], sandbox: providers[1], fcm: providers[2]),
            credentialDirectory: "\(directory)/credentials", keyID: settings.keyID, teamID: settings.teamID
        ).text(workerPort: health, retryPort: health)
    }

    private static func freePort() throws(StackFailure) -> UInt16 {
        do throws(SystemFailure) {
            return try Socket.freePort()
        } catch {
            throw StackFailure(.program, "\(error)")
        }
    }

    // MARK: - Start and end

    /// Starts the programs and waits until all are ready.
    func start() throws(StackFailure) {
        try simulator.start()
        try wait(for: adminPort, simulator)
        try retry.start()
        for worker in workers { try worker.start() }
        for (port, program) in zip(healthPorts, [retry] + workers) { try wait(for: port, program) }
    }

    private func wait(for port: UInt16, _ program: ChaosProgram) throws(StackFailure) {
        let end = Clock.monotonicMs + 60_000
        while get(port, "/readyz")?.status != 200 {
            program.poll()
            guard program.child != nil, Clock.monotonicMs < end else {
                throw StackFailure(
                    .program, "\(program.name) is not ready; its log ends:\n\(program.logTail)")
            }
            usleep(20_000)
        }
    }

    private func get(_ port: UInt16, _ path: String) -> HTTPClientResponse? {
        try? client.send(HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)"))
    }

    /// Gives the simulator a fault script; an empty one ends all faults.
    func setFaults(_ script: String) {
        let request = HTTPClientRequest(
            method: "POST", url: "http://127.0.0.1:\(adminPort)/faults", body: Array(script.utf8))
        _ = try? client.send(request)
    }

    /// Asks all programs to end, the simulator last, and waits for that.
    func stopPrograms() {
        for program in workers + [retry] { program.askToStop(withinMs: 30_000) }
        let end = Clock.monotonicMs + 40_000
        while (workers + [retry]).contains(where: { $0.child != nil }), Clock.monotonicMs < end {
            for program in programs { program.poll() }
            usleep(20_000)
        }
        simulator.askToStop(withinMs: 5_000)
        while simulator.child != nil {
            simulator.poll()
            usleep(20_000)
        }
    }

    /// Ends everything.
    func stop() {
        for program in programs { program.kill() }
        proxy.stop()
        redis.stop()
        broker.stop()
        watcher.close()
    }

    // MARK: - Routes

    /// A worker's connections to the providers.
    func providerRoutes(_ slot: Int) -> [Int] {
        let first = slot * Self.routesPerWorker
        return [first, first + 1, first + 2]
    }

    /// A worker's connection to Redis.
    func redisRoutes(_ slot: Int) -> [Int] { [slot * Self.routesPerWorker + 3] }

    /// Which worker a route to a provider belongs to; nil for a route to Redis.
    func worker(ofRoute route: Int) -> Int? {
        let slot = route / Self.routesPerWorker
        return slot < workers.count && route % Self.routesPerWorker < 3 ? slot : nil
    }

    // MARK: - Redis

    /// Runs one command, on a connection of its own that goes through no proxy.
    @discardableResult
    func askRedis(_ words: [String]) throws(RedisFailure) -> RedisValue {
        let session = try RedisSession(redis.endpoint)
        defer { session.close() }
        return try session.command(words)
    }

    /// Registers the plan's devices.
    func register(_ plan: ChaosPlan) throws(StackFailure) {
        do throws(RedisFailure) {
            let session = try RedisSession(redis.endpoint, scripts: RegistryScripts.all)
            defer { session.close() }
            // Nothing can go wrong yet, and syncing each write would take a minute.
            try session.command("CONFIG", "SET", "appendfsync", "no")
            let directory = DeviceDirectory(session: session, app: ChaosPlan.app)
            for device in plan.devices {
                try directory.register(
                    recipient: ChaosPlan.name(ofRecipient: device.recipient),
                    device: ChaosPlan.name(ofDevice: device.place),
                    DeviceRecord(
                        platform: device.isIOS ? .ios : .android, token: device.token,
                        registeredAtMs: Clock.wallMs - 86_400_000, isSandbox: device.isSandbox, locale: "en",
                        timeZone: "UTC", appVersion: "1.0"))
            }
            try session.command("CONFIG", "SET", "appendfsync", "always")
        } catch {
            throw StackFailure(.redis, "registering the devices failed: \(error)")
        }
    }
}
