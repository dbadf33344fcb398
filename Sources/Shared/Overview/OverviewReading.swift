internal import Decisions
internal import Redis
internal import Registry

/// An overview while its replies come in: which commands follow from what is known, and what the replies say.
/// A value without I/O.
struct OverviewReading {
    var overview: Overview
    private(set) var hasPods = false
    private(set) var hasControl = false
    private(set) var appNames: [String] = []
    private var campaigns: [(app: String, name: String, atMs: Int64)] = []
    private var broadcasts: [(app: String, id: String, atMs: Int64)] = []
    private var denied: Set<String> = []
    private var oddPods = 0

    init(app: String) { overview = Overview(app: app) }

    var isAboutAll: Bool { overview.app == "*" }

    // MARK: Replies

    /// Takes the replies to TIME, HLEN of pods and control, the totals, the apps, and with one app its lists.
    mutating func takeFirst(_ replies: [RedisValue]) throws(RedisFailure) {
        guard replies.count >= 5, replies[0].array.count == 2, let seconds = replies[0].array[0].integer,
            let micros = replies[0].array[1].integer
        else {
            if case .error(let failure)? = replies.first { throw failure }
            throw RedisFailure(.protocolBroken, "TIME was answered with something else")
        }
        overview.nowMs = seconds * 1000 + micros / 1000
        let pods = number(replies[1], "peal:pods")
        hasPods = pods > 0 && pods <= OverviewReader.podsMax
        if pods > OverviewReader.podsMax {
            overview.notes.append(
                "peal:pods has \(pods) lines and is not read; remove those of pods that are gone for good.")
        }
        let entries = number(replies[2], "peal:control")
        hasControl = entries > 0 && entries <= Int64(ControlState.entriesMax + 1)
        if entries > Int64(ControlState.entriesMax + 1) {
            overview.notes.append("peal:control has \(entries) entries and is not read.")
        }
        note(replies[3], "peal:total")
        overview.totals = Self.counts(replies[3])
        takeApps(replies[4])
        if replies.count >= 7 { takeLists(of: overview.app, replies[5], replies[6]) }
    }

    private mutating func takeApps(_ reply: RedisValue) {
        note(reply, "peal:apps")
        let known = reply.pairs.compactMap { name, score in
            Self.score(score).map { (name: name, seenMs: $0) }
        }
        if known.count > OverviewReader.appsMax {
            overview.notes.append("Only \(OverviewReader.appsMax) apps are shown.")
        }
        for (name, seenMs) in known.prefix(OverviewReader.appsMax) where Self.isName(name) {
            appNames.append(name)
            overview.apps.append(Overview.App(name: name, seenMs: seenMs))
        }
    }

    private mutating func takeLists(of app: String, _ campaigns: RedisValue, _ broadcasts: RedisValue) {
        note(campaigns, "peal:campaigns")
        note(broadcasts, "peal:casts")
        for (name, score) in campaigns.pairs {
            if let atMs = Self.score(score) { self.campaigns.append((app, name, atMs)) }
        }
        for (id, score) in broadcasts.pairs {
            if let atMs = Self.score(score) { self.broadcasts.append((app, id, atMs)) }
        }
    }

    /// The commands about one app in short: its totals and its last minutes.
    func commands(ofApp app: String) -> [[String]] {
        let last = overview.nowMs / 60_000
        let fields = OverviewReader.appFields.map(\.name)
        return [["HMGET", RegistryKeys.totals(app: app)] + fields]
            + (0..<Int64(Overview.appMinutes)).map {
                ["HMGET", RegistryKeys.statistics(app: app, minute: last - $0)] + fields
            }
    }

    /// Takes the replies to the second pipeline: pods and control if they were asked for, the lists of
    /// `listed`, and each app's ``commands(ofApp:)``.
    mutating func takeSecond(_ replies: [RedisValue], listed: [String]) throws(RedisFailure) {
        let expected =
            (hasPods ? 1 : 0) + (hasControl ? 1 : 0) + listed.count * 2
            + appNames.count * (1 + Overview.appMinutes)
        guard replies.count == expected else {
            throw RedisFailure(.protocolBroken, "a pipeline has \(replies.count) replies, not \(expected)")
        }
        var rest = replies[...]
        if hasPods, let reply = rest.popFirst() { takePods(reply) }
        if hasControl, let reply = rest.popFirst() {
            note(reply, "peal:control")
            overview.control = ControlState(
                fields: reply.pairs.map { (field: $0.key, value: $0.value.text ?? "") })
        }
        for app in listed {
            guard let campaigns = rest.popFirst(), let broadcasts = rest.popFirst() else { return }
            takeLists(of: app, campaigns, broadcasts)
        }
        for place in overview.apps.indices {
            guard let totals = rest.popFirst() else { return }
            overview.apps[place].totals = Self.appCounts(totals)
            for _ in 0..<Overview.appMinutes {
                if let minute = rest.popFirst() { overview.apps[place].recent.add(Self.appCounts(minute)) }
            }
        }
    }

    private mutating func takePods(_ reply: RedisValue) {
        note(reply, "peal:pods")
        for (name, value) in reply.pairs {
            if let pod = Overview.Pod(field: name, value: value.text ?? "") {
                overview.pods.append(pod)
            } else {
                oddPods += 1
            }
        }
    }

    /// The commands about the latest campaigns and broadcasts, at most so many of each.
    mutating func partCommands(campaigns: Int, broadcasts: Int) -> [[String]] {
        self.campaigns = Array(self.campaigns.sorted { $0.atMs > $1.atMs }.prefix(campaigns))
        self.broadcasts = Array(self.broadcasts.sorted { $0.atMs > $1.atMs }.prefix(broadcasts))
        return self.campaigns.map { ["HGETALL", RegistryKeys.campaign(app: $0.app, name: $0.name)] }
            + self.broadcasts.map { ["HGETALL", RegistryKeys.broadcast(app: $0.app, id: $0.id)] }
    }

    /// Takes the replies to ``partCommands(campaigns:broadcasts:)``.
    mutating func takeParts(_ replies: [RedisValue]) throws(RedisFailure) {
        guard replies.count == campaigns.count + broadcasts.count else {
            throw RedisFailure(.protocolBroken, "a pipeline has too few replies")
        }
        for (campaign, reply) in zip(campaigns, replies) {
            note(reply, "peal:campaign")
            let counts = Self.counts(reply)
            var found = Overview.Campaign(app: campaign.app, name: Overview.Pod.bounded(campaign.name))
            for outcome in DeliveryOutcome.allCases where counts[outcome: outcome] > 0 {
                found.outcomes[outcome] = counts[outcome: outcome]
            }
            let times = Dictionary(reply.pairs.map { ($0.key, $0.value.integer) }, uniquingKeysWith: { $1 })
            found.firstMs = max(0, times["first_ms"].flatMap { $0 } ?? campaign.atMs)
            found.lastMs = max(0, times["last_ms"].flatMap { $0 } ?? campaign.atMs)
            if !found.outcomes.isEmpty { overview.campaigns.append(found) }
        }
        for (broadcast, reply) in zip(broadcasts, replies.dropFirst(campaigns.count)) {
            note(reply, "peal:cast")
            let fields = reply.pairs.map { (field: $0.key, value: $0.value.text ?? "") }
            guard let status = BroadcastStatus(fields: fields) else { continue }
            let now = status.under(
                overview.control, app: broadcast.app, id: broadcast.id, nowMs: overview.nowMs)
            overview.broadcasts.append(
                Overview.Broadcast(app: broadcast.app, id: Overview.Pod.bounded(broadcast.id), status: now))
        }
    }

    /// Puts everything in order and adds the notes that are about all of it.
    mutating func finish() {
        overview.pods.sort { ($0.role, $0.name) < ($1.role, $1.name) }
        overview.apps.sort { one, other in
            let (mine, its) = (one.recent.deliveries, other.recent.deliveries)
            return mine != its ? mine > its : one.name < other.name
        }
        if oddPods > 0 {
            overview.notes.append("\(oddPods) lines of peal:pods can't be read and are left out.")
        }
        for key in denied.sorted() {
            overview.notes.append("\(key) can't be read with this Redis user, or holds something else.")
        }
    }

    // MARK: Values

    /// The counters of an HGETALL; none for another reply.
    static func counts(_ reply: RedisValue) -> Overview.Counts {
        var counts = Overview.Counts()
        for (field, value) in reply.pairs {
            if let count = value.integer { counts.take(field: field, count) }
        }
        return counts
    }

    private static func appCounts(_ reply: RedisValue) -> Overview.Counts {
        var counts = Overview.Counts()
        for (field, value) in zip(OverviewReader.appFields, reply.array) {
            counts[field] = value.integer ?? 0
        }
        return counts
    }

    /// A score that is a time; Redis may write it with an exponent.
    private static func score(_ value: RedisValue) -> Int64? {
        guard let text = value.text, let number = Double(text), number >= 0, number < 1e15 else { return nil }
        return Int64(number)
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name != "*" && name.utf8.count <= 64
    }

    private mutating func number(_ reply: RedisValue, _ key: String) -> Int64 {
        note(reply, key)
        return reply.integer ?? 0
    }

    private mutating func note(_ reply: RedisValue, _ key: String) {
        if case .error = reply { denied.insert(key) }
    }
}
