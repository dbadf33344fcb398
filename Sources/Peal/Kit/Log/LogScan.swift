internal import EventLoop
internal import Kafka
internal import Terminal

/// Which stretches of which topics a command reads.
struct LogScan {
    /// A topic to read, in one of its partitions or in all.
    struct Wanted: Equatable {
        var topic: String
        /// The key whose partition alone is read; nil for all partitions.
        var key: [UInt8]?
    }

    /// The topics that are there, in the order in which they were wanted.
    var topics: [String] = []
    /// How many partitions each of them has.
    var partitions: [Int] = []
    var stretches: [KafkaLogReader.Stretch] = []
    /// Topics that are not there.
    var missing: [String] = []
    /// Whether the broker can find offsets by time; without that everything is read.
    var findsTimes = true

    /// How far apart the clocks of those who write records may be, in ms.
    static let clockSpareMs: Int64 = 60_000
    /// The year 2100, in ms since 1970.
    private static let farMs: Int64 = 4_102_444_800_000

    /// Finds the stretches that hold every record of the span of time; nil is without a bound.
    static func plan(
        _ wanted: [Wanted], sinceMs: Int64? = nil, untilMs: Int64? = nil, by inspector: KafkaInspector
    ) throws(ToolFailure) -> LogScan {
        let timeout = ToolAccess.questionMs
        let known = try KafkaFailure.told { () throws(KafkaFailure) in
            try inspector.topics(timeoutMs: timeout)
        }
        var scan = LogScan()
        var places: [TopicPartition] = []
        for one in wanted {
            guard let found = known.first(where: { $0.name == one.topic }), found.partitions > 0 else {
                scan.missing.append(one.topic)
                continue
            }
            let index = Int32(clamping: scan.topics.count)
            scan.topics.append(one.topic)
            scan.partitions.append(found.partitions)
            if let key = one.key {
                let own = KafkaPartitioner.partition(ofKey: key, partitions: found.partitions)
                places.append(TopicPartition(topic: index, partition: own))
            } else {
                places += (0..<found.partitions).map {
                    TopicPartition(topic: index, partition: Int32(clamping: $0))
                }
            }
        }
        let topics = scan.topics
        func ask(_ point: KafkaInspector.OffsetPoint) throws(ToolFailure) -> [Int64?] {
            try KafkaFailure.told { () throws(KafkaFailure) in
                try inspector.offsets(of: places, topics: topics, point, timeoutMs: timeout)
            }
        }
        let first = try ask(.first).map { $0 ?? 0 }
        let next = try ask(.next).map { $0 ?? 0 }
        var from: [Int64?] = first
        var to: [Int64?] = next
        if let sinceMs { from = try ask(.at(ms: sinceMs)) }
        if let untilMs { to = try ask(.at(ms: untilMs + clockSpareMs)) }
        let isUnanswered = { (list: [Int64?]) in
            places.indices.contains { list[$0] == nil && next[$0] > first[$0] }
        }
        if sinceMs != nil || untilMs != nil {
            // A broker that knows times finds something after 1970, and nothing after 2100.
            let future = try ask(.at(ms: Self.farMs))
            scan.findsTimes = future.allSatisfy { $0 == nil }
            if scan.findsTimes, isUnanswered(from) || isUnanswered(to) {
                scan.findsTimes = !isUnanswered(try ask(.at(ms: 1)))
            }
        }
        for (number, place) in places.enumerated() {
            let start = scan.findsTimes ? from[number] ?? next[number] : first[number]
            let end = scan.findsTimes ? to[number] ?? next[number] : next[number]
            scan.stretches.append(
                .init(
                    topic: place.topic, partition: place.partition, from: max(start, first[number]),
                    to: min(end, next[number])))
        }
        return scan
    }

    /// Offsets in all stretches.
    var count: Int64 { stretches.reduce(0) { $0 + $1.count } }

    /// Reads the stretches into the sink until they end or `isEnough` says so, with a progress bar.
    /// - Returns: whether they ended.
    @discardableResult
    func read<Sink: KafkaRecordSink>(
        into sink: Sink, by configuration: KafkaConfiguration, title: String,
        isEnough: (KafkaLogReader) throws(ToolFailure) -> Bool = { _ in false }
    ) throws(ToolFailure) -> Bool {
        let topics = topics
        let stretches = stretches
        let reader = try KafkaFailure.told { () throws(KafkaFailure) in
            try KafkaLogReader(configuration, topics: topics, stretches: stretches)
        }
        defer { reader.close() }
        return try Self.read(reader, into: sink, title: title, isEnough: isEnough)
    }

    /// How long nothing may come before a command gives up, in ms.
    static let stallMs: UInt64 = 20_000

    /// Reads on with a reader that may have begun.
    static func read<Sink: KafkaRecordSink>(
        _ reader: KafkaLogReader, into sink: Sink, title: String, batch: Int = 2_000,
        isEnough: (KafkaLogReader) throws(ToolFailure) -> Bool
    ) throws(ToolFailure) -> Bool {
        let bar = ProgressBar(title: title)
        defer { bar.clear() }
        var heardMs = Clock.monotonicMs
        var last: Int64 = -1
        while !reader.isFinished {
            _ = reader.poll(timeoutMs: 100, maxRecords: batch, into: sink)
            if reader.done != last {
                last = reader.done
                heardMs = Clock.monotonicMs
            }
            if try isEnough(reader) { return reader.isFinished }
            // The work on a batch may have taken long.
            if reader.done != last { heardMs = Clock.monotonicMs }
            guard Clock.monotonicMs < heardMs + stallMs else {
                let why = reader.complaint.isEmpty ? "" : ": \(reader.complaint)"
                throw ToolFailure(
                    away: "Kafka has given nothing for \(stallMs / 1000) s, and \(reader.openCount) "
                        + "partitions are not read to their end\(why)")
            }
            bar.update(done: Int(clamping: reader.done), total: Int(clamping: reader.total))
        }
        return true
    }
}
