/// A rule of the delivery contract.
enum ChaosRule: String, CaseIterable, Sendable {
    case lost
    case phantom
    case outcome
    case record
    case duplicate
    case badge
    case order
    case collapse
    case counters
    case offsets
    case processes
    case memory

    /// What must hold.
    var sentence: String {
        switch self {
        case .lost: "every confirmed job is in its topic and has an outcome for each device"
        case .phantom: "no outcome and no request without a job"
        case .outcome: "one outcome a delivery, and one that fits"
        case .record: "what is reported accepted is in the provider's record"
        case .duplicate: "what came twice did so for a reason"
        case .badge: "badges and unread counters are the sum of the jobs"
        case .order: "first attempts go out in the order published"
        case .collapse: "a late notification never replaces a newer one"
        case .counters: "Redis' counters match the outcomes within what a kill can lose"
        case .offsets: "everything is committed"
        case .processes: "no process ended by itself or hung"
        case .memory: "no program's memory grew without bound"
        }
    }
}

/// Why a device got a notification again.
enum ChaosReason: String, CaseIterable, Sendable {
    case brokerCopy = "the broker stand-in holds the job twice"
    case providerFault = "the provider took it and did not say so"
    case workerKilled = "its worker was killed before it was committed"
    case workerSuspended = "its worker was suspended beyond the session"
    case linkCut = "the connection was cut before the answer came"
    case providerKilled = "the provider was killed before the answer came"
    case answerLate = "the answer took longer than a request may"
    case redisForgot = "Redis lost what it knew"
    case rebalance = "its partition moved while the broker or Redis withheld an answer"
}

/// What the checker found.
struct ChaosVerdict: Sendable {
    /// A sentence with the job's id for each broken rule, at most ``samplesMax`` a rule.
    private(set) var samples: [ChaosRule: [String]] = [:]
    private(set) var counts: [ChaosRule: Int] = [:]
    /// Deliveries that came again, by reason.
    var repeated: [ChaosReason: Int] = [:]
    /// Outcome events that came again, by reason.
    var repeatedEvents: [ChaosReason: Int] = [:]
    /// Jobs that were sent and are called duplicates: of themselves.
    var misnamed = 0
    /// Deliveries by outcome.
    var outcomes: [String: Int] = [:]
    var deliveries = 0
    var requests = 0
    /// How far Redis' counters may be off, and how far they are.
    var counterRoom = 0
    var counterGap = 0

    static let samplesMax = 5

    mutating func broken(_ rule: ChaosRule, _ sentence: String) {
        counts[rule, default: 0] += 1
        if samples[rule, default: []].count < Self.samplesMax {
            samples[rule, default: []].append(sentence)
        }
    }

    var isGood: Bool { counts.isEmpty }
    /// Deliveries that came again.
    var repeatedCount: Int { repeated.values.reduce(0, +) }
}
