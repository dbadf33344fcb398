import Core
import Redis
import TestSupport
import Testing

@testable import Registry

/// A server in cluster mode refuses a command whose keys lie on several slots.
@Suite struct SlotTests {
    @Test func everyScriptsKeysShareASlot() throws {
        let server = try RedisServer(settings: ["--cluster-enabled", "yes"])
        let session = try server.session(scripts: RegistryScripts.all)
        try session.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        let end = ContinuousClock.now + .seconds(10)
        while try session.command("CLUSTER", "INFO").text?.contains("cluster_state:ok") != true {
            try #require(ContinuousClock.now < end)
        }
        #expect(try Self.admit(session).count == 5)
        #expect(
            try DeviceDirectory(session: session, app: "shop").read(
                .add(1), of: "r", device: "phone", claimMs: 10
            ).unread == 2)
        for number in 0..<20 { #expect(try Self.claim(session, number) == 0) }
        // The server does refuse what lies on several slots.
        #expect(throws: RedisFailure.self) { try session.command("MGET", "a", "b", "c") }
    }

    private static func admit(_ session: RedisSession) throws(RedisFailure) -> [RedisValue] {
        var name = ByteBuffer(capacity: 16)
        name.append(text: "name")
        return try RecipientReference.with(app: "shop", recipient: "r") {
            (recipient) throws(RedisFailure) in
            let position = Shelf.position(1, at: 1)
            var admission = Admission(recipient)
            admission.position = position
            admission.unreadDelta = 1
            admission.dedup = DedupClaim(key: name.bytes, origin: position, milliseconds: 1000)
            admission.cap = FrequencyCap(
                name: name.bytes, count: 1, windowMs: 1000, origin: position, replaces: true)
            return try session.run { admission.encode(into: &$0) }
        }.array
    }

    private static func claim(_ session: RedisSession, _ number: Int) throws(RedisFailure) -> Int64? {
        var name = ByteBuffer(capacity: 16)
        name.append(text: "name")
        let claim = JobIDClaim(
            id: name.bytes, keyHash: UInt64(number), origin: Shelf.position(1, at: 1), publishedMs: 1,
            window: JobIDWindow(windowMs: 3_600_000, expected: 1_000_000))
        return try session.run { RegistryCommands.claim(claim, app: name.bytes, into: &$0) }.integer
    }
}
