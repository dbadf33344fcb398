import Core
import EventLoop
import Redis
import TestSupport
import Testing

@testable import Registry

/// The documented rights of a worker, on servers that know no other user.
@Suite struct AccessTests {
    /// The words behind `ACL SETUSER peal-worker` in docs/redis-keys.md.
    private func documentedRights() throws -> [String] {
        let folder = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = try Files.readText(path: "/\(folder)/docs/redis-keys.md")
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("ACL SETUSER peal-worker ") }
        let line = try #require(lines.first)
        #expect(lines.count == 1)
        return line.split(separator: " ").dropFirst(3).map { String($0) }
    }

    /// A server over TLS that lets in the worker's user alone, by an ACL file.
    private func start(_ tls: RedisTLS, _ folder: String) throws -> (RedisServer, RedisClientOptions) {
        let rights = try documentedRights().joined(separator: " ")
        try Files.write(
            path: "\(folder)/users.acl",
            text: "user peal-worker \(rights)\nuser default on nopass ~* &* +@all\n", mode: 0o600)
        let port = try RedisTLS.freePort()
        let server = try RedisServer(
            settings: tls.settings(port: port) + ["--aclfile", "\(folder)/users.acl"])
        var options = RedisClientOptions.patient(tls.endpoint(port: port))
        options.endpoint.user = "peal-worker"
        options.endpoint.password = "password"
        options.tls = tls.context
        options.scripts = RegistryScripts.all
        return (server, options)
    }

    @Test func theDocumentedRightsSufficeForEveryCommandOverTLS() throws {
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-acl")
        defer { Files.removeTree(folder) }
        let tls = try RedisTLS()
        let (server, options) = try start(tls, folder)
        let session = try RedisSession(options: options)
        try RegistryExercise(session: session).run()
        // A denied CONFIG GET would be told as a complaint.
        #expect(try ServerSettings.complaints(session) == [])
        #expect(server.processID != nil)
    }

    @Test func theDocumentedRightsCoverWhatTheScriptsCall() throws {
        let rights = try Set(documentedRights())
        for script in RegistryScripts.all + BroadcastCommands.scripts {
            for part in script.source.split(separator: "call('").dropFirst() {
                let command = part.prefix { $0 != "'" }.lowercased()
                #expect(rights.contains("+\(command)"), "\(script.name) calls \(command)")
            }
        }
    }

    @Test(arguments: [
        ["GET", "other"], ["SET", "other", "x"], ["KEYS", "*"], ["SCAN", "0"], ["FLUSHALL"], ["SHUTDOWN"],
        ["CONFIG", "SET", "maxmemory", "1"], ["EVAL", "return 1", "0"], ["ACL", "LIST"], ["SCRIPT", "FLUSH"],
        ["SUBSCRIBE", "c"], ["CLUSTER", "RESET"], ["REPLICAOF", "h", "1"], ["CLIENT", "KILL", "ID", "1"],
    ])
    func theDocumentedRightsEndThere(command: [String]) throws {
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-acl")
        defer { Files.removeTree(folder) }
        let tls = try RedisTLS()
        let (server, options) = try start(tls, folder)
        let session = try RedisSession(options: options)
        do {
            try session.command(command)
            Issue.record("\(command) was allowed")
        } catch {
            #expect(error.code == .notPermitted)
        }
        #expect(server.processID != nil)
    }
}

/// The registry on a real cluster: no command and no script may touch two slots.
@Suite struct ClusterRegistryTests {
    @Test func everyCommandNamesKeysOfOneSlot() throws {
        let cluster = try RedisClusterServers()
        var options = cluster.options
        options.scripts = RegistryScripts.all
        let session = try RedisSession(options: options)
        for app in ["shop", "shop{x}", "a}b{c"] { try RegistryExercise(session: session, app: app).run() }
        #expect(try ServerSettings.complaints(session) == [])
    }

    @Test func theSettingsOfEveryNodeAreChecked() throws {
        let cluster = try RedisClusterServers()
        let session = try RedisSession(options: cluster.options)
        #expect(try ServerSettings.complaints(session) == [])
        try cluster.nodes[1].session().command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        try cluster.nodes[2].session().command("CONFIG", "SET", "cluster-require-full-coverage", "yes")
        let complaints = try ServerSettings.complaints(session).sorted {
            $0.contains("allkeys-lru") && !$1.contains("allkeys-lru")
        }
        #expect(complaints.count == 2)
        #expect(complaints.first?.contains(":\(cluster.nodes[1].port): Redis may evict keys") == true)
        #expect(complaints.last?.contains(":\(cluster.nodes[2].port): the loss of one node") == true)
    }

    @Test func everyCommandWorksUnderTheDocumentedRights() throws {
        let cluster = try RedisClusterServers()
        let folder = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = try Files.readText(path: "/\(folder)/docs/redis-keys.md")
        let line = try #require(
            text.split(separator: "\n").first { $0.hasPrefix("ACL SETUSER peal-worker ") })
        for node in cluster.nodes {
            try node.session().command(line.split(separator: " ").map { String($0) })
        }
        var options = cluster.options
        options.scripts = RegistryScripts.all
        options.endpoint.user = "peal-worker"
        options.endpoint.password = "password"
        let session = try RedisSession(options: options)
        try RegistryExercise(session: session).run()
    }
}

/// Runs every command of the registry once for several recipients.
struct RegistryExercise {
    let session: RedisSession
    var app = "shop"

    func run() throws {
        let directory = DeviceDirectory(session: session, app: app, devicesMax: 2, staleAfterMs: 0)
        for recipient in (0..<12).map({ "r\($0)" }) + ["a}b", "{c}", "d{e", "}"] {
            try devices(recipient, directory)
            try jobs(recipient)
        }
        try offsets()
        try appWide()
    }

    private func devices(_ recipient: String, _ directory: DeviceDirectory) throws {
        for number in 0..<3 {
            let record = DeviceRecord(
                platform: .android, token: "token-\(recipient)-\(number)", registeredAtMs: Int64(number + 1))
            try directory.register(recipient: recipient, device: "d\(number)", record)
        }
        #expect(try directory.devices(of: recipient).count == 2)
        #expect(try directory.owner(of: "token-\(recipient)-2", .android) == recipient)
        #expect(try directory.remove(recipient: recipient, device: "d2"))
        let corrected = try RecipientReference.with(app: app, recipient: recipient) { reference in
            try Array("d1".utf8).withUnsafeBytes { id in
                try Array("token-\(recipient)-1".utf8).withUnsafeBytes { token in
                    try session.run {
                        RegistryCommands.correctEnvironment(
                            of: reference, id: id, storedToken: token, registeredAtMs: 2, isSandbox: true,
                            into: &$0)
                    }
                }
            }
        }
        #expect(corrected.integer == 1)
        #expect(try directory.setUnread(3, asOfMs: 1, of: recipient) == 3)
        #expect(try directory.addUnread(-1, of: recipient) == 2)
        try directory.setPreferences(Preferences(), of: recipient)
        #expect(
            try directory.read(.setThread("t", 4), of: recipient, device: "", claimMs: 1).unread == 6)
        #expect(try directory.setUnread(2, of: recipient) == 2)
        #expect(try directory.unreadByThread(of: recipient) == ["t": 2])
        let index = SubscriberIndex(session: session, app: app)
        let shard = SubscriberIndex.shard(of: recipient)
        let name = Array(recipient.utf8)
        for topic in ["news", "{x}"] {
            try index.subscribe(recipient, topic)
            let found = try index.members(topic, shards: shard..<shard + 1)
            #expect(found.first?.recipients.contains(name) == true)
        }
        let everybody = try index.members("*", shards: shard..<shard + 1)
        #expect(everybody.first?.recipients.contains(name) == true)
        try index.unsubscribeFromAll(recipient)
        #expect(try index.topics(of: recipient).isEmpty)
        _ = try directory.preferences(of: recipient)
        #expect(try directory.unread(of: recipient) == 2)
    }

    private func jobs(_ recipient: String) throws {
        let key = Array("key:{\(recipient)}".utf8)
        let position = JobPosition(lane: 0x6E, topicHash: 7, partition: 1, offset: 9, timestampMs: 1_000)
        let values: [RedisValue] = try RecipientReference.with(app: app, recipient: recipient) { reference in
            try key.withUnsafeBytes { key in
                let claim = DedupClaim(key: key, origin: position, milliseconds: 60_000)
                var admission = Admission(reference)
                admission.position = position
                admission.unreadDelta = 1
                admission.dedup = claim
                admission.cap = FrequencyCap(
                    name: key, count: 5, windowMs: 60_000, origin: position, replaces: true)
                return [
                    try session.run { admission.encode(into: &$0) },
                    try session.run {
                        RegistryCommands.settle(claim, of: reference, isDone: true, into: &$0)
                    },
                    try session.run {
                        RegistryCommands.claimHop(
                            of: reference, origin: key, attempt: 1, position: position, milliseconds: 60_000,
                            into: &$0)
                    },
                ]
            }
        }
        #expect(values.map { $0.array.first ?? $0 } == [.integer(0), .integer(1), .integer(1)])
    }

    private func offsets() throws {
        for partition in 0..<8 {
            let key = FinishedOffsetsKey(
                group: "peal", topic: "peal.jobs.normal", partition: Int32(partition))
            var finished = FinishedOffsets(startOffset: 0, startedAtCommit: true)
            for segment in finished.segmentsToLoad {
                try session.run { FinishedOffsets.encodeRead(segment: segment, of: key, into: &$0) }
            }
            for offset in [5, 70_000] { finished.finish(offset: Int64(offset), timestampMs: 1) }
            while finished.hasWrites { try session.run { finished.encodeNextWrite(of: key, into: &$0) } }
            finished.committed(80_000)
            while finished.hasWrites { try session.run { finished.encodeNextWrite(of: key, into: &$0) } }
        }
    }

    private func overview() throws {
        try session.run { OverviewCommands.know(apps: [app], nowMs: 1, into: &$0) }
        try session.run { OverviewCommands.forgetApps(nowMs: 1, into: &$0) }
        try session.run {
            OverviewCommands.count(app: app, campaign: "c}x{", [("accepted", 1)], nowMs: 1, into: &$0)
        }
        try session.run { OverviewCommands.list(broadcast: "b", app: app, nowMs: 1, into: &$0) }
        try session.run { OverviewCommands.trimBroadcasts(app: app, into: &$0) }
    }

    private func appWide() throws {
        try overview()
        var batch = CounterBatch(apps: [app], fields: CounterFields.standard)
        batch.add(app: 0, field: 0)
        var failures: [RedisFailure] = []
        batch.flush(minute: 1) { _, encode in
            do throws(RedisFailure) { try session.run(encode) } catch { failures.append(error) }
            return true
        }
        #expect(failures.isEmpty)
        for name in [app, "*"] {
            try session.run {
                RegistryCommands.tickTimeSeries(
                    app: name, intervalMs: 1, entries: 10, fields: CounterFields.standard, into: &$0)
            }
        }
        try session.run {
            RegistryCommands.takeTokens(
                app: app, provider: "fcm", perThousandSeconds: 10_000, capacity: 10, wanted: 1,
                lessee: "pod", into: &$0)
        }
        try session.run { RegistryCommands.control(into: &$0) }
        try session.run { RegistryCommands.beat(pod: "pod", json: Array("{}".utf8), into: &$0) }
        try session.run { RegistryCommands.goodbye(pod: "pod", into: &$0) }
    }
}
