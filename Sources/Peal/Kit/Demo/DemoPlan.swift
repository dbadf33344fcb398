internal import Core

/// The jobs of one demo run: the input's jobs, repeated with fresh recipients, ids and tokens, and what is
/// right for each of their deliveries.
///
/// Jobs are numbered through: job `i` is template `i % templates` of round `i / templates`. Deliveries
/// ("slots") are numbered the same way, so that the whole run is accounted for in flat arrays.
package struct DemoPlan: Sendable {
    /// What one template's deliveries must be like.
    struct Expectation: Sendable {
        /// The recipient's place in the input; -1 for a job to a token or to nobody.
        var recipient = -1
        /// The recipient's devices that get it, by place. Empty for a job to a token or to nobody.
        var devices: [Int] = []
        /// The first of the template's slots within a round.
        var firstSlot = 0
        var slotCount = 1
        /// The badge that is in the payload at the first attempt; nil for none.
        var badge: Int64?
        /// The recipient's counter after all its jobs: what a late attempt may show.
        var badgeMax: Int64 = 0
    }

    /// The files that the jobs come from.
    package let input: DemoInput
    /// How many jobs there are.
    package let jobCount: Int
    /// How many recipients' sets of devices there are, rounds included.
    package let rounds: Int
    let expectations: [Expectation]
    let slotsPerRound: Int
    private let templateIndex: [String: Int]

    /// Plans `count` jobs.
    package init(input: DemoInput, count: Int) {
        self.input = input
        jobCount = max(1, count)
        let size = input.templates.count
        rounds = (jobCount + size - 1) / size
        var byName: [String: Int] = [:]
        for (index, recipient) in input.recipients.enumerated() {
            byName["\(recipient.app)/\(recipient.name)"] = index
        }
        (expectations, slotsPerRound) = Self.expectations(input, byName)
        templateIndex = Dictionary(
            input.templates.enumerated().map { ($0.element.id, $0.offset) },
            uniquingKeysWith: { first, _ in first })
    }

    private static func expectations(
        _ input: DemoInput, _ byName: [String: Int]
    ) -> (rows: [Expectation], slots: Int) {
        var rows: [Expectation] = []
        var counters: [String: Int64] = [:]
        var slots = 0
        for template in input.templates {
            var row = Expectation()
            if let name = template.recipient {
                let key = "\(template.app)/\(name)"
                counters[key, default: 0] += template.unread
                if template.hasBadge { row.badge = counters[key, default: 0] }
                if let recipient = byName[key] {
                    row.recipient = recipient
                    let all = input.recipients[recipient].devices
                    row.devices = all.indices.filter { template.devices?.contains(all[$0].id) ?? true }
                }
            }
            row.firstSlot = slots
            row.slotCount = max(1, row.devices.count)
            slots += row.slotCount
            rows.append(row)
        }
        for index in rows.indices {
            let template = input.templates[index]
            rows[index].badgeMax = counters["\(template.app)/\(template.recipient ?? "")"] ?? 0
        }
        return (rows, slots)
    }

    /// How many deliveries the jobs have between them.
    package var slotCount: Int {
        let size = input.templates.count
        let whole = jobCount / size * slotsPerRound
        return whole + expectations[..<(jobCount % size)].reduce(0) { $0 + $1.slotCount }
    }

    /// The number of a job's first slot.
    func firstSlot(ofJob job: Int) -> Int {
        let size = input.templates.count
        return job / size * slotsPerRound + expectations[job % size].firstSlot
    }

    func template(ofJob job: Int) -> DemoTemplate { input.templates[job % input.templates.count] }
    func expectation(ofJob job: Int) -> Expectation { expectations[job % expectations.count] }
    func round(ofJob job: Int) -> Int { job / input.templates.count }

    /// The number of the job with this id; nil when it isn't one of the plan's.
    func job(id: String) -> Int? {
        var name = id[...]
        var round = 0
        if let at = id.range(ofLast: "~"), let number = Int(id[id.index(after: at)...]), number > 0 {
            name = id[..<at]
            round = number
        }
        guard let template = templateIndex[String(name)], round < rounds else { return nil }
        let job = round * input.templates.count + template
        return job < jobCount ? job : nil
    }

    /// What tells one round's names from another's; empty in the first.
    static func suffix(round: Int) -> String { round == 0 ? "" : "~\(round)" }

    /// A device's token in a round: another one each time, of the same kind, asking for the same answer.
    static func token(_ token: String, round: Int) -> String {
        guard round > 0 else { return token }
        let digits = String(round, radix: 16)
        let fixed = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        // What asks for an answer is at the start of an APNs token and at the end of an FCM token.
        return token.contains(":") ? fixed + token.dropFirst(8) : token.dropLast(8) + fixed
    }

    /// Appends the job's JSON.
    func appendJob(_ job: Int, to buffer: inout ByteBuffer) {
        let suffix = Array(Self.suffix(round: round(ofJob: job)).utf8)
        for (index, piece) in template(ofJob: job).pieces.enumerated() {
            if index > 0 { buffer.append(array: suffix) }
            buffer.append(array: piece)
        }
    }

    /// Appends the job's Kafka key.
    func appendKey(_ job: Int, to buffer: inout ByteBuffer) {
        let template = template(ofJob: job)
        buffer.append(text: template.app)
        buffer.append("/")
        if let recipient = template.recipient {
            buffer.append(text: recipient)
            buffer.append(text: Self.suffix(round: round(ofJob: job)))
        } else {
            buffer.append(text: template.token ?? "")
        }
    }

    /// The outcomes that are right for a slot of the job.
    func expectedOutcomes(job: Int, slot: Int) -> [String] {
        let template = template(ofJob: job)
        if !template.expected.isEmpty { return template.expected }
        let row = expectation(ofJob: job)
        guard row.recipient >= 0, slot < row.devices.count else { return ["accepted"] }
        let expected = input.recipients[row.recipient].devices[row.devices[slot]].expected
        return expected.isEmpty ? ["accepted"] : expected
    }

    /// The slot of the job that is for this device; nil when none is.
    func slot(ofJob job: Int, device: String) -> Int? {
        let row = expectation(ofJob: job)
        guard row.recipient >= 0 else { return 0 }
        let all = input.recipients[row.recipient].devices
        return row.devices.firstIndex { all[$0].id == device }
    }

    /// The slot of the job that is for this token; nil when none is.
    func slot(ofJob job: Int, token: String) -> Int? {
        let row = expectation(ofJob: job)
        guard row.recipient >= 0 else { return template(ofJob: job).token == token ? 0 : nil }
        let all = input.recipients[row.recipient].devices
        let round = round(ofJob: job)
        return row.devices.firstIndex { Self.token(all[$0].token, round: round) == token }
    }
}

extension String {
    fileprivate func range(ofLast character: Character) -> Index? { lastIndex(of: character) }
}
