package import Core
internal import Decisions

/// What became of each delivery of a run, from the outcome topic and from the simulator's record.
///
/// A value without I/O: it is told events and says what they amount to.
package struct DemoLedger: Sendable {
    /// One delivery.
    struct Slot: Sendable {
        var outcome: DeliveryOutcome?
        /// How many outcome events there were.
        var events: UInt16 = 0
        var attempts: UInt16 = 0
        /// How often the device got it, and whether an answer of the provider was lost on the way.
        var delivered: UInt16 = 0
        var isAmbiguous = false
        var requests: UInt16 = 0
        var badgeFault = false
        /// Whether its job had left for a retry topic, were it without an attempt.
        var hasWaited = false
        var idFault = false
        /// The hash of the `apns-id` in the record, and in the outcome.
        var recordedID: UInt64 = 0
        var reportedID: UInt64 = 0
    }

    let plan: DemoPlan
    var slots: [Slot]
    /// Deliveries that have an outcome.
    package private(set) var settled = 0
    /// Jobs all of whose deliveries have one.
    package private(set) var settledJobs = 0
    /// The first jobs, published at a modest rate: the latency is theirs. Under a flood it would be the
    /// queue's.
    let pacedJobs: Int
    /// Publishing to outcome of the paced jobs' deliveries that were accepted at the first attempt, in ms.
    package private(set) var latencyMs = Histogram()
    /// Publishing to outcome of every delivery, waits for retries included, in ms.
    package private(set) var settlingMs = Histogram()
    /// The delivery that took longest.
    package private(set) var slowest = ""
    /// When the last first attempt was answered, in ms since 1970.
    package private(set) var lastFirstAttemptMs: Int64 = 0
    /// Events about jobs or devices that aren't in the plan.
    package private(set) var strangers = 0
    /// The first such events and other oddities, for the report.
    package private(set) var samples: [String] = []
    private var openSlots: [UInt8]

    /// Starts with nothing known.
    package init(plan: DemoPlan, pacedJobs: Int? = nil) {
        self.plan = plan
        self.pacedJobs = pacedJobs ?? plan.jobCount
        slots = [Slot](repeating: Slot(), count: plan.slotCount)
        openSlots = (0..<plan.jobCount).map { UInt8(clamping: plan.expectation(ofJob: $0).slotCount) }
    }

    /// Whether every delivery has an outcome.
    package var isComplete: Bool { settled == slots.count }

    mutating func note(_ sample: String) { if samples.count < 20 { samples.append(sample) } }

    /// Takes one outcome event.
    mutating func take(_ event: OutcomeEventScan) {
        guard let job = plan.job(id: event.job), let outcome = DeliveryOutcome(name: event.outcome) else {
            strangers += 1
            note("an outcome of no known job: \(event.job) \(event.outcome)")
            return
        }
        let first = plan.firstSlot(ofJob: job)
        if event.device.isEmpty {
            for slot in first..<first + plan.expectation(ofJob: job).slotCount {
                settle(slot, job, outcome, event)
            }
        } else if let slot = plan.slot(ofJob: job, device: event.device) {
            settle(first + slot, job, outcome, event)
        } else {
            strangers += 1
            note("an outcome for no known device: \(event.job) \(event.device)")
        }
    }

    private mutating func settle(
        _ slot: Int, _ job: Int, _ outcome: DeliveryOutcome, _ event: OutcomeEventScan
    ) {
        slots[slot].events &+= 1
        guard slots[slot].outcome == nil else {
            note("a second outcome: \(event.job) \(event.device) \(event.outcome)")
            return
        }
        // What waited until its provider worked again says nothing about the pace.
        let isFirst = event.attempts <= 1 && !event.hasWaited
        slots[slot].outcome = outcome
        slots[slot].attempts = UInt16(clamping: event.attempts)
        slots[slot].hasWaited = event.hasWaited
        if !event.apnsID.isEmpty { slots[slot].reportedID = Hash64.of(text: event.apnsID) }
        if event.afterMs >= 0 {
            if UInt64(event.afterMs) > settlingMs.highest {
                slowest = "\(event.job) \(event.device), \(event.attempts) attempts"
            }
            settlingMs.record(UInt64(event.afterMs))
            if outcome == .accepted, isFirst, job < pacedJobs {
                latencyMs.record(UInt64(event.afterMs))
            }
        }
        if isFirst { lastFirstAttemptMs = max(lastFirstAttemptMs, Int64(event.atMs)) }
        settled += 1
        openSlots[job] -= 1
        if openSlots[job] == 0 { settledJobs += 1 }
    }
}

/// One request in a provider's record, as far as the audit needs it.
package struct DemoRequest: Sendable {
    package var job: String
    package var token: String
    package var apnsID: String
    package var badge: Int64?
    /// Whether the device got it.
    package var isDelivered: Bool
    /// Whether the sender was told what became of it.
    package var isAnswered: Bool

    package init(
        job: String, token: String, apnsID: String = "", badge: Int64? = nil, isDelivered: Bool = true,
        isAnswered: Bool = true
    ) {
        self.job = job
        self.token = token
        self.apnsID = apnsID
        self.badge = badge
        self.isDelivered = isDelivered
        self.isAnswered = isAnswered
    }
}

extension DemoLedger {
    /// Takes one request of the record; call after the outcomes, in order of arrival.
    package mutating func take(_ request: DemoRequest) {
        guard let job = plan.job(id: request.job), let ordinal = plan.slot(ofJob: job, token: request.token)
        else {
            strangers += 1
            note("a request of no known job or for no known token: \(request.job)")
            return
        }
        let slot = plan.firstSlot(ofJob: job) + ordinal
        slots[slot].requests &+= 1
        if !request.isAnswered { slots[slot].isAmbiguous = true }
        if request.isDelivered { slots[slot].delivered &+= 1 }
        if !request.apnsID.isEmpty {
            let id = Hash64.of(text: request.apnsID)
            // Every attempt of a delivery carries the same id.
            if slots[slot].recordedID != 0, slots[slot].recordedID != id { slots[slot].idFault = true }
            slots[slot].recordedID = id
        }
        let row = plan.expectation(ofJob: job)
        let isRetried = slots[slot].attempts > 1 || slots[slot].requests > 1 || slots[slot].hasWaited
        if !Self.isRight(request.badge, row, isRetried: isRetried) {
            slots[slot].badgeFault = true
            note(
                "badge \(request.badge.map(String.init) ?? "none") instead of "
                    + "\(row.badge.map(String.init) ?? "none"): \(request.job)")
        }
    }

    /// The first attempt shows the counter as the job left it; a later one, or one that had to wait, may
    /// show what newer jobs added.
    private static func isRight(_ badge: Int64?, _ row: DemoPlan.Expectation, isRetried: Bool) -> Bool {
        guard let expected = row.badge else { return badge == nil }
        guard let badge else { return false }
        return isRetried ? badge >= expected && badge <= row.badgeMax : badge == expected
    }
}
