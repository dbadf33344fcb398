package import Core
internal import EventLoop
internal import Kafka

/// Reads the outcome and the dead-letter topic from their beginning into a ledger, on a thread of its own.
///
/// - Ownership: ``stop()`` ends the thread; call it once.
package final class OutcomeCollector: Sendable {
    private struct State {
        var ledger: DemoLedger
        var deadLetters = 0
        var isStopping = false
    }

    private let state: Locked<State>
    private let thread: WorkerThread

    /// Starts to read.
    /// - Parameters:
    ///   - brokers: the bootstrap servers.
    ///   - topics: the topics' names.
    ///   - partitions: how many each of the two topics has.
    ///   - ledger: what to tell.
    /// - Throws: `.broker` when the consumer can't be made.
    package init(brokers: String, topics: TopicNames, partitions: Int, ledger: DemoLedger)
        throws(StackFailure)
    {
        var configuration = KafkaConfiguration.consumer(
            brokers: brokers, group: "peal-demo", clientID: "peal-demo")
        configuration.tuneForEmbeddedBroker()
        let shared = Locked(State(ledger: ledger))
        state = shared
        let box: ConsumerBox
        do throws(KafkaFailure) {
            let consumer = try KafkaConsumer(configuration, topics: [topics.outcomes, topics.dead])
            var positions: [TopicPartitionOffset] = []
            for topic in Int32(0)...1 {
                for partition in 0..<partitions {
                    positions.append(
                        TopicPartitionOffset(
                            topic: topic, partition: Int32(partition), offset: TopicPartitionOffset.beginning)
                    )
                }
            }
            try consumer.assign(positions)
            box = ConsumerBox(consumer)
        } catch {
            throw StackFailure(.broker, "\(error)")
        }
        thread = WorkerThread.start(name: "outcomes") {
            let sink = OutcomeSink()
            while !shared.withLock({ (state: inout State) in state.isStopping }) {
                _ = box.consumer.poll(timeoutMs: 50, maxRecords: 2_000, into: sink)
                let (events, dead) = sink.take()
                if events.isEmpty, dead == 0 { continue }
                shared.withLock { (state: inout State) in
                    for event in events { state.ledger.take(event) }
                    state.deadLetters += dead
                }
            }
            box.consumer.close(deadlineMs: 2_000)
        }
    }

    /// How far it is.
    package var progress: (settled: Int, settledJobs: Int, isComplete: Bool) {
        state.withLock { (state: inout State) in
            (state.ledger.settled, state.ledger.settledJobs, state.ledger.isComplete)
        }
    }

    /// The ledger as it is now, and how many dead letters there were.
    package var result: (ledger: DemoLedger, deadLetters: Int) {
        state.withLock { (state: inout State) in (state.ledger, state.deadLetters) }
    }

    /// Ends the thread.
    package func stop() {
        state.withLock { (state: inout State) in state.isStopping = true }
        thread.join()
    }
}

/// Hands the consumer to the thread that alone uses it from then on.
private struct ConsumerBox: @unchecked Sendable {
    let consumer: KafkaConsumer

    init(_ consumer: KafkaConsumer) { self.consumer = consumer }
}

/// Reads outcome events while their bytes are there.
private final class OutcomeSink: KafkaRecordSink {
    private var events: [OutcomeEventScan] = []
    private var dead = 0

    func take(_ record: borrowing KafkaRecord) {
        if record.topic == 1 {
            dead += 1
        } else if let value = unsafe record.value, let event = unsafe OutcomeEventScan(value) {
            events.append(event)
        }
    }

    func take() -> ([OutcomeEventScan], Int) {
        defer {
            events.removeAll(keepingCapacity: true)
            dead = 0
        }
        return (events, dead)
    }
}
