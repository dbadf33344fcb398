internal import Core
internal import Decisions
internal import EventLoop
internal import HTTP2
internal import Jobs
internal import Kafka
internal import Logging
internal import Providers
internal import Redis
internal import Registry
internal import Rendering
internal import Services
internal import Tracing

/// How a shard works.
struct ShardSettings: Sendable {
    var redis: RedisClientOptions
    var producer: KafkaConfiguration
    var topics: TopicNames
    var schedule: RetrySchedule
    /// How long a job without a deadline of its own is good for, in milliseconds.
    var maxAgeMs: Int64
    /// Whether an urgent job gets one early attempt before APNs' fifteen minutes.
    var urgentEarly: Bool
    /// When an app's refused tokens say that the configuration is wrong, not the tokens.
    var invalidation: InvalidationBreaker.Limits
    /// Deliveries that may be open at once; jobs above it wait.
    var deliveriesMax: Int
    /// How much of it is kept for the urgent lane, 0...1.
    var urgentReserve: Double
    /// A process that stood still for longer (milliseconds) may have lost its partitions unheard.
    var stallMs: UInt64 = .max
    /// What tells this process from others in Redis.
    var podName: String
    /// Takes the pushes of apps without credentials.
    var printer: PushPrinter
    /// What the process's shards share of the kill switch.
    var control = ControlBoard()
    /// How often the kill switch is read, in milliseconds.
    var controlIntervalMs: UInt64 = 500
    /// When a failing provider is left alone.
    var circuit = CircuitBreaker.Limits()
    /// How much of ``deliveriesMax`` one app may fill, 0...1, when there are several.
    var appShare = 0.5
    /// Where the machine keeps its time zones.
    var zoneFolder = "/usr/share/zoneinfo"
    /// How long a device counts as there after it was registered, in milliseconds; 0: for ever.
    var staleAfterMs: Int64 = 0
    /// How many series of counters with an app of their own a shard keeps.
    var seriesMax = 10_000
    /// Where changed credentials come from; nil when they never change.
    var live: LiveDirectory?
    /// What the process says of itself, for its line among the pods; nil for less.
    var report: (@Sendable () -> WorkerReport)?
    /// The consumer groups' name before the lane.
    var group = ""
    /// Where spans go; nil when nothing is traced.
    var tracer: Tracer?
}

/// One thread's share of the work: it owns every job whose key falls to it, from the record to the outcome.
///
/// Stages of a job: read (``read(_:)``) → its turn among its recipient's jobs (``proceed(_:)``) → admit (one
/// Redis script) → render and send per device → settle (outcome event, retry or dead record) → offset.
///
/// - Threading: everything runs on the loop's thread. Records come in and completions go out in batches.
/// - Bounds: the lanes bound the jobs, ``ShardSettings/deliveriesMax`` the deliveries, Redis and the pools
///   their queues.
final class Shard {
    let index: Int
    let loop: EventLoop
    let mailbox: ShardMailbox
    let lanes: [LaneControl]
    let directory: ProviderDirectory
    let settings: ShardSettings
    let logger: Logger
    /// Lines about single deliveries.
    let deliveryLog: Logger
    private var kafkaLog: KafkaLog
    let producer: KafkaProducer
    var redis: RedisClient?
    var routes: [Route?]
    /// By route: why it could not connect when that was last looked at; empty when it could.
    var routeFailures: [String]
    /// Which of the routes take others' places, and how that goes.
    var rotation: RouteRotation
    var renderers: [Renderer]
    /// By app.
    var traits: [AppTraits]
    let parser: JobParser
    var random: UInt64 = RandomSource.seed()

    var jobs = SlotTable<JobSlot>()
    var deliveries = SlotTable<DeliverySlot>()
    var records = SlotTable<RecordSlot>()
    var traces = SlotTable<TraceSlot>()
    /// Spans that ended in this turn.
    var spans: [Span] = []
    var blocks = BlockPool()
    var batches: [RecordBatch?] = []
    var freeBatches: [Int32] = []
    var queues: RecipientQueues
    /// Jobs whose turn has come.
    var ready: [Int32] = []
    /// Jobs that wait for room or for Redis, by lane, oldest first.
    var held: [[UInt64]]
    var heldCount = 0
    /// The assignment that each lane's held jobs were last looked through for.
    var heldEpochs: [UInt32]
    /// No job asks Redis before this time of the loop's clock.
    var redisRestUntilMs: UInt64 = 0
    /// Jobs that wait for the next tick because their node of a Redis Cluster did not take what they ask.
    var resting: [UInt64] = []
    /// When it was last said that Redis refuses, milliseconds of the loop's clock; 0 for never.
    var refusalToldMs: UInt64 = 0
    /// Whether Redis, although connected, refuses what jobs need.
    var isRedisRefusing = false
    /// Deliveries that wait for a credential or for room in a pool.
    var waitingDeliveries: [UInt64] = []
    /// By quota: this shard's lease and what waits for it.
    var quotas: [QuotaGate]
    /// By app.
    let caps: [[CapRule]]
    /// Records that Kafka's queue had no room for.
    var unsentRecords: [Int32] = []
    /// Records that the broker refused; they are tried again with the next tick.
    var refusedRecords: [Int32] = []
    var completions: [[Completion]]
    var counters: CounterBatch
    var campaigns = CampaignCounts()
    /// By lane: the field of its deliveries.
    let laneFields: [Int]
    var counts = ShardStatus()
    /// By app: stops the removal of tokens when too many are refused at once.
    var breakers: [InvalidationBreaker]
    /// Tokens that APNs refused lately.
    var suspects = SuspectTokens()
    /// Tokens that APNs accepted lately.
    var acceptedTokens = AcceptedTokens()
    /// By route: whether tokens that were never accepted are kept apart.
    var screens: [TokenScreen]
    /// What an operator paused or cancelled.
    var control = ShardControl()
    /// By route.
    var circuits: [RouteCircuit]
    var bulkheads: ShardBulkheads
    var timeZones: TimeZones
    /// Removals that Redis has not answered, by number.
    var openRemovals: [UInt64: RemovedToken] = [:]
    var lastRemoval: UInt64 = 0
    /// Tokens that are removed soon, unless the configuration turns out to be at fault.
    var removals: [SuspectToken] = []
    /// By route: the GOAWAY frames that were logged.
    var goAwaysLogged: [UInt64]
    /// By route: the GOAWAY frames of the side pool that were looked at.
    var sideGoAways: [UInt64]

    /// Claims that Redis did not settle; they are asked about again with the next tick.
    var unsettled: [(UInt64, Claim)] = []

    var incoming: [RecordBatch] = []
    var reports: [DeliveryReport] = []
    var body = ByteBuffer(capacity: 8192)
    var text = ByteBuffer(capacity: 4096)
    var scratch = ByteBuffer(capacity: 4096)
    /// The recipient and the collapse id of the key that is being written.
    var lateName = ByteBuffer(capacity: 256)
    var lateID = ByteBuffer(capacity: 128)
    /// The campaign of the delivery that is being counted.
    var campaignName = ByteBuffer(capacity: 128)
    /// The thread of the job that is being admitted.
    var threadName = ByteBuffer(capacity: 256)
    var headers = KafkaHeaders()
    /// What to add to the loop's clock to get wall time.
    private var wallOffsetMs: Int64 = 0
    private var lastFlushMs: UInt64 = 0
    var lastTickMs: UInt64 = 0
    let startedMs = Clock.wallMs
    /// What the pod's line was made of lately.
    var podMemory = PodMemory()
    private let appsByHash: [UInt64: Int32]
    let outcomeTopic: KafkaProducer.Topic
    let deadTopic: KafkaProducer.Topic
    let broadcastTopic: KafkaProducer.Topic
    let retryTopics: [KafkaProducer.Topic]

    init(
        index: Int, loop: EventLoop, mailbox: ShardMailbox, lanes: [LaneControl],
        directory: ProviderDirectory,
        settings: ShardSettings, parser: JobParser, logger: Logger
    ) throws(KafkaFailure) {
        self.parser = parser
        self.index = index
        self.loop = loop
        self.mailbox = mailbox
        self.lanes = lanes
        self.directory = directory
        self.settings = settings
        self.logger = logger
        deliveryLog = logger.child("delivery")
        kafkaLog = KafkaLog(logger)
        let retryNames = settings.schedule.tiers.map { settings.topics.retry(tier: $0.name) }
        producer = try KafkaProducer(
            settings.producer,
            topics: [settings.topics.outcomes, settings.topics.dead, settings.topics.broadcasts] + retryNames)
        outcomeTopic = producer.topic(0)
        deadTopic = producer.topic(1)
        broadcastTopic = producer.topic(2)
        retryTopics = retryNames.indices.map { [producer] in producer.topic($0 + 3) }
        routes = Array(repeating: nil, count: directory.routes.count)
        sideGoAways = Array(repeating: 0, count: directory.routes.count)
        goAwaysLogged = Array(repeating: 0, count: directory.routes.count)
        screens = Array(repeating: TokenScreen(), count: directory.routes.count)
        routeFailures = Array(repeating: "", count: directory.routes.count)
        rotation = RouteRotation(directory)
        traits = directory.apps.map(\.traits)
        caps = directory.apps.map(\.caps)
        quotas = directory.quotas.map { QuotaGate($0) }
        renderers = directory.apps.map { Renderer(settings: $0.render) }
        timeZones = TimeZones(folder: settings.zoneFolder)
        queues = RecipientQueues(capacity: 4096)
        completions = Array(repeating: [], count: lanes.count)
        held = Array(repeating: [], count: lanes.count)
        heldEpochs = lanes.map(\.epoch)
        circuits = directory.routes.map { _ in RouteCircuit(limits: settings.circuit) }
        bulkheads = ShardBulkheads(
            apps: directory.apps.count, providers: Set(directory.routes.map(\.provider)),
            all: settings.deliveriesMax, share: settings.appShare,
            reserve: settings.urgentReserve, epochs: lanes.map(\.epoch))
        // The last one counts jobs whose app can't be told.
        breakers = directory.apps.map { _ in InvalidationBreaker(limits: settings.invalidation) }
        laneFields = lanes.map { CounterField.lane($0.name) }
        counters = CounterBatch(apps: directory.apps.map(\.name) + ["unknown"], fields: CounterField.names)
        appsByHash = Dictionary(
            directory.apps.enumerated().map { (Hash64.of(text: $1.name), Int32($0)) },
            uniquingKeysWith: { first, _ in first })
        wallOffsetMs = Clock.wallMs - Int64(loop.nowMs)
        counts.series = SeriesTable(limit: settings.seriesMax)
        settings.control.join(shard: index)
    }

    /// Connects everything and runs until ``stop()``.
    func run() {
        producer.observer = self
        // First, so that what this shard decides at the end of a turn is flushed in the same turn.
        loop.addTurnHandler(self)
        loop.addWakeHandler(self)
        loop.stallHandler = self
        loop.stallLimitMs = settings.stallMs
        let client = RedisClient(loop: loop, options: settings.redis, handler: self)
        redis = client
        client.start()
        if producer.notificationDescriptor >= 0 {
            _ = try? loop.add(descriptor: producer.notificationDescriptor, interest: .readable, handler: self)
        }
        _ = loop.schedule(afterMs: 100, tag: 0, handler: self)
        loop.run()
        shutDown()
    }

    /// Ends ``run()``. On the loop's thread.
    func stop() { loop.stop() }

    private func shutDown() {
        flushCounters()
        flushCampaigns()
        sayGoodbye()
        // The loop keeps its handler, which keeps the loop.
        loop.stallHandler = nil
        // The last counters and dedup outcomes, too, get to Redis, if it answers.
        let end = Clock.monotonicMs + 500
        while let redis, redis.isReady, redis.inFlight > 0, Clock.monotonicMs < end {
            loop.runOnce(maxWaitMs: 10)
        }
        redis?.close()
        for route in routes { route?.close() }
        offerSpans()
        producer.close(deadlineMs: 2000)
    }

    /// Milliseconds since 1970, exact to the turn.
    var nowMs: Int64 { Int64(loop.nowMs) + wallOffsetMs }

    func nextRandom() -> UInt64 {
        random &+= 0x9E37_79B9_7F4A_7C15
        return Hash64.mix(random, 0xA076_1D64_78BD_642F)
    }

    func app(named name: UnsafeRawBufferPointer) -> Int32? {
        guard let index = unsafe appsByHash[Hash64.of(name)] else { return nil }
        return unsafe directory.apps[Int(index)].name.utf8.elementsEqual(name) ? index : nil
    }

    /// The shard's side of a route, made when it is first needed.
    func route(_ index: Int) -> Route {
        if let route = routes[index] { return route }
        let route = Route(rotation.definitions[index], loop: loop, sink: self)
        routes[index] = route
        return route
    }
}

// MARK: The loop's hooks

extension Shard: WakeHandler, TurnHandler, TimerHandler, IOHandler, KafkaObserver, StallHandler {
    /// Whatever is not on its way yet may be somebody else's by now: it is left to the partitions' owners.
    func stalled(milliseconds: UInt64) {
        logger.warning(
            "shard.stalled", "The process stood still; what waits is left to the partitions' owners.",
            ["milliseconds": .number(Int(clamping: milliseconds))])
        for lane in lanes { lane.invalidate() }
        for route in routes { route?.dropWaiting() }
        sendWaiting()
    }

    func woken() {
        mailbox.records.drain(into: &incoming)
        for batch in incoming { begin(batch) }
        incoming.removeAll(keepingCapacity: true)
        if mailbox.isStopping.withLock({ $0 }) { loop.stop() }
    }

    func ioReady(_ events: IOEvents) { drainReports() }

    func endOfTurn() {
        if !ready.isEmpty || heldCount > 0 || bulkheads.waiting > 0 { advance() }
        if !unsentRecords.isEmpty { produceUnsent() }
        if !spans.isEmpty { offerSpans() }
        for lane in completions.indices where !completions[lane].isEmpty {
            lanes[lane].completions.push(contentsOf: completions[lane])
            completions[lane].removeAll(keepingCapacity: true)
        }
    }

    func timerFired(_ tag: UInt64) {
        wallOffsetMs = Clock.wallMs - Int64(loop.nowMs)
        followDirectory()
        for route in routes { route?.refresh() }
        wakeResting()
        watchStreams()
        tickControl()
        tickCircuits()
        tickBulkheads()
        tickSuspects()
        sendWaiting()
        settleUnsettled()
        tendQuotas()
        drainReports()
        produceRefused()
        if loop.nowMs >= lastFlushMs &+ 1000 {
            lastFlushMs = loop.nowMs
            flushCounters()
            flushCampaigns()
            reportUnreachable()
            closeReplaced()
            reportGoAways()
            beat()
            publishStatus()
        }
        _ = loop.schedule(afterMs: 100, tag: 0, handler: self)
    }

    func kafkaReported(_ event: KafkaEvent) {
        kafkaLog.tell(event)
    }

    /// Says which providers can't be reached and why: a wrong host or certificate would otherwise only show
    /// as retries.
    private func reportUnreachable() {
        for (index, route) in routes.enumerated() {
            guard let route else { continue }
            let metrics = route.pool.snapshot
            let failure = metrics.connectFailuresInARow > 0 ? metrics.lastFailure : ""
            guard failure != routeFailures[index] else { continue }
            routeFailures[index] = failure
            let fields: LogFields = ["route": .text(route.definition.name)]
            if failure.isEmpty {
                logger.single(.info, "provider.connected") { ("The provider can be reached again.", fields) }
            } else {
                logger.single(.warning, "provider.unreachable") {
                    ("No connection to the provider; its deliveries wait: \(failure)", fields)
                }
            }
        }
    }

    func publishStatus() {
        if isRedisRefusing, heldCount == 0, loop.nowMs >= redisRestUntilMs { redisTakesJobs() }
        watchRedis()
        counts.jobs = jobs.count
        counts.deliveries = deliveries.count
        counts.unsentRecords = unsentRecords.count + refusedRecords.count
        counts.quotaWaiting = quotas.reduce(0) { $0 + $1.waiting }
        counts.batches = batches.count - freeBatches.count
        counts.allocations = blocks.allocations
        counts.turns = loop.turns
        counts.controlVersion = control.gate.version
        counts.controlEntries = control.gate.count
        counts.stuckApps = bulkheads.apps.count { $0.isStuck }
        counts.routesKnown = routes.count
        counts.routes = routes.enumerated().compactMap { index, route in
            guard let route else { return nil }
            return RouteStatus(
                name: route.definition.name, metrics: route.pool.snapshot, side: route.sidePool?.snapshot,
                explanation: route.explanation, isPaused: route.availability(nowMs: nowMs) != .ready,
                circuit: circuits[index].gauge, circuitOpenings: circuits[index].openings)
        }
        counts.tickMs = loop.nowMs
        if isHeldUp { counts.heldUpMs = loop.nowMs }
        let copy = counts
        mailbox.status.withLock { $0 = copy }
    }
}
