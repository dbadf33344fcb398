/// When librdkafka has to be told to look at its queue of fetched records again.
///
/// A broker's thread that finds the queue full stops fetching. Version 2.0.2 looks again only when something
/// wakes the thread, at the latest after a second: a small queue would then be empty for most of that second,
/// and a large one costs memory. So whoever takes records out wakes the threads once half of a full queue is
/// gone.
struct ReadAhead {
    /// The queue's bounds: records, and bytes of their values.
    private let recordsMax: Int
    private let bytesMax: Int
    /// Whether the queue was seen full since the last wake.
    private(set) var wasFull = false
    /// What a record's value takes, averaged over the last polls.
    private var bytesEach = 0

    init(recordsMax: Int, bytesMax: Int) {
        self.recordsMax = max(1, recordsMax)
        self.bytesMax = max(1, bytesMax)
    }

    /// From librdkafka's two properties, `queued.min.messages` and `queued.max.messages.kbytes`.
    init(_ configuration: KafkaConfiguration) {
        let records = configuration.value("queued.min.messages").flatMap { Int($0) } ?? 100_000
        let kilobytes = configuration.value("queued.max.messages.kbytes").flatMap { Int($0) } ?? 65_536
        self.init(recordsMax: records, bytesMax: kilobytes * 1024)
    }

    /// Takes note of a poll that gave `records` of together `bytes` and left `length` in the queue.
    /// - Returns: whether to wake the brokers' threads now.
    mutating func polled(records: Int, bytes: Int, length: Int) -> Bool {
        guard records > 0 else { return false }
        let each = bytes / records
        bytesEach = bytesEach == 0 ? each : (bytesEach * 7 + each) / 8
        let (size, overflow) = length.multipliedReportingOverflow(by: bytesEach)
        // A queue is looked at between two polls, so one that was just full may lack a few records.
        if overflow || length >= recordsMax - recordsMax / 8 || size >= bytesMax - bytesMax / 4 {
            wasFull = true
            return false
        }
        guard wasFull, length <= recordsMax / 2, size <= bytesMax / 2 else { return false }
        wasFull = false
        return true
    }
}
