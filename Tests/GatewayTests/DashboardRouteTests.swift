import Configuration
import Core
import Decisions
import EventLoop
import Glibc
import HTTPClient
import Redis
import Registry
import TestSupport
import Testing

@testable import GatewayKit

/// The dashboard's routes over HTTP, on a real Redis.
@Suite struct DashboardRouteTests {
    private func seed(_ rig: Rig) throws -> RedisSession {
        let session = try rig.redis.session()
        let minute = try ControlStore(session: session).nowMs() / 60_000
        try session.command("ZADD", "peal:apps", "1", "shop", "1", "bank")
        for app in ["shop", "*"] {
            try session.command(
                "HSET", "peal:stat:{\(app)}:\(minute - 1)", "accepted", "41", "failed", "3", "reason:expired",
                "3",
                "latency:100", "41", "lane:bulk", "44")
            try session.command("HSET", "peal:total:{\(app)}", "accepted", "1000", "jobs", "5")
        }
        return session
    }

    @Test func theOverviewIsWhatRedisHas() throws {
        let rig = try Rig()
        defer { rig.stop() }
        _ = try seed(rig)
        let answer = try rig.send("GET", "/v1/overview?app=shop&minutes=15", key: "shop-read")
        #expect(answer.status == 200)
        let json = try #require(answer.json)
        #expect(json["app"]?.string == "shop")
        #expect(json["minutes"]?.integer == 15)
        #expect(json["series"]?["accepted"]?.array?.count == 15)
        #expect(json["series"]?["accepted"]?.array?.compactMap(\.integer).reduce(0, +) == 41)
        #expect(json["sum"]?["lane:bulk"]?.integer == 44)
        #expect(json["sum"]?["p99_ms"]?.text == "99.5")
        #expect(json["sum"]?["reasons"]?.array?.first?["reason"]?.string == "expired")
        #expect(json["totals"]?["accepted"]?.integer == 1_000)
        #expect(json["apps"]?.array?.count == 2)
        let twoDays = try rig.send("GET", "/v1/overview?minutes=2880", key: "viewer")
        #expect(twoDays.json?["step"]?.integer == 30)
        #expect([96, 97].contains(twoDays.json?["series"]?["accepted"]?.array?.count))
    }

    @Test(arguments: [
        (nil, "*", 401), (nil, "shop", 401), ("unknown", "*", 401), ("shop-send", "shop", 403),
        ("shop-read", "shop", 200), ("shop-read", "*", 403), ("shop-read", "bank", 403),
        ("shop-admin", "shop", 200), ("shop-admin", "*", 403), ("viewer", "*", 200), ("viewer", "bank", 200),
        ("all", "*", 200),
    ])
    func aKeyWithReadMayLookAtItsApps(key: String?, app: String, status: Int) throws {
        let rig = try Self.shared.get()
        #expect(try rig.send("GET", "/v1/overview?app=\(app)", key: key).status == status)
    }

    @Test(arguments: [
        "?minutes=0", "?minutes=2881", "?minutes=x", "?app=a%20b", "?app=", "?hours=1", "?app=shop&app=bank",
    ])
    func badQuestionsAreRefused(query: String) throws {
        let rig = try Self.shared.get()
        #expect(try rig.send("GET", "/v1/overview\(query)", key: "viewer").status == 400)
    }

    private static let shared = Rig.lasting { try Rig() }

    // MARK: The kill switch

    private func order(_ rig: Rig, _ body: String, key: String? = "all", site: String? = nil) throws
        -> HTTPClientResponse
    {
        try rig.post(
            body, key: key, path: "/v1/control",
            headers: site.map { [(name: "sec-fetch-site", value: $0)] } ?? [])
    }

    @Test func switchesAreThrownByAdminKeysAlone() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let session = try rig.redis.session()
        let pause = #"{"action":"pause","app":"shop","reason":"wrong price","for_seconds":60}"#
        for (key, status) in [(nil, 401), ("viewer", 403), ("shop-read", 403), ("shop-send", 403)] {
            #expect(try order(rig, pause, key: key).status == status)
        }
        #expect(try order(rig, pause, site: "cross-site").status == 403)
        #expect(try order(rig, pause, site: "same-site").status == 403)
        #expect(try session.command("EXISTS", "peal:control").integer == 0)
        // For its own app, and not for a provider of all apps.
        #expect(try order(rig, pause, key: "shop-admin", site: "same-origin").status == 200)
        #expect(try order(rig, #"{"action":"pause","app":"bank"}"#, key: "shop-admin").status == 403)
        #expect(try order(rig, #"{"action":"pause","provider":"fcm"}"#, key: "shop-admin").status == 403)
        #expect(
            try order(rig, #"{"action":"pause","provider":"fcm","app":"shop"}"#, key: "shop-admin").status
                == 200)
        let entries = try ControlStore(session: session).read().entries
        #expect(entries.map(\.subject.field) == ["app:shop", "provider:fcm:shop"])
        #expect(entries.first?.by == "shop-admin" && entries.first?.reason == "wrong price")
        let until = try #require(entries.first?.untilMs)
        #expect(abs(until - (entries.first?.atMs ?? 0) - 60_000) < 1_000)
        let resumed = try order(rig, #"{"action":"resume","app":"shop"}"#)
        #expect(resumed.json?["changed"]?.bool == true)
        let again = try order(rig, #"{"action":"resume","app":"shop"}"#)
        #expect(again.status == 200 && again.json?["changed"]?.bool == false)
        #expect(try order(rig, #"{"action":"cancel","app":"shop","campaign":"spring"}"#).status == 200)
        #expect(try session.command("HEXISTS", "peal:control", "campaign:shop:spring").integer == 1)
    }

    @Test(arguments: [
        #"{}"#, #"{"action":"pause"}"#, #"{"action":"stop","app":"shop"}"#,
        #"{"action":"cancel","app":"shop"}"#,
        #"{"action":"pause","campaign":"x"}"#, #"{"action":"pause","app":"a b"}"#,
        #"{"action":"pause","provider":"log"}"#, #"{"action":"pause","app":"shop","campaign":"x","job":"y"}"#,
        #"{"action":"resume","app":"shop","for_seconds":5}"#, #"{"action":"pause","app":"shop","why":"x"}"#,
        "[]",
    ])
    func badOrdersAreRefused(body: String) throws {
        let rig = try Self.shared.get()
        #expect(try order(rig, body).status == 400)
    }

    @Test func withoutKeysAnybodyMayLookAndNobodyMaySwitch() throws {
        let rig = try Rig(keys: nil, configure: { settings, _ in settings.gateway.isOpen = true })
        defer { rig.stop() }
        #expect(try rig.send("GET", "/v1/overview", key: nil).status == 200)
        #expect(try order(rig, #"{"action":"pause","app":"shop"}"#, key: nil).status == 403)
    }

    @Test func aGatewayWithoutDashboardHasNoneOfIt() throws {
        let rig = try Rig(configure: { settings, _ in settings.gateway.hasDashboard = false })
        defer { rig.stop() }
        for path in ["/dashboard", "/dashboard/app.js", "/v1/overview", "/v1/overview/stream"] {
            #expect(try rig.send("GET", path, key: "all").status == 404)
        }
        #expect(try order(rig, #"{"action":"pause","app":"shop"}"#).status == 404)
    }

    @Test func thePageBringsEverythingAndNothingInline() throws {
        let rig = try Self.shared.get()
        for asset in DashboardAssets.all {
            let answer = try rig.send("GET", asset.path, key: nil)
            #expect(answer.status == 200)
            let policy = answer.header("content-security-policy") ?? ""
            #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
            #expect(answer.header("x-content-type-options") == "nosniff")
            #expect(
                !answer.text.contains("http://") || asset.path.hasSuffix("icon.svg")
                    || asset.path.hasSuffix("js"))
            #expect(!answer.text.contains("https://"))
        }
        let html = try rig.send("GET", "/dashboard", key: nil).text
        #expect(!html.contains("<style") && !html.contains(" style=") && !html.contains(" onclick"))
        #expect(html.components(separated: "<script").count == 2)
        #expect(try rig.send("POST", "/dashboard", key: nil).status == 405)
    }

    // MARK: The stream

    @Test func whoWatchesIsToldAgainAndAgain() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let session = try seed(rig)
        let watcher = try Watcher(rig, "app=shop&minutes=15", key: "shop-read")
        #expect(watcher.wait { $0.contains("event: access\ndata: {\"control\":false}") })
        #expect(watcher.wait { $0.contains("\"accepted\":1000") })
        try session.command("HSET", "peal:total:{shop}", "accepted", "2000")
        #expect(watcher.wait { $0.contains("\"accepted\":2000") })
        let admin = try Watcher(rig, "app=shop", key: "shop-admin")
        #expect(admin.wait { $0.contains("event: access\ndata: {\"control\":true}") })
        rig.redis.stop()
        #expect(watcher.wait { $0.contains("event: failure\ndata: {\"sentence\":\"Redis ") })
        let answer = try rig.send("GET", "/v1/overview", key: "viewer")
        #expect(answer.status == 503)
        #expect(answer.header("retry-after") == "2")
    }

    @Test func thereIsRoomForSoManyViewersAndNoMore() throws {
        let rig = try Rig()
        defer { rig.stop() }
        var watchers: [Watcher] = []
        for _ in 0..<OverviewHub.viewersMax { watchers.append(try Watcher(rig, "app=*", key: "viewer")) }
        for watcher in watchers { #expect(watcher.wait { $0.contains("event: overview") }) }
        let refused = try rig.send("GET", "/v1/overview/stream", key: "viewer")
        #expect(refused.status == 503)
        #expect(refused.problem == "too_many_viewers")
        // A viewer that goes away makes room.
        watchers.removeLast()
        #expect(
            rig.wait {
                guard let one = try? Watcher(rig, "app=*", key: "viewer") else { return false }
                return one.wait { $0.hasPrefix("HTTP/1.1 ") } && one.text.hasPrefix("HTTP/1.1 200")
            })
    }
}

/// A client of the stream that keeps all it has read.
private final class Watcher {
    private let descriptor: Int32
    private(set) var text = ""

    init(_ rig: Rig, _ query: String, key: String) throws {
        descriptor = try Socket.connect(host: "127.0.0.1", port: rig.service.port)
        let request = Array(
            ("GET /v1/overview/stream?\(query) HTTP/1.1\r\nhost: h\r\n"
                + "authorization: Bearer \(key)-secret\r\n\r\n").utf8)
        var sent = 0
        while sent < request.count {
            let wrote = request[sent...].withUnsafeBytes { Socket.send(descriptor, $0) }
            if wrote > 0 { sent += wrote }
        }
    }

    deinit { Socket.close(descriptor) }

    func wait(_ condition: (String) -> Bool) -> Bool {
        let end = Clock.monotonicMs + 60_000
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while Clock.monotonicMs < end {
            let got = buffer.withUnsafeMutableBytes { Socket.recv(descriptor, into: $0) }
            if got > 0 { text += String(decoding: buffer[..<got], as: UTF8.self) }
            if condition(text) { return true }
            if got == 0 { return false }
            if got < 0 { usleep(5_000) }
        }
        return false
    }
}

extension String {
    fileprivate func components(separated by: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: by) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}

/// What the page says when it has no figures, in a real browser.
@Suite(.serialized) struct DashboardOutageTests {
    @Test func anEmptyPipelineARedisThatIsAwayAndAGatewayThatIsGone() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let view = try DashboardView("http://127.0.0.1:\(rig.service.port)")
        try view.show(key: "viewer-secret")
        #expect(try view.isLive)
        #expect(try view.page.text("#traffic .empty") == "No deliveries in this time")
        #expect(try view.page.text("#verdict-line") == "One thing needs attention")
        #expect(try view.page.text("#problems").contains("No worker is running"))
        #expect(try view.page.text("#apps").contains("No worker has reported an app yet."))
        rig.redis.stop()
        #expect(try view.page.wait(for: "document.body.dataset.state === 'away'"))
        #expect(try view.page.text("#banner").hasPrefix("Redis "))
        #expect(try view.page.text("#banner").contains("The figures below are those of "))
        #expect(try view.page.evaluate("document.getElementById('verdict').dataset.level").string == "bad")
        #expect(try view.contrastFaults() == [])
        rig.stop()
        #expect(try view.page.wait(for: "document.body.dataset.state === 'stale'"))
        #expect(try view.page.text("#banner").hasPrefix("No news for "))
        #expect(view.page.takeErrors().allSatisfy { $0.contains("401") || $0.contains("net::ERR") })
    }
}
