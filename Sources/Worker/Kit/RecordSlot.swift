/// Which topic a record goes to.
enum OutputTopic: Equatable {
    case outcomes
    case dead
    /// Broadcasts, for the broadcast stage.
    case broadcasts
    /// A retry topic, by the index of its tier.
    case retry(Int)
}

/// One record on its way to Kafka, kept until the broker has acknowledged it, so that it can be produced
/// again.
@safe
struct RecordSlot: PooledSlot {
    var isInUse: Bool { job >= 0 }
    /// The job that waits for it.
    var job: Int32 = -1
    var generation: UInt32 = 0
    var topic: OutputTopic = .outcomes
    /// Packed headers, then the value unless the job's own bytes are the value.
    var block: UnsafeMutableRawBufferPointer = unsafe .init(start: nil, count: 0)
    var headersLength: Int32 = 0
    /// -1: the record's value is the job's record, byte for byte.
    var valueLength: Int32 = -1
    /// How many bytes of the job's record to send when that is its value.
    var jobBytes: Int32 = 0
    /// When it was first produced, in ns since 1970, for a traced job; 0 otherwise.
    var startNs: Int64 = 0
}
