internal import Core
internal import EventLoop
internal import Kafka
internal import Redis
internal import Registry

/// Which of the two ways a job names its device.
enum BenchJobKind: String, CaseIterable, Sendable {
    /// A recipient whose device, preferences and unread counter are in Redis.
    case recipient
    /// The device token itself.
    case token
}

/// Makes the pipeline's input: devices in the registry, jobs in Kafka.
struct BenchJobs {
    static let app = "shop"
    static let lane = "normal"
    let options: BenchOptions

    /// Registers a device for each recipient.
    /// - Throws: `.redis` when the store refuses one.
    func register(at endpoint: RedisEndpoint) throws(StackFailure) {
        do throws(RedisFailure) {
            let session = try RedisSession(endpoint, scripts: RegistryScripts.all)
            defer { session.close() }
            let directory = DeviceDirectory(session: session, app: Self.app)
            for number in 0..<options.recipients {
                var token = ByteBuffer(capacity: 64)
                Self.append(token: UInt64(number), to: &token)
                try directory.register(
                    recipient: "user-\(number)", device: "phone",
                    DeviceRecord(
                        platform: .ios, token: token.text, registeredAtMs: Clock.wallMs, isSandbox: false,
                        locale: "en_GB", timeZone: "Europe/London", appVersion: "4.2.0"))
            }
        } catch {
            throw StackFailure(.redis, "registering the devices failed: \(error)")
        }
    }

    /// Publishes the jobs of one run and waits until the broker has them all.
    /// - Parameters:
    ///   - kind: how the jobs name their devices.
    ///   - count: how many.
    ///   - run: the run's number, so that no two runs have a token in common.
    ///   - brokers: the bootstrap servers.
    ///   - topics: the topics' names.
    /// - Throws: `.broker` when it refuses one.
    func publish(
        _ kind: BenchJobKind, count: Int, run: Int, brokers: String, topics: TopicNames
    ) throws(StackFailure) {
        let producer: KafkaProducer
        do throws(KafkaFailure) {
            producer = try KafkaProducer(
                KafkaConfiguration.producer(brokers: brokers, clientID: "peal-bench", lingerMs: 20),
                topics: [topics.jobs(lane: Self.lane)])
            try producer.warmUp(timeoutMs: 10_000)
        } catch {
            throw StackFailure(.broker, "publishing failed: \(error)")
        }
        defer { producer.close(deadlineMs: 2_000) }
        var writer = JobWriter(kind: kind, recipients: options.recipients, run: run)
        var reports: [DeliveryReport] = []
        var next = 0
        while next < count {
            writer.write(next)
            switch unsafe producer.produce(
                to: producer.topic(0), key: writer.key.bytes, value: writer.job.bytes, opaque: UInt64(next))
            {
            case .accepted: next += 1
            case .queueFull: producer.drain(into: &reports, timeoutMs: 10)
            case .failed(let code): throw StackFailure(.broker, "a job was refused: \(code.description)")
            }
            if next % 1_000 == 0 {
                producer.drain(into: &reports)
                try Self.check(&reports)
            }
        }
        let missing = producer.flush(deadlineMs: 60_000, into: &reports)
        try Self.check(&reports)
        if missing > 0 { throw StackFailure(.broker, "\(missing) jobs were not acknowledged") }
    }

    private static func check(_ reports: inout [DeliveryReport]) throws(StackFailure) {
        if let bad = reports.first(where: { !$0.isDelivered }) {
            throw StackFailure(.broker, "a job was not written: \(bad.code.description)")
        }
        reports.removeAll(keepingCapacity: true)
    }

    /// Appends the 64 hexadecimal digits of a device token. None asks the simulator for an answer.
    static func append(token number: UInt64, to buffer: inout ByteBuffer) {
        for part in UInt64(0)..<4 {
            var word = Hash64.mix(number &+ 1, 0x9E37_79B9_7F4A_7C15 &+ part)
            if part == 0 { word >>= 4 }
            for shift in stride(from: UInt64(60), through: 0, by: -4) {
                buffer.append(byte: Hex.digit(UInt8(truncatingIfNeeded: word >> shift) & 15))
            }
        }
    }
}

/// Writes one job after the other into the same two buffers.
struct JobWriter: ~Copyable {
    var job = ByteBuffer(capacity: 1024)
    var key = ByteBuffer(capacity: 128)
    /// The id of the job that was written last.
    private(set) var id = ULID(timestampMs: 0, randomHigh: 0, randomLow: 0)
    private let kind: BenchJobKind
    private let recipients: Int
    private let firstToken: UInt64
    private var ids = ULIDGenerator(seed: RandomSource.seed())
    private let nowMs = UInt64(clamping: Clock.wallMs)

    init(kind: BenchJobKind, recipients: Int, run: Int) {
        self.kind = kind
        self.recipients = max(1, recipients)
        firstToken = UInt64(clamping: run) &+ 1 << 32
    }

    mutating func write(_ number: Int) {
        job.clear()
        key.clear()
        job.append("{\"id\":\"")
        id = ids.next(nowMs: nowMs)
        id.append(to: &job)
        job.append("\",\"app\":\"shop\",\"to\":{")
        key.append("shop/")
        switch kind {
        case .recipient:
            let name = Int64(number % recipients)
            key.append("user-")
            key.append(decimal: name)
            job.append("\"recipient\":\"user-")
            job.append(decimal: name)
            job.append("\"},\"unread\":1")
        case .token:
            BenchJobs.append(token: firstToken &+ UInt64(number), to: &key)
            job.append("\"token\":\"")
            BenchJobs.append(token: firstToken &+ UInt64(number), to: &job)
            job.append("\",\"platform\":\"ios\",\"environment\":\"production\"}")
        }
        job.append(",\"title\":\"Trade executed\",\"body\":\"Bought 10 SOL at $142.50, order ")
        job.append(decimal: Int64(number))
        job.append(
            "\",\"category\":\"TRADE\",\"thread\":\"orders\",\"sound\":\"default\",\"priority\":\"high\"")
        job.append(",\"ttl\":3600,\"data\":{\"action\":\"open_trade\",\"tradeId\":\"")
        job.append(decimal: Int64(number))
        job.append("\"}}")
    }
}
