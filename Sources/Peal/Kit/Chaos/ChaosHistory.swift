internal import Decisions

/// The place of a job's record in its topic: lane, partition, offset.
struct ChaosPlace: Hashable, Sendable, Comparable {
    let lane: Int
    let partition: Int
    let offset: Int64

    /// How outcome events name it: `peal.jobs.bulk/3/17`.
    init?(origin: String, topics: [String]) {
        let parts = origin.split(separator: "/")
        guard parts.count == 3, let lane = topics.firstIndex(of: String(parts[0])),
            let partition = Int(parts[1]), let offset = Int64(parts[2])
        else { return nil }
        self.init(lane: lane, partition: partition, offset: offset)
    }

    init(lane: Int, partition: Int, offset: Int64) {
        self.lane = lane
        self.partition = partition
        self.offset = offset
    }

    static func < (a: Self, b: Self) -> Bool {
        (a.lane, a.partition, a.offset) < (b.lane, b.partition, b.offset)
    }
}

/// What a run left behind, as the checker needs it. Times are milliseconds since 1970.
struct ChaosHistory: Sendable {
    /// A record that a sender wrote. A job can stand in its topic twice: the embedded broker writes a batch
    /// again when the answer to the first was lost.
    struct Copy: Sendable {
        let job: Int
        let place: ChaosPlace
    }

    /// An outcome event.
    struct Event: Sendable {
        let job: Int
        let place: ChaosPlace
        /// A place in the plan's devices; nil when the outcome is about the whole job.
        let device: Int?
        let outcome: DeliveryOutcome
        let atMs: Int64
    }

    /// What a provider answered.
    enum Answer: Sendable, Equatable {
        case accepted
        /// For now.
        case refused
        /// The token is not good.
        case tokenGone
        /// The notification is not.
        case rejected
    }

    /// A request in the providers' record, in order of arrival.
    struct Request: Sendable {
        let job: Int
        let device: Int
        var arrivalMs: Int64
        var answer = Answer.accepted
        /// Whether the device got it, and whether the answer was sent.
        var isDelivered = true
        var isAnswered = true
        var badge: Int64?
        /// Which worker sent it; -1 when that isn't known.
        var worker = -1
        /// When the connection it came by ended, and who ended it.
        var closedMs = Int64.max
        var cause = ProxyLink.Cause.open
    }

    /// A fault as it was injected.
    struct Injection: Sendable {
        let fault: ChaosFault
        let fromMs: Int64
        var toMs = Int64.max / 2
    }

    /// A partition at the end.
    struct Position: Sendable {
        let topic: String
        let partition: Int
        let committed: Int64?
        let end: Int64
    }

    let plan: ChaosPlan
    /// Whether the producer had an acknowledgement for every job of the lane.
    var isAcknowledged = [true, true, true]
    var copies: [Copy] = []
    var events: [Event] = []
    /// Jobs that were in a retry topic.
    var retried: Set<Int> = []
    var deadLetters = 0
    var requests: [Request] = []
    var injections: [Injection] = []
    var lives: [ChaosLife] = []
    var positions: [Position] = []
    /// Redis' total counters by outcome, of the app and of all apps.
    var totals: [String: Int64] = [:]
    var totalsOfAll: [String: Int64] = [:]
    /// Each recipient's unread counter.
    var unread: [Int64] = []
    /// The most memory that a program had, in bytes.
    var peaks: [(program: String, bytes: UInt64)] = []
    /// Records, events and requests that belong to nothing in the plan.
    var strangers: [String] = []
    /// What the run itself could not do.
    var notes: [String] = []
    /// Whether everything came to rest before the run's deadline.
    var isSettled = true

    init(plan: ChaosPlan) { self.plan = plan }
}

/// The bounds that the checker holds a run to. In ms unless said otherwise.
struct ChaosBounds: Sendable {
    /// How long before the end of a worker something it sent may still have been unfinished: a request's own
    /// deadline, and room for a slow machine.
    var unfinished: Int64 = 5_000
    /// The same while the broker or Redis is in trouble: a job is finished when the broker has its outcome,
    /// and skipped by a successor when Redis knows that.
    var unfinishedInTrouble: Int64 = 14_000
    /// How long a request may be under way before its worker sends it again.
    var request: Int64 = 3_000
    /// The consumers' session.
    var session: Int64 = 6_000
    /// How long counters may wait in a worker, and room for a slow machine.
    var counters: Int64 = 3_000
    /// The most resident memory of a program, in bytes.
    var memory: UInt64 = 768 << 20
}
