internal import Core
internal import Jobs
internal import ProducerKit
internal import Redis
internal import Registry

/// What of a letter's job a replay needs, with memory of its own.
struct ReplayJob: Equatable {
    /// The key that its record gets, whatever the letter's was.
    var key: [UInt8] = []
    var app = ""
    /// Nil for a token and a broadcast.
    var recipient: String?
    var dedup: String?
    var kind = ""
    var topic = ""
    var thread = ""
    /// Whether nobody notices it, so that a mute doesn't apply.
    var isSilent = false
    /// The device ids that it names itself.
    var devices: Set<String> = []
    var isBroadcast = false
    var hasTTL = false
    /// When it is to be sent, in ms since 1970; 0 for at once.
    var sendAtMs: Int64 = 0
    /// When it is worthless, in ms since 1970; nil for never.
    var deadlineMs: Int64?

    /// Reads the letter's job; nil when it can't be read.
    init?(_ letter: DeadLetter, _ parser: JobParser) {
        guard let value = letter.record.value else { return nil }
        var isReadable = false
        unsafe value.withUnsafeBytes { bytes in
            var job = Job()
            guard unsafe parser.parse(bytes, into: &job) == nil else { return }
            isReadable = true
            take(job, letter)
        }
        if !isReadable { return nil }
    }

    private mutating func take(_ job: Job, _ letter: DeadLetter) {
        var buffer = ByteBuffer(capacity: 256)
        JobKey.write(job, to: &buffer)
        key = buffer.array
        app = job.app.string
        recipient = job.recipient?.string
        dedup = job.dedup?.string
        kind = job.kind?.string ?? ""
        topic = job.topic?.string ?? ""
        thread = job.thread?.string ?? ""
        isSilent = job.type == .background || job.type == .badge
        isBroadcast = job.target == .topic || job.target == .all
        hasTTL = job.flags.contains(.hasTTL)
        sendAtMs = job.flags.contains(.hasSendAt) ? job.sendAtMs : 0
        deadlineMs = job.deadlineMs(publishedAtMs: letter.firstMs)
        guard job.target == .devices else { return }
        var list = job.devices
        while let next = list.next() { if let id = next.text?.string { devices.insert(id) } }
    }

    /// The ids in a `peal-devices` header.
    static func devices(in header: String) -> Set<String> {
        Set(
            header.split(separator: ",").map { part in
                var out: [UInt8] = []
                let bytes = Array(part.utf8)
                var at = 0
                while at < bytes.count {
                    if bytes[at] == UInt8(ascii: "%"), at + 2 < bytes.count,
                        let high = Hex.value(bytes[at + 1]), let low = Hex.value(bytes[at + 2])
                    {
                        out.append(high << 4 | low)
                        at += 3
                    } else {
                        out.append(bytes[at])
                        at += 1
                    }
                }
                return String(decoding: out, as: UTF8.self)
            })
    }
}

/// Says of letters what would become of them, by the configuration and by Redis.
struct ReplayCheck {
    let memory: ReplayMemory
    let session: RedisSession
    let parser: JobParser
    /// The configured apps; nil when there is no configuration to ask.
    let apps: Set<String>?
    /// Whether letters are replayed that were before.
    var again = false

    /// A letter, its job when it can be read, and what would become of it.
    struct Result {
        var letter: DeadLetter
        var job: ReplayJob?
        var verdict: ReplayVerdict
    }

    /// Checks the letters in one go.
    func check(_ letters: [DeadLetter], nowMs: Int64) throws(RedisFailure) -> [Result] {
        var commands: [[String]] = []
        var jobs: [ReplayJob?] = []
        for letter in letters {
            let job = ReplayJob(letter, parser)
            jobs.append(job)
            commands.append(memory.question(letter))
            guard let job, let recipient = job.recipient else { continue }
            let shard = RecipientShard.of(text: recipient)
            commands.append(["HGET", "peal:dev:{\(job.app):\(shard)}", recipient])
            commands.append(["HGET", "peal:usr:{\(job.app):\(recipient)}", "prefs"])
            if let key = job.dedup {
                commands.append(["GET", "peal:dedup:{\(job.app):\(recipient)}:\(key)"])
            }
        }
        let answers = try session.pipeline(commands)
        for case .error(let failure) in answers { throw failure }
        var next = answers.makeIterator()
        var results: [Result] = []
        for (letter, job) in zip(letters, jobs) {
            var facts = ReplayVerdict.Facts(again: again, isReadable: job != nil, nowMs: nowMs)
            facts.wasReplayed = next.next()?.integer == 1
            if let job {
                facts.isAppKnown = apps?.contains(job.app) ?? true
                facts.deadlineMs = job.deadlineMs
                facts.wanted = letter.devices.map(ReplayJob.devices(in:)) ?? job.devices
                if job.recipient != nil {
                    facts.devices = Self.devices(next.next() ?? .null)
                    facts.isMuted = Self.mutes(next.next() ?? .null, job, nowMs: nowMs)
                    if job.dedup != nil { facts.isDedupDone = next.next()?.text?.first == "d" }
                }
            }
            results.append(Result(letter: letter, job: job, verdict: ReplayVerdict(facts)))
        }
        return results
    }

    private static func devices(_ value: RedisValue) -> Set<String> {
        guard case .string(let bytes) = value else { return [] }
        return unsafe bytes.withUnsafeBytes { bytes in
            var list = unsafe DeviceList(bytes)
            var found: Set<String> = []
            while let next = list.next() {
                unsafe found.insert(String(decoding: next.id, as: UTF8.self))
            }
            return found
        }
    }

    /// The worker's rule: what nobody notices is never muted.
    private static func mutes(_ value: RedisValue, _ job: ReplayJob, nowMs: Int64) -> Bool {
        guard !job.isSilent, case .string(let bytes) = value else { return false }
        let names = (kind: Array(job.kind.utf8), topic: Array(job.topic.utf8), thread: Array(job.thread.utf8))
        return unsafe bytes.withUnsafeBytes { bytes in
            let view = unsafe PreferencesView(bytes)
            if (view.mutedUntilMs ?? 0) > nowMs { return true }
            func has(_ list: UnsafeRawBufferPointer, _ name: [UInt8]) -> Bool {
                unsafe name.withUnsafeBytes { unsafe PreferencesView.contains(list, $0) }
            }
            return unsafe has(view.mutedKinds, names.kind) || has(view.mutedTopics, names.topic)
                || has(view.mutedThreads, names.thread)
        }
    }
}
