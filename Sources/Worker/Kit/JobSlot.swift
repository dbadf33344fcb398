internal import Core
internal import Decisions
internal import Jobs

/// Where a job stands in its shard.
enum JobStage: UInt8 {
    /// Not in use.
    case free
    /// Behind another job of the same recipient.
    case queued
    /// Waits for room, or for Redis to come back.
    case held
    /// Asked Redis for devices and counters.
    case admitting
    /// Its requests are under way.
    case sending
    /// Every device has its first answer; records of it wait for the broker's acknowledgement.
    case settling
}

/// How a job stands to others of its collapse id.
enum CollapseStanding: UInt8 {
    /// None of them waits.
    case alone
    /// An older one waits in a retry topic.
    case newer
    /// A newer one went out while this one waited.
    case superseded
}

/// One open job.
struct JobSlot: PooledSlot {
    var isInUse: Bool { stage != .free }
    var job = Job()
    /// The batch that holds its bytes: an index into the shard's list.
    var batch: Int32 = -1
    var entry: Int32 = -1
    var lane: Int8 = 0
    /// The lane's assignment that its record belongs to.
    var epoch: UInt32 = 0
    var stage: JobStage = .free
    /// Whether it stands in its recipient's queue.
    var isQueued = false
    /// Grows with every reuse, so that a late answer to a former job is recognised.
    var generation: UInt32 = 0
    /// The app's index, -1 for an unknown one.
    var app: Int32 = -1
    /// The next job of the same recipient, -1 for none.
    var next: Int32 = -1
    var queueHash: UInt64 = 0
    var headers = RetryHeaders()
    /// When the job was published, milliseconds since 1970.
    var publishedMs: Int64 = 0
    /// When its record was read, milliseconds since 1970.
    var readMs: Int64 = 0
    /// When it is worthless, milliseconds since 1970.
    var deadlineMs: Int64 = .max
    /// Whether the deadline is the sender's, and so the provider's business too.
    var hasOwnDeadline = false
    /// What it adds to the recipient's unread counter.
    var unread: Int32 = 0
    /// The recipient's unread count; -1 when unknown.
    var badge: Int64 = -1
    /// Deliveries without an answer.
    var openDeliveries: Int32 = 0
    /// Claims whose settlement Redis has not answered.
    var openSettles: Int8 = 0
    /// Records handed to Kafka and not acknowledged.
    var openRecords: Int32 = 0
    /// The first of the deliveries that wait for another attempt, -1 for none.
    var owed: Int32 = -1
    /// Whether it holds the sender's dedup key and must mark it done or release it.
    var holdsDedup = false
    /// Whether it holds its id and must mark it done or release it.
    var holdsID = false
    /// Tells the answers to the job's last questions from those to earlier ones.
    var round: UInt8 = 0
    var standing: CollapseStanding = .alone
    /// Whether Redis was asked to claim or count something for it. From then on it can't leave as if nothing
    /// had happened: a copy of it would find the claim taken, or be counted again.
    var wasAsked = false
    /// Whether the registry let it pass, so that only its devices are missing.
    var isAdmitted = false
    /// Quiet hours of its recipient that count in the time zone of its devices.
    var quiet: QuietHours?
    /// Whether its devices were answered before the registry let it pass: then they are asked for again.
    var isDeviceListEarly = false
    /// Whether a provider took one of its deliveries, in this attempt or one before.
    var hasAccepted = false
    /// Whether its bytes went to the dead-letter topic.
    var isBuried = false
    /// Whether it counts as being prepared for sending.
    var isPreparing = false
    /// Whether it was given up because its partition has another owner.
    var isAbandoned = false
    /// Whether it is over and only waits for its records' acknowledgements.
    var isDropped = false
    /// What its spans go by: an index into the shard's list; -1 when it isn't traced.
    var trace: Int32 = -1
}
