internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Logging
internal import Redis
internal import Registry

/// Measures the stage on this machine: one process of it, an embedded broker in the same process and a
/// redis-server of its own.
package enum BroadcastBench {
    /// What was measured.
    package struct Result: Sendable {
        /// Recipients that got their job.
        package var recipients = 0
        /// Milliseconds from the broadcast's acknowledgement to its end.
        package var milliseconds: UInt64 = 0
        /// CPU of this process for a recipient, the broker included, in microseconds.
        package var cpuMicroseconds = 0.0
        /// The most resident memory above what there was before, in bytes; the broker's records are part of
        /// it.
        package var memoryBytes: UInt64 = 0

        /// Recipients a second.
        package var perSecond: Double { Double(recipients) * 1000 / Double(max(1, milliseconds)) }
    }

    private static let app = "bench"
    private static let topic = "news"

    /// Expands one broadcast to so many recipients; nil when it did not end within five minutes or a
    /// recipient was left out.
    package static func run(recipients: Int, partitions: Int) throws -> Result? {
        let names = TopicNames()
        let broker = try EmbeddedBroker(topics: [
            (names.jobs(lane: "bulk"), partitions), (names.broadcasts, 4), (names.broadcastParts, 16),
            (names.dead, 1),
        ])
        defer { broker.stop() }
        let server = try PrivateRedisServer()
        defer { server.stop() }
        let session = try RedisSession(server.endpoint)
        try fill(session, recipients: recipients)
        var settings = ExpandSettings(
            brokers: broker.bootstrapServers, redis: RedisClientOptions(endpoint: server.endpoint))
        settings.isEmbedded = true
        let service = try ExpandService.start(settings, log: .silent)
        defer { service.stop() }
        let deadline = Clock.monotonicMs + 300_000
        while service.snapshot.partitions < 20 {
            guard Clock.monotonicMs < deadline else { return nil }
            usleep(10_000)
        }
        let producer = try KafkaProducer(
            KafkaConfiguration.producer(brokers: broker.bootstrapServers), topics: [names.broadcasts])
        defer { producer.close(deadlineMs: 1_000) }
        var result = Result(recipients: recipients)
        let memory = Clock.residentBytes
        let cpu = Clock.processCPUNs
        _ = try producer.produceAndWait(
            to: producer.topic(0), key: Array("\(app)/\(topic)".utf8), value: Array(job.utf8))
        let start = Clock.monotonicMs
        let directory = BroadcastDirectory(session: session)
        while true {
            guard Clock.monotonicMs < deadline else { return nil }
            let now = Clock.residentBytes
            result.memoryBytes = max(result.memoryBytes, now > memory ? now - memory : 0)
            if let status = try directory.status(app: app, id: "bench", nowMs: Clock.wallMs),
                status.state == .done
            {
                guard status.recipients == Int64(recipients) else { return nil }
                break
            }
            usleep(5_000)
        }
        result.milliseconds = Clock.monotonicMs - start
        result.cpuMicroseconds = Double(Clock.processCPUNs - cpu) / 1000 / Double(max(1, recipients))
        return result
    }

    /// A job of about the size of those that the pipeline's bench sends.
    private static let job =
        "{\"app\":\"\(app)\",\"to\":{\"topic\":\"\(topic)\"},\"id\":\"bench\",\"title\":\"Order shipped\","
        + "\"body\":\"Your order is on its way and will be there tomorrow before noon.\",\"ttl\":3600,"
        + "\"thread\":\"orders\",\"data\":{\"order\":\"0123456789\",\"screen\":\"tracking\"}}"

    private static func fill(_ session: RedisSession, recipients: Int) throws {
        var commands: [[String]] = []
        for number in 0..<recipients {
            let name = "user-\(number)"
            let shard = SubscriberIndex.shard(of: name)
            commands.append([
                "HSET", RegistryKeys.subscribers(app: app, topic: topic, shard: shard), name, "",
            ])
            if commands.count == 10_000 || number == recipients - 1 {
                _ = try session.pipeline(commands)
                commands.removeAll(keepingCapacity: true)
            }
        }
    }
}
