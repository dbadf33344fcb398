package import Configuration
internal import Core
internal import Decisions
internal import EventLoop
internal import HTTPServer
internal import Jobs
internal import Kafka
package import Logging
internal import Metrics
internal import Providers
internal import Redis
internal import Registry
internal import Services
internal import Tracing

/// Why a worker can't start: one sentence that says what to fix.
package struct WorkerFailure: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}

/// A worker: lanes that read Kafka, shards that send, a keeper of credentials, and an HTTP port for probes.
///
/// - Threading: `start` and `stop` are called from one thread; everything inside has threads of its own.
package final class WorkerService {
    private let lanes: [LaneControl]
    private let shards: [ShardMailbox]
    private let laneThreads: [WorkerThread]
    private let shardThreads: [WorkerThread]
    private let laneWakers: [Waker]
    private let shardWakers: [Waker]
    private let stopping: Locked<Bool>
    private let keeper: CredentialKeeper
    private let reloader: CredentialReloader
    private let printer: PushPrinter
    private let tracer: Tracer?
    private let server: HTTPServer?
    private let logger: Logger
    /// The port of the probes; nil without one.
    package var httpPort: UInt16? { server?.port }

    /// Starts everything; what isn't reachable yet is tried again until it is. `reread` reads the
    /// configuration anew when its file or that of a credential changes; without it credentials are read
    /// again from the same files.
    /// - Throws: when the configuration or a credential can't be used.
    package static func start(
        _ settings: Settings, log: Logger,
        reread: (@Sendable () -> Result<Settings, ConfigurationFailure>)? = nil
    ) throws(WorkerFailure) -> WorkerService {
        do {
            return try WorkerService(settings, log: log, reread: reread)
        } catch let failure as WorkerFailure {
            throw failure
        } catch {
            throw WorkerFailure("\(error)")
        }
    }

    private init(
        _ settings: Settings, log: Logger,
        reread: (@Sendable () -> Result<Settings, ConfigurationFailure>)?
    ) throws {
        logger = log
        let properties = try settings.kafkaProperties()
        let redis = try settings.redisOptions(scripts: RegistryScripts.all)
        _ = try settings.credentials.ring()
        let keeper = CredentialKeeper(try Self.keeping(settings), logger: log.child("credentials"))
        self.keeper = keeper
        let uploads = UploadedCredentials(settings, redis: redis, logger: log.child("credentials"))
        // Once before the first job, so that it need not wait for what is there; with Redis away it goes on.
        _ = uploads?.poll()
        let directory: ProviderDirectory
        do {
            var builder = DirectoryBuilder(settings, keeper: keeper, uploads: uploads?.known ?? [:])
            directory = try builder.build()
        } catch {
            keeper.stop()
            throw error
        }
        let live = LiveDirectory(directory)
        let reloader = CredentialReloader(
            settings, directory: live, keeper: keeper, uploads: uploads,
            reread: reread ?? { .success(settings) },
            logger: log.child("credentials"))
        self.reloader = reloader
        let tracer = try settings.tracer(role: "worker", logger: log)
        self.tracer = tracer
        let printer = PushPrinter()
        self.printer = printer
        let stopping = Locked(false)
        self.stopping = stopping
        let names = TopicNames(prefix: settings.topics.prefix)
        let laneLoops = try settings.worker.lanes.map { _ in try EventLoop() }
        lanes = zip(settings.worker.lanes, laneLoops).map { name, loop in
            LaneControl(name: name, topic: names.jobs(lane: name), waker: loop.waker)
        }
        laneWakers = laneLoops.map(\.waker)
        let count = settings.worker.shards > 0 ? settings.worker.shards : max(1, Clock.processorCount - 1)
        let shardLoops = try (0..<count).map { _ in try EventLoop() }
        shardWakers = shardLoops.map(\.waker)
        shards = shardLoops.map { ShardMailbox(waker: $0.waker) }
        let report = Self.report(
            lanes, shards, directory.apps.map(\.name), stopping, keeper, reloader)
        if let listen = settings.http.worker {
            // Before the threads: with its port taken a worker does not run.
            server = try Self.health(report).telling(log).telling(tracer).serve(
                HTTPServerOptions(host: listen.host, port: UInt16(clamping: listen.port)))
        } else {
            server = nil
        }
        shardThreads = try Self.startShards(
            settings, shardLoops, shards, lanes, live, printer, tracer, redis, properties, report, log)
        laneThreads = try Self.startLanes(
            settings, laneLoops, lanes, shards, stopping, redis, properties, log)
        Self.checkRedis(redis, log)
        log.notice(
            "worker.started", "The worker runs.",
            [
                "worker.shards": .number(count),
                "worker.lanes": .text(settings.worker.lanes.joined(separator: ",")),
                "worker.apps": .number(directory.apps.count),
                "worker.routes": .number(directory.routes.count),
            ])
    }

    private static func keeping(_ settings: Settings) throws -> KeeperOptions {
        var options = KeeperOptions()
        options.caFile = settings.providers.fcmTokenEndpoint.caFile
        options.verifiesPeer = settings.providers.fcmTokenEndpoint.verify
        options.proxy = try DirectoryBuilder.proxy(settings.providers.fcmProxy)
        options.appleTokenAgeMs = settings.providers.apnsTokenAgeMs
        options.redis = try settings.redisOptions(scripts: [])
        options.pod = HostName.current
        return options
    }

    /// Series of counters that the process exposes with an app of their own; twenty a busy app is usual.
    private static let seriesMax = 40_000

    // MARK: Threads

    /// Says what is wrong with the server's settings, once, without holding the start up.
    private static func checkRedis(_ options: RedisClientOptions, _ log: Logger) {
        _ = WorkerThread.start(name: "redis-check") {
            do throws(RedisFailure) {
                let session = try RedisSession(options: options)
                for complaint in try ServerSettings.complaints(session) {
                    log.warning("redis.settings", complaint)
                }
                session.close()
            } catch {
                log.notice("redis.unchecked", "Redis could not be asked for its settings: \(error.message)")
            }
        }
    }

    private static func startShards(
        _ settings: Settings, _ loops: [EventLoop], _ mailboxes: [ShardMailbox], _ lanes: [LaneControl],
        _ live: LiveDirectory, _ printer: PushPrinter, _ tracer: Tracer?,
        _ redis: RedisClientOptions, _ properties: [(name: String, value: String)],
        _ report: @escaping @Sendable () -> WorkerReport, _ log: Logger
    ) throws -> [WorkerThread] {
        var producer = KafkaConfiguration.producer(
            brokers: settings.kafka.brokers, clientID: "peal-worker", lingerMs: 5)
        // A dead letter is as large as the job was, plus its headers.
        producer.set("message.max.bytes", "2000000")
        try producer.apply(properties)
        let options = ShardSettings(
            redis: redis, producer: producer, topics: TopicNames(prefix: settings.topics.prefix),
            schedule: settings.retrySchedule, maxAgeMs: settings.retry.maxAgeMs,
            urgentEarly: settings.retry.urgentEarly,
            invalidation: settings.providers.invalidation, deliveriesMax: max(64, settings.worker.inFlight),
            urgentReserve: settings.worker.urgentReserve,
            stallMs: try sessionMs(settings, properties) / 2, podName: podName(), printer: printer,
            controlIntervalMs: UInt64(clamping: settings.worker.controlIntervalMs),
            circuit: settings.providers.circuit, appShare: settings.worker.inFlightAppShare,
            zoneFolder: settings.registry.zoneFolder,
            staleAfterMs: settings.registry.staleAfterMs,
            seriesMax: max(256, Self.seriesMax / loops.count), live: live, report: report,
            group: settings.worker.group, tracer: tracer)
        let directory = live.snapshot()
        var threads: [WorkerThread] = []
        for (index, loop) in loops.enumerated() {
            guard let parser = JobParser() else {
                throw WorkerFailure("no memory is left for the JSON parser")
            }
            let shard = Transfer(
                try Shard(
                    index: index, loop: loop, mailbox: mailboxes[index], lanes: lanes, directory: directory,
                    settings: options, parser: parser,
                    logger: log.child("shard", ["shard": .number(index)])))
            threads.append(WorkerThread.start(name: "shard-\(index)") { shard.value.run() })
        }
        return threads
    }

    private static func startLanes(
        _ settings: Settings, _ loops: [EventLoop], _ lanes: [LaneControl], _ shards: [ShardMailbox],
        _ stopping: Locked<Bool>, _ redis: RedisClientOptions,
        _ properties: [(name: String, value: String)], _ log: Logger
    ) throws -> [WorkerThread] {
        let total = settings.worker.inFlight * shards.count
        let reserve = lanes.count == 1 ? 0 : settings.worker.urgentReserve
        var threads: [WorkerThread] = []
        for (index, control) in lanes.enumerated() {
            let group = "\(settings.worker.group).\(control.name)"
            var consumer = KafkaConfiguration.consumer(
                brokers: settings.kafka.brokers, group: group, clientID: "peal-worker-\(control.name)")
            if settings.worker.staticMembership { consumer.set("group.instance.id", HostName.host) }
            try consumer.apply(properties)
            try consumer.validate()
            let session = try sessionMs(settings, properties)
            let share = lanes.count == 1 ? 1 : control.name == "urgent" ? max(reserve, 0.1) : 1 - reserve
            let options = LaneOptions(
                consumer: consumer, group: group, redis: redis,
                flushIntervalMs: UInt64(clamping: settings.worker.flushIntervalMs),
                inFlightMax: max(64, Int(Double(total) * share)),
                commitIntervalMs: UInt64(clamping: settings.worker.commitIntervalMs),
                drainMs: Self.drainBudgetMs(settings.worker.drainDeadlineMs), revokeMs: session / 3,
                stallMs: session / 2)
            let lane = Transfer(
                LaneConsumer(
                    control: control, lane: index, options: options, shards: shards, loop: loops[index],
                    stopping: stopping, logger: log.child("lane", ["lane": .text(control.name)])))
            threads.append(WorkerThread.start(name: "lane-\(control.name)") { lane.value.run() })
        }
        return threads
    }

    /// How long the broker keeps a member that it hears nothing of, in milliseconds.
    private static func sessionMs(
        _ settings: Settings, _ properties: [(name: String, value: String)]
    ) throws(KafkaFailure) -> UInt64 {
        var consumer = KafkaConfiguration.consumer(
            brokers: settings.kafka.brokers, group: settings.worker.group)
        try consumer.apply(properties)
        return UInt64(consumer.value("session.timeout.ms") ?? "") ?? 30_000
    }

    /// The part of the deadline that open jobs get; the rest is for the last commit and leaving the groups.
    private static func drainBudgetMs(_ deadlineMs: Int64) -> UInt64 {
        UInt64(clamping: deadlineMs > 20_000 ? deadlineMs - 10_000 : deadlineMs / 2)
    }

    /// A name that tells this process from its neighbours: the host's name and the process id.
    private static func podName() -> String { HostName.current }

    /// Reads the credentials and makes every TLS context, without connecting to anything.
    /// - Throws: the first thing that can't be used.
    package static func check(_ settings: Settings) throws(WorkerFailure) {
        do {
            var builder = DirectoryBuilder(settings, keeper: nil)
            _ = try builder.build()
            _ = try settings.redisOptions(scripts: [])
            _ = try settings.credentials.ring()
            var consumer = KafkaConfiguration.consumer(
                brokers: settings.kafka.brokers, group: settings.worker.group)
            try consumer.apply(try settings.kafkaProperties())
            try consumer.validate()
        } catch {
            throw WorkerFailure("\(error)")
        }
    }

    // MARK: Stopping

    /// Takes nothing more, finishes what is in flight within the configured deadline, commits, leaves the
    /// groups.
    package func stop() {
        stopping.withLock { $0 = true }
        for waker in laneWakers { waker.wake() }
        for thread in laneThreads { thread.join() }
        for (mailbox, waker) in zip(shards, shardWakers) {
            mailbox.isStopping.withLock { $0 = true }
            waker.wake()
        }
        for thread in shardThreads { thread.join() }
        reloader.stop()
        keeper.stop()
        tracer?.stop()
        printer.stop()
        server?.stop()
    }

    /// Reads the credentials again and puts what changed in force, without disturbing what is under way.
    package func reload() { reloader.reload() }

    // MARK: What it shows

    /// Deliveries by outcome since the start, over all shards.
    package var outcomes: [String: UInt64] {
        var sums: [String: UInt64] = [:]
        for mailbox in shards {
            let counts = mailbox.status.withLock { $0 }.series.outcomes
            for outcome in DeliveryOutcome.allCases {
                sums["\(outcome.name)", default: 0] += counts[Int(outcome.rawValue)]
            }
        }
        return sums
    }

    private static func report(
        _ lanes: [LaneControl], _ shards: [ShardMailbox], _ apps: [String], _ stopping: Locked<Bool>,
        _ keeper: CredentialKeeper, _ reloader: CredentialReloader
    ) -> @Sendable () -> WorkerReport {
        {
            WorkerReport(
                lanes, shards, apps: apps, isStopping: stopping.withLock { $0 }, credentials: keeper.status,
                reloads: reloader.status)
        }
    }

    private static func health(_ report: @escaping @Sendable () -> WorkerReport) -> HealthEndpoints {
        HealthEndpoints(
            role: .worker, live: { report().liveness }, ready: { report().readiness },
            metrics: { report().write(to: &$0) }, status: { report().summary() },
            page: { report().page() })
    }
}
