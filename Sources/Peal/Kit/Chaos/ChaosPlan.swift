internal import Core

/// The jobs of one run and who gets them; follows from the seed alone.
///
/// Everything is numbered: jobs, recipients, and devices over all recipients. The names are made of the
/// numbers, so that a request or an outcome leads back to its job without a look-up.
struct ChaosPlan: Sendable {
    /// What a device's provider says about its token.
    enum Temper: Sendable { case good, gone, ambiguousOnce }

    struct Device: Sendable {
        let recipient: Int
        /// Among the recipient's own.
        let place: Int
        let isIOS: Bool
        let isSandbox: Bool
        let token: String
        let temper: Temper
    }

    struct Recipient: Sendable {
        let lane: Int
        /// Places in ``ChaosPlan/devices``.
        let devices: Range<Int>
        /// Its jobs come in pairs that share a dedup key, and add nothing to a counter.
        let isKeyed: Bool
    }

    struct Job: Sendable {
        let recipient: Int
        let unread: Int64
        /// Whether it carries the recipient's one collapse key.
        let collapses: Bool
        /// The number of its pair among the recipient's; -1 without a dedup key.
        let pair: Int
    }

    static let app = "shop"

    let seed: UInt64
    let jobs: [Job]
    let recipients: [Recipient]
    let devices: [Device]
    private let deviceOfToken: [String: Int]

    init(seed: UInt64, jobCount: Int) {
        self.seed = seed
        var random = ChaosRandom(seed: seed)
        var recipients: [Recipient] = []
        var devices: [Device] = []
        for number in 0..<max(4, jobCount / 12) {
            let first = devices.count
            for place in 0..<random.number(in: 1...3) {
                devices.append(Self.device(number, place, devices.count, seed, &random))
            }
            recipients.append(
                Recipient(
                    lane: random.number(in: 0...2), devices: first..<devices.count,
                    isKeyed: number > 0 && random.chance(6)))
        }
        var jobs: [Job] = []
        var keyed = [Int](repeating: 0, count: recipients.count)
        for _ in 0..<jobCount {
            let recipient = random.number(in: 0...recipients.count - 1)
            let isKeyed = recipients[recipient].isKeyed
            jobs.append(
                Job(
                    recipient: recipient, unread: isKeyed ? 0 : Int64(random.number(in: 1...2)),
                    collapses: !isKeyed && random.chance(10), pair: isKeyed ? keyed[recipient] / 2 : -1))
            keyed[recipient] += 1
        }
        self.jobs = jobs
        self.recipients = recipients
        self.devices = devices
        deviceOfToken = Dictionary(
            devices.enumerated().map { ($0.element.token, $0.offset) },
            uniquingKeysWith: { first, _ in first })
    }

    private static func device(
        _ recipient: Int, _ place: Int, _ number: Int, _ seed: UInt64, _ random: inout ChaosRandom
    ) -> Device {
        let isIOS = random.chance(60)
        // The first device of each stays, so that every job has somewhere to go.
        let temper: Temper =
            place > 0 && random.chance(4) ? .gone : random.chance(3) ? .ambiguousOnce : .good
        var hash = ""
        for part in UInt64(0)..<4 {
            let word = Hash64.mix(seed &+ UInt64(number), 0xA076_1D64_78BD_642F &+ part)
            let digits = String(word, radix: 16)
            hash += String(repeating: "0", count: 16 - digits.count) + digits
        }
        let token: String
        switch (isIOS, temper) {
        // A zero in front: nothing else may look like a token that asks for an answer.
        case (true, .good): token = "0" + hash.dropFirst()
        case (true, .gone): token = "fa11fa114100000000" + hash.dropFirst(18)
        case (true, .ambiguousOnce): token = "fa11fa110009010000" + hash.dropFirst(18)
        case (false, .good): token = "fcm-" + hash
        case (false, .gone): token = "fcm-" + hash + "~UNREGISTERED"
        case (false, .ambiguousOnce): token = "fcm-" + hash + "~DELIVERED_RESET*1"
        }
        return Device(
            recipient: recipient, place: place, isIOS: isIOS, isSandbox: isIOS && random.chance(15),
            token: token, temper: temper)
    }

    // MARK: - Names

    static func name(ofJob job: Int) -> String { "j\(job)" }
    static func name(ofRecipient recipient: Int) -> String { "r\(recipient)" }
    static func name(ofDevice place: Int) -> String { "d\(place)" }

    /// The job with this id; nil when it isn't one of the plan's.
    func job(id: some StringProtocol) -> Int? { Self.number(id, "j", below: jobs.count) }

    /// The recipient's device with this id, as a place in ``devices``.
    func device(id: some StringProtocol, ofJob job: Int) -> Int? {
        let own = recipients[jobs[job].recipient].devices
        return Self.number(id, "d", below: own.count).map { own.lowerBound + $0 }
    }

    /// The device with this token.
    func device(token: String) -> Int? { deviceOfToken[token] }

    private static func number(_ text: some StringProtocol, _ letter: Character, below: Int) -> Int? {
        guard text.first == letter, let number = Int(text.dropFirst()), number >= 0, number < below else {
            return nil
        }
        return number
    }

    // MARK: - Texts

    /// The devices of the job's recipient, as places in ``devices``.
    func devices(ofJob job: Int) -> Range<Int> { recipients[jobs[job].recipient].devices }

    func lane(ofJob job: Int) -> Int { recipients[jobs[job].recipient].lane }

    /// Appends the job as a line of JSON, its id first.
    func append(job number: Int, to out: inout ByteBuffer) {
        let job = jobs[number]
        out.append("{\"id\":\"j")
        out.append(decimal: Int64(number))
        out.append("\",\"app\":\"")
        out.append(text: Self.app)
        out.append("\",\"to\":{\"recipient\":\"r")
        out.append(decimal: Int64(job.recipient))
        out.append("\"},\"title\":\"Order ")
        out.append(decimal: Int64(number))
        out.append("\",\"body\":\"It is on its way.\",\"data\":{\"peal_job\":\"j")
        out.append(decimal: Int64(number))
        out.append("\"}")
        if job.unread > 0 {
            out.append(",\"unread\":")
            out.append(decimal: job.unread)
        }
        if job.collapses { out.append(",\"collapse\":\"latest\"") }
        if job.pair >= 0 {
            out.append(",\"dedup\":\"k")
            out.append(decimal: Int64(job.pair))
            out.append("\"")
        }
        out.append("}\n")
    }
}
