package import Core
internal import EventLoop
internal import GatewayKit
internal import Glibc
internal import HTTPClient
package import Kafka
package import Redis
package import SimulatorKit

/// The whole pipeline on loopback: an embedded broker and the simulator in this process, a private
/// redis-server, and workers, retry services and gateways as processes of their own.
///
/// - Ownership: ``stop()`` ends everything, as does the end of this process, however it comes.
/// - Threading: one thread.
package final class Stack {
    /// What the stack was made with.
    package let options: StackOptions
    /// Where its files are.
    package let directory: String
    /// The configuration file of its programs.
    package var configurationPath: String { "\(directory)/peal.yaml" }
    /// The broker.
    package let broker: EmbeddedBroker
    /// The store.
    package let redis: PrivateRedisServer
    /// APNs and FCM.
    package let simulator: Simulator
    /// The worker processes that were started, in order.
    package private(set) var workers: [ChildProcess] = []
    /// The retry processes that were started, in order.
    package private(set) var retries: [ChildProcess] = []
    /// The processes of the broadcast stage that were started, in order.
    package private(set) var expanders: [ChildProcess] = []
    /// The ports of their health and metrics, in the same order.
    package private(set) var expanderPorts: [UInt16] = []
    /// The ports of the workers' health and metrics, in the same order; likewise of the retry services.
    package private(set) var workerPorts: [UInt16] = []
    package private(set) var retryPorts: [UInt16] = []
    /// The gateway processes that were started, in order, and where they listen.
    package private(set) var gateways: [ChildProcess] = []
    package private(set) var gatewayPorts: [UInt16] = []
    /// The gateways' API key, made for this run; likewise the key of wallet clients and the secret that
    /// users' tokens are signed with.
    package let apiKey: String
    package let clientKey: String
    package let userSecret: String
    /// The topics' names.
    package var topics: TopicNames { TopicNames(prefix: options.topicPrefix) }

    private let client: HTTPClient
    private let watcher: StackWatcher
    private var isStopped = false

    /// Starts everything and waits until the services are ready.
    /// - Throws: what could not be started, with the end of its log.
    package init(_ options: StackOptions = StackOptions()) throws(StackFailure) {
        Signals.ignorePipe()
        self.options = options
        var probe = HTTPClientOptions()
        probe.connectTimeoutMs = 1_000
        probe.totalTimeoutMs = 2_000
        probe.proxy = ""
        client = HTTPClient(probe)
        do throws(SystemFailure) {
            if let given = options.directory {
                try Self.makeDirectory(given)
                directory = given
            } else {
                directory = try Files.makeTemporaryDirectory(prefix: "peal")
            }
        } catch {
            throw StackFailure(.files, "\(error)")
        }
        apiKey = APIKey.makeText()
        clientKey = APIKey.makeText()
        userSecret = APIKey.makeText()
        watcher = try StackWatcher(
            directory: options.keepsDirectory || options.directory != nil ? "" : directory)
        broker = try Self.makeBroker(options)
        redis = try Self.makeRedis(options)
        var settings = options.simulator
        settings.certificateDirectory = "\(directory)/credentials"
        do throws(SimulatorFailure) {
            simulator = try Simulator.start(settings)
        } catch {
            throw StackFailure(.simulator, "the simulator did not start: \(error)")
        }
        do throws(StackFailure) {
            for _ in 0..<options.workers { try startWorker() }
            for _ in 0..<options.retries { try startRetry() }
            for _ in 0..<options.gateways { try startGateway() }
            for _ in 0..<options.expanders { try startExpander() }
            try waitUntilReady()
        } catch {
            stop()
            throw error
        }
    }

    deinit { stop() }

    private static func makeDirectory(_ path: String) throws(SystemFailure) {
        let made = unsafe path.withCString { unsafe mkdir($0, 0o700) }
        let code = errno
        if made != 0, code != EEXIST { throw SystemFailure(errno: code, doing: "make the directory \(path)") }
    }

    private static func makeBroker(_ options: StackOptions) throws(StackFailure) -> EmbeddedBroker {
        let names = TopicNames(prefix: options.topicPrefix)
        var topics: [(name: String, partitions: Int)] = []
        for lane in TopicNames.lanes { topics.append((names.jobs(lane: lane), options.partitions)) }
        for tier in StackConfiguration.tiers(options) {
            topics.append((names.retry(tier: tier), options.partitions))
        }
        topics.append((names.broadcasts, options.partitions))
        topics.append((names.broadcastParts, options.partitions))
        topics.append((names.outcomes, options.partitions))
        topics.append((names.dead, options.partitions))
        do throws(KafkaFailure) { return try EmbeddedBroker(topics: topics) } catch {
            throw StackFailure(.broker, "\(error)")
        }
    }

    private static func makeRedis(_ options: StackOptions) throws(StackFailure) -> PrivateRedisServer {
        do throws(RedisFailure) {
            return try PrivateRedisServer(
                persistence: options.redisIsDurable ? .appendOnly : .none, settings: options.redisSettings)
        } catch {
            throw StackFailure(.redis, "\(error)")
        }
    }

    /// Ends everything in order: workers hand back what they hold, then the rest goes. Idempotent.
    package func stop() {
        guard !isStopped else { return }
        isStopped = true
        // The gateways first, so that nothing new comes in while the others finish.
        let all = gateways + expanders + workers + retries
        for process in all { process.send(signal: SIGTERM) }
        for process in all {
            process.stop(deadlineMs: 10_000)
            watcher.forget(process.processID)
        }
        simulator.stop()
        redis.stop()
        broker.stop()
        watcher.close()
        if !options.keepsDirectory, options.directory == nil { Files.removeTree(directory) }
    }

    // MARK: - Programs

    /// Starts one more worker; it may not be ready yet.
    @discardableResult
    package func startWorker() throws(StackFailure) -> ChildProcess {
        let port = try Self.freePort()
        let process = try start("worker", number: workers.count + 1, port: port)
        workers.append(process)
        workerPorts.append(port)
        return process
    }

    /// Starts one more retry service; it may not be ready yet.
    @discardableResult
    package func startRetry() throws(StackFailure) -> ChildProcess {
        let port = try Self.freePort()
        let process = try start("retry", number: retries.count + 1, port: port)
        retries.append(process)
        retryPorts.append(port)
        return process
    }

    /// Starts one more gateway; it may not be ready yet.
    @discardableResult
    package func startGateway() throws(StackFailure) -> ChildProcess {
        let key = APIKey(
            name: "throw-away", digest: APIKey.digest(of: apiKey), apps: nil, scopes: Set(Scope.allCases))
        do throws(SystemFailure) {
            let path = "\(directory)/gateway.keys"
            try Files.write(path: path, text: key.line + "\n", mode: 0o600)
            try Files.write(
                path: path + ".clients", text: "phone:\(Hex.encode(APIKey.digest(of: clientKey)))\n")
            try Files.write(path: path + ".users", text: userSecret + "\n", mode: 0o600)
        } catch {
            throw StackFailure(.files, "\(error)")
        }
        let port = try Self.freePort()
        let process = try start(
            "gateway", program: "producer", arguments: ["serve"], number: gateways.count + 1, port: port)
        gateways.append(process)
        gatewayPorts.append(port)
        return process
    }

    /// Starts one more process of the broadcast stage; it may not be ready yet.
    @discardableResult
    package func startExpander() throws(StackFailure) -> ChildProcess {
        let port = try Self.freePort()
        let process = try start(
            "expand", program: "producer", arguments: ["expand"], number: expanders.count + 1, port: port)
        expanders.append(process)
        expanderPorts.append(port)
        return process
    }

    private func start(
        _ kind: String, program: String? = nil, arguments: [String] = [], number: Int, port: UInt16
    ) throws(StackFailure) -> ChildProcess {
        let name = "\(kind)-\(number)"
        let path = "\(directory)/\(name).yaml"
        let configuration = StackConfiguration(
            options: options, brokers: broker.bootstrapServers, redisSocket: redis.socketPath,
            endpoints: simulator.endpoints, credentialDirectory: "\(directory)/credentials",
            keyID: simulator.credentials.keyID, teamID: simulator.credentials.teamID,
            keysFile: options.gateways > 0 ? "\(directory)/gateway.keys" : "")
        let text = configuration.text(
            workerPort: port, retryPort: port, expandPort: port,
            gatewayPort: kind == "gateway" ? port : nil)
        do throws(SystemFailure) {
            try Files.write(path: path, text: text)
            if !Files.exists(configurationPath) {
                // For what is started beside the stack by hand: any free port.
                let free = configuration.text(workerPort: 0, retryPort: 0, expandPort: 0, gatewayPort: 0)
                try Files.write(path: configurationPath, text: free)
            }
        } catch {
            throw StackFailure(.files, "\(error)")
        }
        let programs = options.programDirectory ?? StackOptions.ownDirectory
        let process = try ChildProcess(
            name: name, program: "\(programs)/peal-\(program ?? kind)",
            arguments: arguments + ["--config", path],
            environment: options.environment, logPath: "\(directory)/\(name).log")
        watcher.add(process.processID)
        return process
    }

    /// A port that was free a moment ago.
    private static func freePort() throws(StackFailure) -> UInt16 {
        do throws(SystemFailure) {
            return try Socket.freePort()
        } catch {
            throw StackFailure(.program, "\(error)")
        }
    }

    // MARK: - Readiness

    /// Waits until every running worker, retry service and gateway says that it is ready.
    /// - Throws: when one has ended or isn't ready within the options' deadline.
    package func waitUntilReady() throws(StackFailure) {
        let end = Clock.monotonicMs + options.readyDeadlineMs
        let all =
            Array(zip(workers, workerPorts)) + Array(zip(retries, retryPorts))
            + Array(zip(gateways, gatewayPorts)) + Array(zip(expanders, expanderPorts))
        for (process, port) in all where process.ending == nil {
            while !isReady(port) {
                guard process.isRunning else {
                    throw StackFailure(
                        .program, "\(process.name) has ended; its log ends:\n\(process.logTail())")
                }
                guard Clock.monotonicMs < end else {
                    throw StackFailure(
                        .timedOut, "\(process.name) is not ready; its log ends:\n\(process.logTail())")
                }
                usleep(20_000)
            }
        }
    }

    private func isReady(_ port: UInt16) -> Bool { get(port, "/readyz")?.status == 200 }

    /// The metrics of a program in Prometheus' text form; nil when it doesn't answer.
    package func metrics(port: UInt16) -> String? {
        get(port, "/metrics").map { String(decoding: $0.body, as: UTF8.self) }
    }

    private func get(_ port: UInt16, _ path: String) -> HTTPClientResponse? {
        try? client.send(HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)"))
    }

    /// Which of the programs have ended on their own.
    package var fallen: [ChildProcess] {
        (workers + retries + gateways + expanders).filter { !$0.isRunning }
    }
}
