import Core
import EventLoop
import Redis
import Registry
import RetryKit
import SimulatorKit
import Testing

@testable import WorkerKit

/// What a registration, or the lack of one, means for jobs on their way.
@Suite(.serialized) struct RegistrationRuleTests {
    private func job(_ id: String, to recipient: String, _ rest: String = "") -> String {
        #"{"id":"\#(id)","app":"shop","to":{"recipient":"\#(recipient)"},"title":"x","#
            + #""data":{"peal_job":"\#(id)"}\#(rest)}"#
    }

    private func owner(_ rig: Rig, _ token: String, _ platform: DevicePlatform) throws -> String? {
        let session = try rig.openSession()
        defer { session.close() }
        return try DeviceDirectory(session: session, app: "shop").owner(of: token, platform)
    }

    @Test func aTokenThatMovedIsLostToTheFormerOwnersWaitingJobs() throws {
        let rig = try Rig(retryYAML: "retry: {delays: {server: 1s}}")
        defer { rig.stop() }
        let token = Tokens.fcm(7) + "~UNAVAILABLE*1"
        try rig.register("anna", device: "tablet", .android, token: token)
        // One job waits in a retry topic, another in the queue, when the token moves.
        rig.retry?.stop()
        try rig.publish(job("retried", to: "anna"), key: "shop/anna")
        #expect(rig.wait { rig.simulator.record.requests(job: "retried").count == 1 })
        rig.stopWorker()
        try rig.publish(job("queued", to: "anna"), key: "shop/anna")
        try rig.register("ben", device: "phone", .android, token: token)
        #expect(try rig.devices(of: "anna").isEmpty)
        #expect(try owner(rig, token, .android) == "ben")
        try rig.startRetry()
        try rig.startWorker()
        #expect(rig.wait { rig.outcome("no_device") == 2 })
        #expect(rig.accepted == 0)
        try rig.publish(job("his", to: "ben"), key: "shop/ben")
        #expect(rig.wait { rig.accepted == 1 })
        #expect(rig.sentJobs == ["his"])
        #expect(rig.simulator.record.requests(job: "retried").count == 1)
    }

    @Test func staleDevicesCountAsGoneAndAreRemoved() throws {
        let rig = try Rig(retryYAML: "registry: {stale_after: 2d}")
        defer { rig.stop() }
        let day: Int64 = 86_400_000
        try rig.register("anna", device: "old", .ios, token: Tokens.apns(1), at: Clock.wallMs - 3 * day)
        try rig.register("anna", device: "new", .ios, token: Tokens.apns(2), at: Clock.wallMs - day)
        try rig.register("ben", device: "old", .ios, token: Tokens.apns(3), at: Clock.wallMs - 3 * day)
        for name in ["anna", "ben"] { try rig.publish(job(name, to: name), key: "shop/\(name)") }
        #expect(rig.wait { rig.accepted == 1 && rig.outcome("no_device") == 1 })
        #expect(rig.wait { (try? rig.devices(of: "anna")) == ["new"] })
        #expect(rig.wait { (try? rig.devices(of: "ben")) == [] })
        #expect(rig.wait { (try? owner(rig, Tokens.apns(1), .ios)) == .some(nil) })
        #expect(try owner(rig, Tokens.apns(2), .ios) == "anna")
        #expect(rig.simulator.record.requests(token: Tokens.apns(1)).isEmpty)
        #expect(rig.simulator.record.requests(token: Tokens.apns(3)).isEmpty)
    }

    @Test func theOwnerGoesWithARemovedToken() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let token = Tokens.fcm(5) + "~UNREGISTERED"
        try rig.register("anna", device: "tablet", .android, token: token, at: Clock.wallMs - 120_000)
        #expect(try owner(rig, token, .android) == "anna")
        try rig.publish(job("j", to: "anna"), key: "shop/anna")
        #expect(rig.wait { (try? rig.devices(of: "anna")) == [] })
        #expect(rig.wait { (try? owner(rig, token, .android)) == .some(nil) })
        // Everybody with a device: nobody any more.
        let session = try rig.openSession()
        defer { session.close() }
        let shard = SubscriberIndex.shard(of: "anna")
        let everybody = try SubscriberIndex(session: session, app: "shop").members(
            "*", shards: shard..<shard + 1)
        #expect(everybody.first?.recipients.isEmpty == true)
    }

    @Test func jobsAreCountedByThreadOnce() throws {
        let rig = try Rig(
            apps: Rig.shop("unread: {by_thread: true}"),
            retryYAML: "retry: {delays: {server: 1s, apns_server: 1s}}")
        defer { rig.stop() }
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~UNAVAILABLE*1")
        for (number, thread) in ["a", "a", "b"].enumerated() {
            try rig.publish(
                job("j\(number)", to: "anna", #","unread":1,"thread":"\#(thread)""#), key: "shop/anna")
        }
        try rig.publish(job("plain", to: "anna", #","unread":1"#), key: "shop/anna")
        #expect(rig.wait { rig.accepted == 4 })
        let session = try rig.openSession()
        defer { session.close() }
        let directory = DeviceDirectory(session: session, app: "shop")
        #expect(try directory.unreadByThread(of: "anna") == ["a": 2, "b": 1])
        let answer = try directory.read(.setThread("a", 0), of: "anna", device: "tablet", claimMs: 10)
        #expect(answer.unread == 2)
    }
}
