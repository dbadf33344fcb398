internal import Core
internal import Jobs
internal import Redis
internal import Registry

/// Turns a sender's alert into jobs: to the wallets and the devices that take it.
///
/// - Threading: that of its session.
struct AlertRouting {
    /// The most wallets whose devices disagree that one broadcast looks at; with more of them it is refused.
    static let mixedMax = 10_000
    /// All copies of one alert together, in bytes.
    static let bytesMax = 64 << 20
    /// Shards of the index that are read in one go.
    private static let shardsAtOnce = 512

    private let app: String
    private let sender: String
    private let hasOthers: Bool
    private let session: RedisSession
    private let index: SubscriberIndex

    /// `hasOthers` says whether others than the app itself send through it.
    init(app: String, sender: String, hasOthers: Bool, session: RedisSession) {
        self.app = app
        self.sender = sender
        self.hasOthers = hasOthers
        self.session = session
        index = SubscriberIndex(session: session, app: app)
    }

    /// The jobs of an alert; none when nobody takes it.
    func jobs(_ alert: WalletAlert) throws -> [Submission] {
        switch alert.audience {
        case .wallets(let wallets): return try jobs(alert, to: wallets)
        case .everybody: return try broadcasts(alert)
        }
    }

    private func draft(_ alert: WalletAlert) -> JobDraft {
        var job = JobDraft(app: app)
        for member in alert.content { job.set(member.name, member.value) }
        if sender != app {
            var data = job.value("data")?.members ?? []
            if !data.contains(where: { $0.name == "appId" }) {
                data.append(JSONValue.Member(name: "appId", value: .string(sender)))
            }
            job.set("data", .object(data))
        }
        return job
    }

    // MARK: - To wallets

    private func jobs(_ alert: WalletAlert, to all: [String]) throws -> [Submission] {
        let wallets = try alert.topic.map { try followers(of: $0, among: all) } ?? all
        let draft = draft(alert)
        try Self.checkSize(draft, count: wallets.count)
        let notes = try ContractNotes(session: session, app: app).notes(of: wallets)
        var jobs: [Submission] = []
        for (wallet, notes) in zip(wallets, notes) {
            var job = draft
            // Most wallets take it on all of their devices, and then need not be looked up.
            if notes.values.allSatisfy({ AlertScope(text: $0).takes(sender) }) {
                job.address(to: wallet)
            } else {
                let devices = try devices(of: wallet, notes)
                if devices.isEmpty { continue }
                job.address(to: wallet, devices: devices)
            }
            jobs.append(job.submission())
        }
        return jobs
    }

    /// Each wallet gets a copy, so the size is looked at before there are any.
    private static func checkSize(_ draft: JobDraft, count: Int) throws(Problem) {
        // The target comes on top; the publisher looks at each job again.
        let size = draft.submission().job.count
        guard size <= JobParser.maximumBytes else {
            throw .badRequest(
                "The alert makes jobs of more than \(JobParser.maximumBytes) bytes; shorten its data.",
                field: "data")
        }
        guard size * count <= bytesMax else {
            throw .badRequest(
                "The alert is too large for \(count) wallets at once: \(bytesMax >> 20) MiB is the most; "
                    + "send it to fewer at a time.", field: "recipient.walletAddresses")
        }
    }

    /// Those of the wallets that follow the topic, asked in one go.
    private func followers(of topic: String, among wallets: [String]) throws(RedisFailure) -> [String] {
        let replies = try session.pipeline(
            wallets.map { wallet in
                let shard = SubscriberIndex.shard(of: wallet)
                return ["HEXISTS", RegistryKeys.subscribers(app: app, topic: topic, shard: shard), wallet]
            })
        var followers: [String] = []
        for (wallet, reply) in zip(wallets, replies) {
            if case .error(let failure) = reply { throw failure }
            if reply.integer == 1 { followers.append(wallet) }
        }
        return followers
    }

    /// The devices of a wallet that take the sender's alerts.
    private func devices(of wallet: String, _ notes: [String: String]) throws(RedisFailure) -> [String] {
        try DeviceDirectory(session: session, app: app).devices(of: wallet)
            .map(\.id).filter { AlertScope(text: notes[$0]).takes(sender) }.sorted()
    }

    // MARK: - To everybody

    private func broadcasts(_ alert: WalletAlert) throws -> [Submission] {
        var job = draft(alert)
        if let topic = alert.topic {
            job.set("to", Self.target("topic", .string(topic)))
            return [job.submission()]
        }
        guard hasOthers else {
            job.set("to", Self.target("all", .bool(true)))
            return [job.submission()]
        }
        var jobs: [Submission] = []
        for topic in [AlertAudience.everything, AlertAudience.whole(sender)] {
            job.set("to", Self.target("topic", .string(topic)))
            jobs.append(job.submission())
        }
        return jobs + (try self.jobs(alert, to: try mixedWallets()))
    }

    private static func target(_ name: String, _ value: JSONValue) -> JSONValue {
        .object([JSONValue.Member(name: name, value: value)])
    }

    /// The wallets whose devices disagree about the sender.
    private func mixedWallets() throws -> [String] {
        var wallets: [String] = []
        for topic in [AlertAudience.part(sender), AlertAudience.mixed] {
            for first in stride(from: 0, to: SubscriberIndex.shards, by: Self.shardsAtOnce) {
                for shard in try index.members(topic, shards: first..<first + Self.shardsAtOnce) {
                    wallets += shard.recipients.map { String(decoding: $0, as: UTF8.self) }
                }
                guard wallets.count <= Self.mixedMax else {
                    throw Problem.conflict(
                        "More than \(Self.mixedMax) wallets have devices that differ in what they take; "
                            + "send to a topic, or to lists of wallets.")
                }
            }
        }
        return wallets
    }
}
