import Configuration
import Core
import EventLoop
import Redis
import Registry
import Services
import SimulatorKit
import TestSupport
import Testing

@testable import WorkerKit

/// A worker on a real three-node cluster.
@Suite(.serialized) struct ClusterTests {
    /// A rig whose worker is told of one node of the cluster, and a session with the cluster.
    private struct Stage {
        let cluster: RedisClusterServers
        let rig: Rig
        let session: RedisSession

        init() throws {
            cluster = try RedisClusterServers(persistence: .appendOnly)
            rig = try Rig(environment: [
                "PEAL_REDIS_URL": "redis://127.0.0.1:\(cluster.nodes[0].port)", "PEAL_REDIS_CLUSTER": "true",
                "PEAL_REDIS_COMMAND_TIMEOUT": "1s",
            ])
            var options = cluster.options
            options.scripts = RegistryScripts.all
            session = try RedisSession(options: options)
        }

        func register(_ recipient: String, token: Int) throws {
            try DeviceDirectory(session: session, app: "shop").register(
                recipient: recipient, device: "phone",
                DeviceRecord(platform: .ios, token: Tokens.apns(token), registeredAtMs: Clock.wallMs))
        }

        func unread(of recipient: String) throws -> Int64 {
            try DeviceDirectory(session: session, app: "shop").unread(of: recipient)
        }

        func slots(of recipient: String) throws -> [Int] {
            let shard = RecipientShard.of(text: recipient)
            let devices = try session.command("CLUSTER", "KEYSLOT", "{shop:\(shard)}").integer ?? -1
            return [try slot(of: recipient), Int(devices)]
        }

        func slot(of recipient: String) throws -> Int {
            Int(try session.command("CLUSTER", "KEYSLOT", "{shop:\(recipient)}").integer ?? -1)
        }

        func publish(_ recipients: [String], rounds: Range<Int>, more: (Int) -> String = { _ in "" }) throws {
            for round in rounds {
                try rig.publishMany(
                    recipients.map {
                        (
                            "shop/\($0)",
                            #"{"id":"\#($0)-\#(round)","app":"shop","to":{"recipient":"\#($0)"},"#
                                + #""title":"x","unread":1\#(more(round))}"#
                        )
                    })
            }
        }

        func badges(token: Int) -> [Int64] {
            rig.simulator.record.requests(token: Tokens.apns(token)).map { $0.badge ?? -1 }
        }
    }

    @Test func aDeadNodeHoldsUpTheJobsOfItsRecipientsAndNoOthers() throws {
        let stage = try Stage()
        let rig = stage.rig
        defer { rig.stop() }
        let recipients = (0..<24).map { "r\($0)" }
        for (number, recipient) in recipients.enumerated() {
            try stage.register(recipient, token: number)
        }
        try stage.publish(recipients, rounds: 0..<1)
        #expect(rig.wait(seconds: 40) { rig.accepted == 24 })
        // A job needs its recipient's node and that of its devices.
        let theirs = try recipients.filter { recipient in
            try stage.slots(of: recipient).contains { stage.cluster.slots(of: 1).contains($0) }
        }
        let others = UInt64(recipients.count - theirs.count)
        #expect(!theirs.isEmpty && others > 0)
        stage.cluster.nodes[1].kill()
        #expect(rig.wait { ((try? rig.probe("/readyz")) ?? "").contains("is away") })
        try stage.publish(recipients, rounds: 1..<11)
        #expect(rig.wait(seconds: 40) { rig.accepted >= 24 + others * 10 })
        #expect(rig.accepted == 24 + others * 10)
        #expect(try rig.probe("/livez") == "ok")
        try stage.cluster.nodes[1].start()
        #expect(rig.wait(seconds: 60) { rig.accepted == 24 * 11 })
        #expect(rig.wait { (try? rig.probe("/readyz")) == "ok" })
        for (number, recipient) in recipients.enumerated() {
            #expect(try stage.unread(of: recipient) == 11)
            #expect(stage.badges(token: number) == (1...11).map { Int64($0) })
        }
        #expect(rig.worker?.outcomes["dead"] ?? 0 == 0)
    }

    @Test func aRecipientWhoseSlotMovesIsCountedExactly() throws {
        let stage = try Stage()
        let rig = stage.rig
        defer { rig.stop() }
        try stage.register("anna", token: 1)
        let slot = try stage.slot(of: "anna")
        let first = try #require((0..<3).first { stage.cluster.slots(of: $0).contains(slot) })
        var rounds = 0
        func publish(_ count: Int) throws {
            // Every other job has a dedup key, which exists nowhere while the slot is on its way.
            try stage.publish(["anna"], rounds: rounds..<rounds + count) {
                $0 % 2 == 0 ? #","dedup":"d\#($0)""# : ""
            }
            rounds += count
        }
        try publish(10)
        #expect(rig.wait(seconds: 40) { rig.accepted == 10 })
        for hop in 0..<3 {
            let nodes = stage.cluster.nodes
            let move = try SlotMove(slot, from: nodes[(first + hop) % 3], to: nodes[(first + hop + 1) % 3])
            repeat { try publish(5) } while try move.moveOneKey()
            try publish(5)
            try move.finish()
            try publish(5)
        }
        #expect(rig.wait(seconds: 60) { rig.accepted == UInt64(rounds) })
        #expect(try stage.unread(of: "anna") == Int64(rounds))
        #expect(stage.badges(token: 1) == (1...rounds).map { Int64($0) })
        let metrics = try rig.probe("/metrics").split(separator: "\n")
        let moved = metrics.first { $0.hasPrefix("peal_redis_moved_total ") }
        #expect(moved.map { !$0.hasSuffix(" 0") } == true)
    }
}

/// How the configuration names a Redis.
@Suite struct RedisSettingsTests {
    private func options(_ environment: [String: String]) throws -> RedisClientOptions {
        try Configuration.load(path: nil, environment: environment).redisOptions(scripts: [])
    }

    @Test func aClusterIsNamedByASwitchOrBySeveralHosts() throws {
        #expect(try options([:]).clusterSeeds.isEmpty)
        #expect(try options(["PEAL_REDIS_URL": "redis://a:1"]).clusterSeeds.isEmpty)
        let one = try options(["PEAL_REDIS_URL": "redis://a:1", "PEAL_REDIS_CLUSTER": "true"])
        #expect(one.clusterSeeds.map { "\($0)" } == ["a:1"])
        let two = try options(["PEAL_REDIS_URL": "redis://:pw@a:1,b", "PEAL_REDIS_USERNAME": "peal"])
        #expect(two.clusterSeeds.map { "\($0)" } == ["a:1", "b:6379"])
        #expect(two.clusterSeeds.allSatisfy { $0.user == "peal" && $0.password == "pw" })
        #expect(two.endpoint == two.clusterSeeds.first)
    }

    @Test(arguments: [
        ("redis://a:1,b:2/3", "database 0"), ("unix:/run/redis.sock", "over TCP"),
        ("redis://a,", "needs a host"),
    ])
    func aClusterThatCantBeIsRefused(url: String, sentence: String) throws {
        do {
            _ = try options(["PEAL_REDIS_URL": url, "PEAL_REDIS_CLUSTER": "true"])
            Issue.record("\(url) was accepted")
        } catch let failure as ConfigurationFailure {
            #expect("\(failure)".contains(sentence))
        }
    }
}
