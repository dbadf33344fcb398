import Core
import EventLoop
import Redis
import Registry
import SimulatorKit
import Testing

@testable import WorkerKit

/// What a worker does while its Redis server is in trouble of each kind.
@Suite(.serialized) struct RedisTroubleTests {
    enum Trouble: String, CaseIterable {
        case full
        case withoutReplicas
        case demoted
        case busy
        case hung
        case away

        func begin(_ rig: Rig) throws {
            switch self {
            case .full: try rig.redisCommand("CONFIG", "SET", "maxmemory", "1")
            case .withoutReplicas: try rig.redisCommand("CONFIG", "SET", "min-replicas-to-write", "1")
            case .demoted: try rig.redisCommand("REPLICAOF", "127.0.0.1", "1")
            case .busy:
                try rig.redisCommand("CONFIG", "SET", "busy-reply-threshold", "50")
                var options = RedisClientOptions(endpoint: rig.redis.endpoint)
                options.timeoutMs = 300
                // The script goes on after its client has lost patience.
                let hog = try RedisSession(options: options)
                _ = try? hog.command("EVAL", "while true do end", "0")
            case .hung: rig.redis.suspend()
            case .away: rig.redis.kill()
            }
        }

        func end(_ rig: Rig) throws {
            switch self {
            case .full: try rig.redisCommand("CONFIG", "SET", "maxmemory", "0")
            case .withoutReplicas: try rig.redisCommand("CONFIG", "SET", "min-replicas-to-write", "0")
            case .demoted: try rig.redisCommand("REPLICAOF", "NO", "ONE")
            case .busy: try rig.redisCommand("SCRIPT", "KILL")
            case .hung: rig.redis.resume()
            case .away: try rig.redis.start()
            }
        }
    }

    @Test(arguments: Trouble.allCases)
    func jobsAreHeldAndNoneIsLostBuriedOrSentTwice(trouble: Trouble) throws {
        let server = try PrivateRedisServer(persistence: .appendOnly)
        let rig = try Rig(redis: server)
        defer { rig.stop() }
        for number in 0..<4 {
            try rig.register("r\(number)", device: "phone", .ios, token: Tokens.apns(number))
        }
        func publish(_ rounds: Range<Int>) throws {
            for round in rounds {
                try rig.publishMany(
                    (0..<4).map {
                        (
                            "shop/r\($0)",
                            #"{"id":"\#($0)-\#(round)","app":"shop","to":{"recipient":"r\#($0)"},"#
                                + #""title":"x","unread":1}"#
                        )
                    })
            }
        }
        try publish(0..<1)
        #expect(rig.wait(seconds: 40) { rig.accepted == 4 })
        try trouble.begin(rig)
        try publish(1..<11)
        #expect(rig.wait(seconds: 40) { ((try? rig.probe("/readyz")) ?? "").contains("Redis") })
        #expect(try rig.probe("/livez") == "ok")
        #expect(rig.accepted == 4)
        try trouble.end(rig)
        #expect(rig.wait(seconds: 60) { rig.accepted == 44 })
        #expect(rig.wait(seconds: 40) { (try? rig.probe("/readyz")) == "ok" })
        for number in 0..<4 {
            #expect(try rig.unread(of: "r\(number)") == 11)
            let badges = rig.simulator.record.requests(token: Tokens.apns(number)).map { $0.badge ?? -1 }
            #expect(badges == (1...11).map { Int64($0) })
        }
        #expect(rig.worker?.outcomes["dead"] ?? 0 == 0)
    }

    @Test func aRedisThatLostItsDataGoesOnWithWhatIsRegisteredAnew() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        func publish(_ id: String) throws {
            try rig.publish(
                #"{"id":"\#(id)","app":"shop","to":{"recipient":"anna"},"title":"x","unread":1}"#,
                key: "shop/anna")
        }
        try publish("a")
        #expect(rig.wait(seconds: 40) { rig.accepted == 1 })
        rig.redis.kill()
        try rig.redis.start()
        try publish("b")
        #expect(rig.wait(seconds: 40) { rig.worker?.outcomes["no_device"] ?? 0 == 1 })
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try publish("c")
        #expect(rig.wait(seconds: 40) { rig.accepted == 2 })
        #expect(rig.worker?.outcomes["dead"] ?? 0 == 0)
        // The counter began anew with the empty server, and counted b although it had no device.
        #expect(rig.simulator.record.requests(token: Tokens.apns(1)).map(\.badge) == [1, 2])
    }
}
