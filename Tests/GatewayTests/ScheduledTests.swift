import Core
import Decisions
import EventLoop
import GatewayKit
import HTTPClient
import Redis
import Registry
import TestSupport
import Testing

@Suite struct ScheduledTests {
    private func job(
        _ id: String, _ sendAt: String, app: String = "shop", to: String = #"{"recipient":"r/1"}"#
    )
        -> String
    {
        #"{"id":"\#(id)","app":"\#(app)","to":\#(to),"title":"x","kind":"k","send_at":"\#(sendAt)"}"#
    }

    private func later(_ seconds: Int64) -> String { Timestamp.rfc3339(ms: Clock.wallMs + seconds * 1000) }

    @Test func aScheduledJobIsListedAndCanBeCancelled() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let due = later(7200)
        let sent = try rig.post(
            "[\(job("b", due)),\(job("a/1", later(3600), to: #"{"topic":"news"}"#)),"
                + #"{"app":"shop","to":{"recipient":"r"},"title":"now"},"#
                + job("past", "2001-01-01T00:00:00Z")
                + "]")
        #expect(sent.status == 202)
        let flags = sent.json?["jobs"]?.array?.compactMap { $0["scheduled"]?.bool }
        #expect(flags == [true, true, false, false])
        #expect(try rig.records("normal", count: 2).count == 2)
        let list = try rig.send("GET", "/v1/apps/shop/scheduled")
        #expect(list.status == 200)
        #expect(list.json?["jobs"]?.array?.compactMap { $0["id"]?.string } == ["a/1", "b"])
        let second = try #require(list.json?["jobs"]?.array?.last)
        #expect(second["send_at"]?.string == due && second["lane"]?.string == "normal")
        #expect(second["to"]?["recipient"]?.string == "r/1" && second["kind"]?.string == "k")
        #expect(list.json?["jobs"]?.array?.first?["to"]?["topic"]?.string == "news")
        #expect(list.json?["next"] == .null)
        // Nobody else sees or cancels it.
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled", key: "bank-send").status == 403)
        #expect(try rig.send("DELETE", "/v1/apps/shop/scheduled/b", key: "bank-send").status == 403)
        #expect(try rig.send("GET", "/v1/apps/bank/scheduled", key: "bank-send").text.contains("[]"))
        let gone = try rig.send("DELETE", "/v1/apps/shop/scheduled/a%2F1")
        #expect(gone.status == 204 && gone.body.isEmpty)
        #expect(try rig.send("DELETE", "/v1/apps/shop/scheduled/a%2F1").status == 404)
        #expect(try rig.send("DELETE", "/v1/apps/shop/scheduled/past").status == 404)
        let control = try ControlStore(session: rig.redis.session(scripts: ControlStore.scripts)).read()
        #expect(control.entries.map(\.subject) == [.job(app: "shop", id: "a/1")])
        #expect(control.entries.first?.action == .cancel && control.entries.first?.by == "shop-send")
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled").json?["jobs"]?.array?.count == 1)
    }

    @Test func pagesFollowOneAnother() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let due = Clock.wallMs + 3_600_000
        // Many of one time, and one that goes while pages are read.
        let jobs = (0..<25).map { job("j\($0 + 10)", Timestamp.rfc3339(ms: due + Int64($0 / 10))) }
        #expect(try rig.post("[" + jobs.joined(separator: ",") + "]").status == 202)
        var seen: [String] = []
        var cursor: String?
        repeat {
            let page = try rig.send(
                "GET", "/v1/apps/shop/scheduled?limit=7" + (cursor.map { "&after=\($0)" } ?? ""))
            #expect(page.status == 200)
            seen += page.json?["jobs"]?.array?.compactMap { $0["id"]?.string } ?? []
            cursor = page.json?["next"]?.string
        } while cursor != nil && seen.count < 100
        #expect(seen == (10..<35).map { "j\($0)" })
        for query in ["limit=0", "limit=1001", "limit=x", "after=x", "after=-1.YQ", "after=1.%2B%2F!"] {
            let bad = try rig.send("GET", "/v1/apps/shop/scheduled?\(query)")
            #expect(bad.status == 400, "\(query)")
        }
    }

    @Test func theListIsBoundedAndForgetsWhatIsPast() throws {
        let server = try RedisServer()
        let session = try server.session(scripts: ScheduledStore.scripts)
        let store = ScheduledStore(session: session, app: "shop", entriesMax: 3)
        let now = Clock.wallMs
        func entry(_ id: String, _ offset: Int64) -> ScheduledStore.Entry {
            .init(id: id, dueMs: now + offset, about: "\"n\":1")
        }
        #expect(try store.add([entry("old", -5), entry("a", 100_000), entry("b", 200_000)]))
        // The old one makes room for one, not for two.
        #expect(try !store.add([entry("c", 1), entry("d", 1)]))
        #expect(try store.add([entry("c", 300_000)]))
        #expect(try store.page(after: nil, limit: 10).entries.map(\.id) == ["a", "b", "c"])
        #expect(try store.dueMs(of: "b") == now + 200_000)
        #expect(try store.dueMs(of: "old") == nil)
        try store.remove(["b", "none"])
        let page = try store.page(after: nil, limit: 1)
        #expect(page.entries == [entry("a", 100_000)])
        // The cursor's own entry may be gone by then.
        try store.remove(["a"])
        #expect(try store.page(after: page.next, limit: 5).entries.map(\.id) == ["c"])
        #expect(try session.command("HLEN", "peal:sched:{shop}:about").integer == 1)
    }
}
