import Decisions
import Redis
import Testing
import TestSupport

@testable import Registry

@Suite(.serialized) struct ControlStoreTests {
    /// A server of the test's own and what works on it.
    private final class Setting {
        let server: PrivateRedisServer
        let session: RedisSession
        let store: ControlStore

        init() throws {
            server = try PrivateRedisServer()
            try server.start()
            var options = RedisClientOptions.patient(server.endpoint)
            options.scripts = ControlStore.scripts
            session = try RedisSession(options: options)
            store = ControlStore(session: session)
        }

        deinit {
            session.close()
            server.stop()
        }
    }

    @Test func eachChangeRaisesTheVersionAndCanBeReadBack() throws {
        let setting = try Setting()
        let store = setting.store
        #expect(try store.read() == ControlState())
        let pause = ControlEntry(.app("shop"), .pause, by: "anna", atMs: 5, reason: "price")
        #expect(try store.set(pause) == 1)
        let cancel = ControlEntry(.campaign(app: "shop", name: "a:b"), .cancel, by: "bob", atMs: 6)
        #expect(try store.set(cancel) == 2)
        #expect(try store.read() == ControlState(version: 2, entries: [pause, cancel]))
        #expect(try store.remove(.app("shop")) == 3)
        #expect(try store.read() == ControlState(version: 3, entries: [cancel]))
    }

    @Test func whatIsNotThereCanNotBeTakenBackAndChangesNothing() throws {
        let setting = try Setting()
        let store = setting.store
        _ = try store.set(ControlEntry(.app("shop"), .pause))
        #expect(try store.remove(.app("bank")) == nil)
        #expect(try store.read().version == 1)
    }

    @Test func aChangeClearsAwayWhatHasEnded() throws {
        let setting = try Setting()
        let store = setting.store
        let session = setting.session
        let now = try store.nowMs()
        for number in 0..<20 {
            _ = try store.set(
                ControlEntry(.job(app: "shop", id: "j\(number)"), .cancel, untilMs: now + 100_000))
        }
        #expect(try store.read().entries.count == 20)
        for number in 0..<10 {
            let ended = ControlEntry(.job(app: "shop", id: "j\(number)"), .cancel, untilMs: now - 1)
            try session.command("HSET", "peal:control", ended.subject.field, ended.value)
        }
        #expect(try store.set(ControlEntry(.app("shop"), .pause)) == 21)
        let left = try store.read().entries
        #expect(left.count == 11)
        #expect(left.allSatisfy { $0.isInForce(nowMs: now) })
    }

    @Test func onlyLivingWorkersAreCounted() throws {
        let setting = try Setting()
        let store = setting.store
        let session = setting.session
        let now = try store.nowMs()
        let lines = [
            "w1": #"{"role":"worker","control":4,"beat_ms":\#(now)}"#,
            "w2": #"{"role":"worker","beat_ms":\#(now - 1000)}"#,
            "dead": #"{"role":"worker","control":4,"beat_ms":\#(now - 20_000)}"#,
            "other": #"{"role":"retry","beat_ms":\#(now)}"#, "odd": "nonsense",
        ]
        for (pod, line) in lines { try session.command("HSET", "peal:pods", pod, line) }
        #expect(try store.pods().map(\.name) == ["w1", "w2"])
        #expect(try store.pods().map(\.version) == [4, -1])
    }
}
