internal import Core
internal import Kafka

/// Asks for the committed offsets of every group of a run.
///
/// - Threading: one thread; a question blocks for up to its timeout.
struct ChaosOffsets {
    private let inspectors: [(topic: String, place: Int, inspector: KafkaInspector)]
    private let reader: ChaosReader
    private let partitions: Int

    init(_ stack: ChaosStack, reader: ChaosReader) throws(StackFailure) {
        self.reader = reader
        partitions = stack.options.partitions
        let groups =
            TopicNames.lanes.map { (stack.names.jobs(lane: $0), "peal-worker.\($0)") }
            + ChaosStack.tiers.map { (stack.names.retry(tier: $0), "peal-retry-\($0)") }
        var made: [(topic: String, place: Int, inspector: KafkaInspector)] = []
        do throws(KafkaFailure) {
            for (place, (topic, group)) in groups.enumerated() {
                var tool = KafkaConfiguration.tool(brokers: stack.broker.bootstrapServers, group: group)
                tool.set("socket.timeout.ms", "\(ChaosOptions.kafkaMs)")
                made.append((topic, place, try KafkaInspector(tool)))
            }
        } catch {
            for one in made { one.inspector.close() }
            throw StackFailure(.broker, "\(error)")
        }
        inspectors = made
    }

    func close() { for one in inspectors { one.inspector.close() } }

    /// Where every group is, and where its topic ends.
    func positions() throws(StackFailure) -> [ChaosHistory.Position] {
        var found: [ChaosHistory.Position] = []
        let ends = reader.ends
        for (topic, place, inspector) in inspectors {
            let committed: [Int64?]
            do throws(KafkaFailure) {
                committed = try inspector.committed(topic: topic, partitions: partitions, timeoutMs: 5_000)
            } catch {
                throw StackFailure(.broker, "\(error)")
            }
            for partition in committed.indices {
                found.append(
                    ChaosHistory.Position(
                        topic: topic, partition: partition, committed: committed[partition],
                        end: ends[place][partition]))
            }
        }
        return found
    }

    /// Records that are not committed yet; nil when a group can't be asked now.
    func lag() -> Int64? {
        guard let positions = try? positions() else { return nil }
        return positions.reduce(0) { $0 + max(0, $1.end - ($1.committed ?? 0)) }
    }
}
