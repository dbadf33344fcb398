import Core
import EventLoop
import Glibc
import Testing

@testable import Redis
@testable import TestSupport

/// What a server in trouble says and does, on a real one: each is an outage, so that whoever asked holds what
/// it has and asks again, and each is over when the server is well.
@Suite struct RedisFaultTests {
    /// Waits until a section of INFO says something.
    private func wait(_ session: RedisSession, _ section: String, _ text: String) throws {
        let end = Clock.monotonicMs + 60_000
        while try session.command("INFO", section).text?.contains(text) != true {
            try #require(Clock.monotonicMs < end, "INFO \(section) never says \(text)")
            usleep(10_000)
        }
    }

    @Test func aServerThatStillLoadsItsDataIsWaitedFor() throws {
        let server = try RedisServer(
            persistence: .appendOnly,
            settings: ["--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024"])
        let session = try server.session()
        _ = try session.pipeline((0..<2_000).map { ["SET", "k\($0)", String(repeating: "x", count: 64)] })
        session.close()
        server.kill()
        let rig = try ClientRig(server.endpoint)
        try server.start(waitsUntilReady: false)
        #expect(rig.loop.runUntil { rig.recorder.disconnects.contains { $0.code == .loading } })
        #expect(rig.issue("GET", "k0") == .unavailable)
        #expect(rig.loop.runUntil(withinMs: 30_000) { rig.client.isReady })
        #expect(rig.issue("EXISTS", "k1999") == nil)
        rig.answers(1)
        #expect(rig.recorder.answers.last?.value == .integer(1))
    }

    @Test func aServerThatCantSaveIsAnOutageUntilItCan() throws {
        let server = try RedisServer()
        let session = try server.session()
        let rig = try ClientRig(server.endpoint)
        rig.ready()
        // A directory stands where the snapshot should go.
        let obstacle = server.directory + "/dump.rdb"
        #expect(mkdir(obstacle, 0o700) == 0)
        try session.command("CONFIG", "SET", "save", "3600 1")
        try session.command("BGSAVE")
        try wait(session, "persistence", "rdb_last_bgsave_status:err")
        #expect(rig.issue("SET", "k", "v") == nil)
        rig.answers(1)
        #expect(rig.recorder.answers.last?.code == .misconfigured)
        #expect(rig.client.isReady)
        #expect(rmdir(obstacle) == 0)
        try session.command("BGSAVE")
        try wait(session, "persistence", "rdb_last_bgsave_status:ok")
        rig.insist("SET", "k", "v")
    }

    @Test func aServerWithoutItsReplicasIsAnOutage() throws {
        let server = try RedisServer(settings: ["--min-replicas-to-write", "1"])
        let rig = try ClientRig(server.endpoint)
        rig.ready()
        #expect(rig.issue("SET", "k", "v") == nil)
        #expect(rig.issue("GET", "k") == nil)
        rig.answers(2)
        #expect(rig.recorder.answers.map(\.code) == [.misconfigured, nil])
        try server.session().command("CONFIG", "SET", "min-replicas-to-write", "0")
        #expect(rig.insist("SET", "k", "v").isEmpty)
    }

    @Test func aServerInAScriptWithoutEndIsAnOutageUntilItIsKilled() throws {
        let server = try RedisServer(settings: ["--busy-reply-threshold", "50"])
        let killer = try server.session()
        try killer.command("PING")
        let rig = try ClientRig(server.endpoint)
        let hog = try ClientRig(server.endpoint) { $0.timeoutMs = 60_000 }
        rig.ready()
        hog.ready()
        #expect(hog.issue("EVAL", "while true do end", "0") == nil)
        hog.loop.runOnce(maxWaitMs: 0)
        usleep(20_000)
        rig.insist("GET", "k", until: { $0.code == .busy })
        try killer.command("SCRIPT", "KILL")
        rig.insist("SET", "k", "v")
        hog.answers(1)
    }

    @Test func aSlowServerIsWaitedForWithinTheDeadline() throws {
        let server = try RedisServer(settings: ["--enable-debug-command", "yes"])
        let rig = try ClientRig(server.endpoint) { $0.timeoutMs = 20_000 }
        let sleeper = try ClientRig(server.endpoint) { $0.timeoutMs = 20_000 }
        rig.ready()
        sleeper.ready()
        #expect(sleeper.issue("DEBUG", "SLEEP", "0.5") == nil)
        sleeper.loop.runOnce(maxWaitMs: 0)
        for value in 0..<1_000 { #expect(rig.issue("INCR", "n", value: UInt64(value)) == nil) }
        rig.answers(1_000)
        #expect(rig.recorder.answers.compactMap(\.value.integer) == (1...1_000).map { Int64($0) })
        #expect(rig.recorder.disconnects.isEmpty)
        #expect(rig.client.bufferedBytes == 0)
        sleeper.answers(1)
    }

    @Test func aReplicaWithoutItsMasterIsLeftUntilItIsAMaster() throws {
        let server = try RedisServer(settings: ["--replica-serve-stale-data", "no"])
        let session = try server.session()
        let rig = try ClientRig(server.endpoint)
        rig.ready()
        try session.command("REPLICAOF", "127.0.0.1", "1")
        #expect(rig.issue("GET", "k") == nil)
        rig.answers(1)
        #expect(rig.recorder.answers.last?.code == .masterDown)
        #expect(rig.loop.runUntil { rig.recorder.disconnects.count > 1 })
        #expect(!rig.client.isReady)
        try session.command("REPLICAOF", "NO", "ONE")
        rig.insist("SET", "k", "v")
    }

    @Test func aServerThatLostItsDataIsGoneOnWith() throws {
        let server = try RedisServer()
        let script = RedisScript(name: "count", source: "return redis.call('INCR',KEYS[1])")
        let rig = try ClientRig(server.endpoint) { $0.scripts = [script] }
        rig.ready()
        #expect(rig.call(script, keys: ["n"]) == nil)
        rig.answers(1)
        try server.session().command("FLUSHALL")
        #expect(rig.call(script, keys: ["n"]) == nil)
        rig.answers(2)
        #expect(rig.recorder.answers.last?.value == .integer(1))
        server.kill()
        #expect(rig.loop.runUntil { !rig.client.isReady })
        try server.start()
        rig.ready()
        #expect(rig.call(script, keys: ["n"]) == nil)
        rig.answers(3)
        #expect(rig.recorder.answers.last?.value == .integer(1))
        #expect(rig.client.statistics.scriptReloads == 0)
    }

    @Test func aServerThatRefusesConnectionsIsTriedWithPauses() throws {
        let server = try RedisServer()
        let rig = try ClientRig(server.endpoint) {
            $0.backoffFirstMs = 50; $0.backoffLastMs = 200
        }
        rig.ready()
        server.kill()
        #expect(rig.loop.runUntil { rig.recorder.disconnects.count >= 4 })
        // The first pauses are 25 to 200 ms long; attempts without pauses would be thousands by now.
        #expect(rig.client.statistics.connectFailures < 100)
        for _ in 0..<1_000 { #expect(rig.issue("GET", "k") == .unavailable) }
        #expect(rig.client.bufferedBytes == 0)
        try server.start()
        rig.insist("SET", "k", "v")
    }

    @Test func crossedSlotsAreAMistakeAndNoOutage() {
        let text = Array("CROSSSLOT Keys in request don't hash to the same slot".utf8)
        #expect(text.withUnsafeBytes { RedisFailure.Code.ofErrorReply($0) } == .refused)
        for word in ["MOVED 1 h:1", "ASK 1 h:1", "TRYAGAIN x", "CLUSTERDOWN x"] {
            let code = Array(word.utf8).withUnsafeBytes { RedisFailure.Code.ofErrorReply($0) }
            #expect(code == .cluster)
            #expect(code.isOutage)
        }
    }
}
