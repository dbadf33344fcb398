import CRdkafka
import Synchronization

/// A Kafka stand-in inside this process: librdkafka's mock cluster.
///
/// - For development and tests: in memory, loopback only, at most 5 MiB or 100,000 batches a partition (older
///   ones are dropped silently), no TLS, no admin calls, no real transactions. Every client of one group must
///   name the same assignment strategy: another one aborts the process.
/// - Threading: any thread. Other processes on the machine can connect.
/// - Ownership: ends the cluster in `stop` or `deinit`.
@safe
package final class EmbeddedBroker: Sendable {
    /// Kafka's request kinds that faults can be set for.
    package enum Request: Int16, Sendable {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case metadata = 3
        case offsetCommit = 8
        case offsetFetch = 9
        case findCoordinator = 10
        case joinGroup = 11
        case heartbeat = 12
        case leaveGroup = 13
        case syncGroup = 14
        case initProducerID = 22
    }

    private struct Cluster {
        var client: UInt
        var cluster: UInt
    }

    /// How clients find it: `127.0.0.1:port,...`.
    package let bootstrapServers: String
    /// How many brokers it plays; they are numbered from 1.
    package let brokerCount: Int32

    private let state: Mutex<Cluster>

    /// Starts the cluster with the topics; create all topics before a client connects.
    package init(
        topics: [(name: String, partitions: Int)] = [], brokers: Int = 1
    ) throws(KafkaFailure) {
        var reason = [CChar](repeating: 0, count: 512)
        let conf = unsafe rd_kafka_conf_new()
        unsafe rd_kafka_conf_set_log_cb(conf, nil)
        guard let client = unsafe rd_kafka_new(RD_KAFKA_PRODUCER, conf, &reason, reason.count) else {
            unsafe rd_kafka_conf_destroy(conf)
            throw KafkaFailure(.create, "the embedded broker could not start: \(text(reason))")
        }
        brokerCount = Int32(clamping: max(1, brokers))
        guard let cluster = unsafe rd_kafka_mock_cluster_new(client, brokerCount) else {
            unsafe rd_kafka_destroy(client)
            throw KafkaFailure(.create, "the embedded broker could not open its sockets on 127.0.0.1")
        }
        unsafe bootstrapServers =
            rd_kafka_mock_cluster_bootstraps(cluster).map { unsafe String(cString: $0) } ?? ""
        state = Mutex(
            Cluster(client: UInt(bitPattern: client), cluster: UInt(bitPattern: cluster)))
        for topic in topics { try create(topic: topic.name, partitions: topic.partitions) }
    }

    deinit { stop() }

    /// Ends the cluster; everything in it is lost. Idempotent.
    package func stop() {
        let ended = state.withLock { state in
            defer { state = Cluster(client: 0, cluster: 0) }
            return state
        }
        guard let cluster = unsafe OpaquePointer(bitPattern: ended.cluster),
            let client = unsafe OpaquePointer(bitPattern: ended.client)
        else { return }
        // In this order: an assertion fires when the client goes first.
        unsafe rd_kafka_mock_cluster_destroy(cluster)
        unsafe rd_kafka_destroy(client)
    }

    private func withCluster(_ body: (OpaquePointer) -> Void) {
        state.withLock { state in
            if let cluster = unsafe OpaquePointer(bitPattern: state.cluster) { unsafe body(cluster) }
        }
    }

    /// Creates a topic.
    /// - Throws: when it exists or the count is out of range.
    package func create(topic: String, partitions: Int) throws(KafkaFailure) {
        var code = KafkaErrorCode.none
        unsafe withCluster { cluster in
            code = unsafe KafkaErrorCode(
                rd_kafka_mock_topic_create(cluster, topic, Int32(clamping: partitions), 1))
        }
        guard code == .none else {
            throw KafkaFailure(
                .broker, "topic \(topic) could not be created: \(code.description)", kafka: code)
        }
    }

    /// The next requests of that kind fail, one with each code; `.transport` closes the connection instead.
    package func failNext(_ request: Request, with codes: [KafkaErrorCode]) {
        let native = codes.map(\.native)
        unsafe withCluster { cluster in
            unsafe native.withUnsafeBufferPointer {
                unsafe rd_kafka_mock_push_request_errors_array(
                    cluster, request.rawValue, $0.count, $0.baseAddress)
            }
        }
    }

    /// The next request of that kind at the broker is answered after `delayMs`, with the code (`none` =
    /// success).
    package func delayNext(
        _ request: Request, broker: Int32 = 1, delayMs: Int, with code: KafkaErrorCode = .none
    ) {
        unsafe withCluster { cluster in
            _ = unsafe peal_mock_push_error_rtt(
                cluster, broker, request.rawValue, code.native, Int32(clamping: delayMs))
        }
    }

    /// Forgets the faults set for that kind.
    package func clearFaults(_ request: Request) {
        unsafe withCluster { unsafe rd_kafka_mock_clear_request_errors($0, request.rawValue) }
    }

    /// Closes the broker's connections and refuses new ones (`isUp` false), or takes them again.
    package func setBroker(_ broker: Int32, isUp: Bool) {
        unsafe withCluster { cluster in
            if isUp {
                _ = unsafe rd_kafka_mock_broker_set_up(cluster, broker)
            } else {
                _ = unsafe rd_kafka_mock_broker_set_down(cluster, broker)
            }
        }
    }

    /// All brokers down, or up again.
    package func setAll(isUp: Bool) {
        for broker in 1...brokerCount { setBroker(broker, isUp: isUp) }
    }

    /// Every answer of the broker takes this much longer.
    package func setRoundTrip(broker: Int32 = 1, ms: Int) {
        unsafe withCluster { _ = unsafe rd_kafka_mock_broker_set_rtt($0, broker, Int32(clamping: ms)) }
    }

    /// Makes the broker the partition's leader; nil leaves it without one.
    package func setLeader(topic: String, partition: Int32, broker: Int32?) {
        unsafe withCluster {
            _ = unsafe rd_kafka_mock_partition_set_leader($0, topic, partition, broker ?? -1)
        }
    }

    /// Makes the broker the group's coordinator.
    package func setCoordinator(group: String, broker: Int32) {
        unsafe withCluster { _ = unsafe rd_kafka_mock_coordinator_set($0, "group", group, broker) }
    }

    /// Metadata about the topic fails with the code; `none` ends it.
    package func setTopicError(_ topic: String, _ code: KafkaErrorCode) {
        unsafe withCluster { unsafe rd_kafka_mock_topic_set_error($0, topic, code.native) }
    }
}
