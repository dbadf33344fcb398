import BroadcastKit
import Core
import Decisions
import EventLoop
import Logging
import Redis
import Registry
import SimulatorKit
import TestSupport
import Testing
import WorkerKit

/// Who is sent a broadcast, and who isn't: the stage, a worker and the providers' doubles.
@Suite(.serialized) struct AudienceTests {
    private func publish(_ rig: DeliveryRig, _ id: String, to: String, _ more: String = "") throws {
        try rig.fixture.publish(
            rig.fixture.names.jobs(lane: "normal"),
            "{\"app\":\"shop\",\"to\":{\(to)},\"id\":\"\(id)\",\"title\":\"Hi\",\"unread\":1\(more)}")
    }

    private func ended(_ rig: DeliveryRig) -> Int {
        Int(rig.worker?.outcomes.values.reduce(0, +) ?? 0)
    }

    private static let all = #""all":true"#
    private static let news = #""topic":"news""#

    /// The tokens of a recipient's devices: one, two or four.
    private func tokens(_ number: Int) -> [String] {
        let phone = DeliveryRig.token(number)
        switch number % 3 {
        case 0: return [phone]
        case 1: return [phone, "fcm-\(number)"]
        default: return [phone, DeliveryRig.token(1_000 + number), "fcm-\(number)", "fcm-old-\(number)"]
        }
    }

    private func register(_ rig: DeliveryRig, _ number: Int) throws {
        for (place, token) in tokens(number).enumerated() {
            let isAndroid = token.hasPrefix("fcm")
            try rig.register(
                "user-\(number)", "device-\(place)", isAndroid ? .android : .ios, token: token,
                sandbox: !isAndroid && place > 0)
        }
    }

    @Test func everyDeviceOfEveryoneGetsItOnceAndOfATopicThoseOfItsFollowers() throws {
        let rig = try DeliveryRig()
        defer { rig.stop() }
        let count = 210
        for number in 0..<count { try register(rig, number) }
        // Others: of another app, also of the same name, and one who has left.
        try rig.register("user-0", token: DeliveryRig.token(5_000), app: "bank")
        try rig.register("elsewhere", token: DeliveryRig.token(5_001), app: "bank")
        try rig.register("gone", token: DeliveryRig.token(5_002))
        #expect(try rig.directory().remove(recipient: "gone", device: "phone"))
        try rig.startWorker()
        try rig.fixture.start()
        try publish(rig, "to-all", to: Self.all)
        #expect(try rig.fixture.wait(for: .done, of: "to-all"))
        let status = try #require(try rig.fixture.status("to-all"))
        #expect(status.audience == "all" && status.recipients == Int64(count))
        let everyone = (0..<count).flatMap { tokens($0) }
        #expect(rig.fixture.wait { rig.outcome("accepted") == everyone.count })
        let isOnceEach = rig.pushes == Dictionary(uniqueKeysWithValues: everyone.map { ($0, 1) })
        #expect(isOnceEach)

        // The last follower has no device.
        try rig.fixture.follow("news", from: 150, count: 61)
        try publish(rig, "to-topic", to: Self.news)
        #expect(try rig.fixture.wait(for: .done, of: "to-topic"))
        #expect(try rig.fixture.status("to-topic")?.recipients == 61)
        let followers = (150..<count).flatMap { tokens($0) }
        #expect(rig.fixture.wait { self.ended(rig) == everyone.count + followers.count + 1 })
        #expect(rig.outcome("accepted") == everyone.count + followers.count)
        #expect(rig.outcome("no_device") == 1)
        var expected = Dictionary(uniqueKeysWithValues: everyone.map { ($0, 1) })
        for token in followers { expected[token] = 2 }
        let isOnceMore = rig.pushes == expected
        #expect(isOnceMore)
        #expect(try rig.directory().unread(of: "user-0") == 1)
        #expect(try rig.directory().unread(of: "user-209") == 2)
    }

    @Test func whoWantsNoneOfItGetsNothing() throws {
        let rig = try DeliveryRig()
        defer { rig.stop() }
        try rig.register(count: 6)
        try rig.register("off", token: DeliveryRig.token(6), silenced: true)
        let directory = rig.directory()
        try directory.setPreferences(Preferences(mutedTopics: ["news"]), of: "user-0")
        try directory.setPreferences(Preferences(mutedKinds: ["offer"]), of: "user-1")
        try directory.setPreferences(Preferences(mutedUntilMs: Int64.max), of: "user-2")
        try directory.setPreferences(Preferences(mutedUntilMs: Clock.wallMs - 1_000), of: "user-3")
        try directory.setPreferences(
            Preferences(mutedKinds: ["news"], mutedTopics: ["offer"]), of: "user-4")
        try rig.fixture.follow("news", count: 6)
        _ = try rig.fixture.session.command(
            "HSET",
            RegistryKeys.subscribers(app: "shop", topic: "news", shard: SubscriberIndex.shard(of: "off")),
            "off", "")
        try rig.startWorker()
        try rig.fixture.start()
        // The topic is the broadcast's own: the job names none.
        try publish(rig, "offer", to: Self.news, #","kind":"offer""#)
        #expect(rig.fixture.wait { self.ended(rig) == 7 })
        var found = try rig.recipients(atLeast: 7)
        #expect(found["muted"] == ["user-0", "user-1", "user-2"])
        #expect(found["accepted"] == ["user-3", "user-4", "user-5"])
        #expect(found["no_device"] == ["off"])
        // To everyone it has neither the topic nor the kind.
        try publish(rig, "plain", to: Self.all)
        #expect(rig.fixture.wait { self.ended(rig) == 14 })
        found = try rig.recipients(atLeast: 14)
        #expect(found["muted"] == ["user-0", "user-1", "user-2", "user-2"])
        #expect(found["no_device"] == ["off", "off"])
        #expect(rig.outcome("accepted") == 8)
        #expect(rig.pushes[DeliveryRig.token(2)] == nil && rig.pushes[DeliveryRig.token(6)] == nil)
        // Muted ones are unread all the same.
        for number in 0..<6 { #expect(try directory.unread(of: "user-\(number)") == 2) }
        #expect(try rig.fixture.status("plain")?.recipients == 7)
    }

    @Test func capsCountBroadcastsAndAQuotaSpreadsThem() throws {
        let rig = try DeliveryRig(shop: ["caps: {news: 2/1h}", "quota: {apns: 100/s}"])
        defer { rig.stop() }
        let count = 200
        try rig.register(count: count)
        try rig.fixture.follow("news", count: count)
        try rig.startWorker()
        try rig.fixture.start()
        // One recipient has had one of the topic that day.
        try publish(rig, "own", to: #""recipient":"user-7""#, #","topic":"news""#)
        #expect(rig.fixture.wait { rig.outcome("accepted") == 1 })
        for id in ["first", "second", "third"] {
            try publish(rig, id, to: Self.news)
            #expect(try rig.fixture.wait(for: .done, of: id))
        }
        #expect(rig.fixture.wait { self.ended(rig) == 1 + 3 * count })
        #expect(rig.outcome("accepted") == 2 * count && rig.outcome("capped") == count + 1)
        #expect(rig.pushes.count == count && rig.pushes.values.allSatisfy { $0 == 2 })
        // What goes to everyone is of no topic, and another class is not used up.
        try publish(rig, "plain", to: Self.all)
        #expect(rig.fixture.wait { rig.outcome("accepted") == 3 * count })
        #expect(rig.pushes.values.allSatisfy { $0 == 3 })
        var arrivals: [Int64] = []
        rig.simulator.record.forEach { arrivals.append($0.arrivalMs) }
        // 100 a second, 25 saved up, 10 leased; 50 for a machine that stops for half a second.
        let most = mostInASecond(arrivals.sorted())
        #expect(most <= 100 + 25 + 10 + 50, "\(most) in one second")
    }

    private func mostInASecond(_ arrivals: [Int64]) -> Int {
        var (most, first) = (0, 0)
        for last in arrivals.indices {
            while arrivals[last] - arrivals[first] >= 1_000 { first += 1 }
            most = max(most, last - first + 1)
        }
        return most
    }

    @Test func whoSleepsGetsItInTheMorning() throws {
        let zones = try Files.makeTemporaryDirectory(prefix: "peal-broadcast-zones")
        defer { Files.removeTree(zones) }
        let rig = try DeliveryRig(more: "registry: {zone_folder: \(zones)}\n")
        defer { rig.stop() }
        try rig.register(count: 40)
        let directory = rig.directory()
        for number in 0..<20 {
            let zone = number < 10 ? "Early" : "Late"
            try directory.setPreferences(
                Preferences(quietHours: "06:00-07:00", timeZone: zone), of: "user-\(number)")
        }
        try rig.startWorker()
        try rig.fixture.start()
        // The whole way has been gone once before the night is short.
        try publish(rig, "warm", to: #""topic":"nobody""#)
        #expect(try rig.fixture.wait(for: .done, of: "warm"))
        try TimeZoneFile.write(zones, "Late", sevenAfterMs: 1_800_000)
        let seven = try TimeZoneFile.write(zones, "Early", sevenAfterMs: 8_000)
        try publish(rig, "night", to: Self.all, #","ttl":900"#)
        #expect(rig.fixture.wait { self.ended(rig) == 40 })
        #expect(rig.outcome("accepted") == 30 && rig.outcome("expired") == 10)
        for number in 0..<40 {
            let arrivals = rig.simulator.record.requests(token: DeliveryRig.token(number)).map(\.arrivalMs)
            switch number {
            case 0..<10: #expect(arrivals.count == 1 && arrivals.allSatisfy { $0 >= seven })
            case 10..<20: #expect(arrivals.isEmpty)
            default: #expect(arrivals.count == 1)
            }
        }
        // All of them have their job; that some wait is not the broadcast's affair.
        #expect(try rig.fixture.status("night")?.recipients == 40)
    }
}
