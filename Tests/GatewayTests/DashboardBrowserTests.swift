import Core
import EventLoop
import Redis
import Registry
import SimulatorKit
import TestSupport
import Testing

@testable import GatewayKit

/// The dashboard in a real browser against the whole pipeline as processes.
@Suite(.serialized, WithGatewayStack()) struct DashboardBrowserTests {
    private let stack: GatewayStack
    private let session: RedisSession

    init() throws {
        stack = try #require(GatewayStack.current)
        session = try stack.redis.session()
    }

    private func total(_ field: String, app: String = "*") throws -> Int64 {
        try session.command("HGET", RegistryKeys.totals(app: app), field).integer ?? 0
    }

    /// Sends `count` jobs to a recipient with a phone and one to a recipient without, and waits until Redis
    /// has counted them.
    private func send(_ count: Int, app: String = "shop") throws {
        let token = String(repeating: "7", count: 64)
        #expect(
            try stack.call(
                "PUT", "/v1/apps/\(app)/recipients/ana/devices/phone",
                #"{"token":"\#(token)","platform":"ios"}"#
            ).status == 200)
        let before = try (total("accepted"), total("no_device"))
        for recipient in [String](repeating: "ana", count: count) + ["nobody"] {
            let job =
                #"{"app":"\#(app)","to":{"recipient":"\#(recipient)"},"title":"T","unread":1,"#
                + #""campaign":"spring"}"#
            #expect(try stack.call("POST", "/v1/jobs", job).status == 202)
        }
        let isCounted = stack.wait {
            (try? total("accepted")) == before.0 + Int64(count) && (try? total("no_device")) == before.1 + 1
        }
        try #require(isCounted, "the counters don't come to what was sent")
    }

    @Test func thePageShowsWhatRedisHasAndFollowsIt() throws {
        try send(7)
        let view = try DashboardView(stack.url)
        #expect(try view.page.wait(for: "document.getElementById('key-dialog').open"))
        // Nothing is shown before a key is.
        #expect(try view.number("[data-tile=accepted] .value") == nil)
        // The refused question is in the console, which is the browser's doing; nothing else is.
        #expect(view.page.takeErrors().allSatisfy { $0.contains("401") })
        try view.show(key: GatewayStack.viewerKey)
        #expect(try view.isLive)
        #expect(try view.shows("[data-tile=accepted] .value", try total("accepted")))
        #expect(try view.shows("[data-tile=failed] .value", try total("failed")))
        #expect(try view.number("#traffic-legend b") == total("accepted"))
        #expect(try view.cell("lanes", "normal", "Deliveries") == total("lane:normal"))
        #expect(try view.cell("apps", "shop", "Accepted in all") == total("accepted", app: "shop"))
        #expect(try view.number("#unread dd") == total("unread_added"))
        #expect(try view.page.text("#reasons").contains("no device"))
        let campaign = try ["accepted", "no_device"].reduce(Int64(0)) {
            try $0 + (session.command("HGET", "peal:campaign:{shop}:spring", $1).integer ?? 0)
        }
        #expect(campaign >= 8)
        #expect(try view.cell("campaigns", "spring", "Deliveries") == campaign)
        for role in ["worker", "retry", "gateway", "expand"] {
            #expect(try view.page.wait(for: "document.getElementById('pods').innerText.includes('\(role)')"))
        }
        #expect(try view.page.wait(for: "document.getElementById('verdict').dataset.level === 'ok'"))
        #expect(try view.page.text("#verdict-line") == "All is well")
        // What happens shows by itself.
        try send(3)
        #expect(try view.shows("[data-tile=accepted] .value", try total("accepted")))
        #expect(view.page.takeErrors() == [])
    }

    @Test func appAndRangeAreChosenByKeyboard() throws {
        try send(1)
        let view = try DashboardView(stack.url)
        try view.show(key: GatewayStack.viewerKey)
        #expect(try view.isLive)
        #expect(try view.page.text("#traffic-sub").contains("60 minutes"))
        try view.press("ArrowRight", on: "#range input:checked")
        #expect(
            try view.page.wait(for: "document.getElementById('traffic-sub').innerText.includes('6 hours')"))
        #expect(try view.page.evaluate("location.hash").string?.contains("minutes=360") == true)
        for (key, text) in [
            ("ArrowRight", "24 hours"), ("ArrowRight", "48 hours"), ("ArrowRight", "15 minutes"),
        ] {
            try view.press(key, on: "#range input:checked")
            #expect(
                try view.page.wait(
                    for: "document.getElementById('traffic-sub').innerText.includes('\(text)')"))
        }
        #expect(try view.page.wait(for: "document.getElementById('app').options.length >= 6"))
        try view.page.evaluate("document.getElementById('app').focus()")
        // By the first letters, as in every list.
        try view.page.call("Input.dispatchKeyEvent", #"{"type":"keyDown","text":"s","key":"s"}"#)
        try view.page.call("Input.dispatchKeyEvent", #"{"type":"keyDown","text":"h","key":"h"}"#)
        #expect(try view.page.wait(for: "document.getElementById('app').value === 'shop'"))
        #expect(try view.page.wait(for: "document.getElementById('traffic-sub').innerText.includes('shop')"))
        #expect(try view.shows("[data-tile=accepted] .value", try total("accepted", app: "shop")))
        // The chart's values are read by arrow keys.
        try view.press("End", on: "#traffic svg")
        #expect(try view.page.text("#traffic .tip").contains("accepted"))
        #expect(view.page.takeErrors().allSatisfy { $0.contains("401") })
    }

    @Test func onlyAnAdminKeyThrowsSwitches() throws {
        try send(1)
        let view = try DashboardView(stack.url)
        try view.show(key: GatewayStack.viewerKey)
        #expect(try view.isLive)
        #expect(try view.page.text("#orders-note").contains("scope admin"))
        #expect(try view.page.evaluate("document.querySelectorAll('#apps button').length").integer == 0)
        try view.show(key: GatewayStack.key)
        let pause = "#apps button[aria-label='pause the app shop']"
        #expect(try view.page.wait(for: "!!document.querySelector(\"\(pause)\")"))
        // Asked first, and taken back by Escape.
        try view.press("Enter", on: pause)
        #expect(try view.page.wait(for: "document.getElementById('switch-dialog').open"))
        #expect(try view.page.text("#switch-title") == "Pause the app shop?")
        try view.page.press("Escape")
        #expect(try view.page.wait(for: "!document.getElementById('switch-dialog').open"))
        #expect(try session.command("HGET", "peal:control", "app:shop") == .null)
        #expect(try view.page.evaluate("document.activeElement.matches(\"\(pause)\")").bool == true)
        try view.page.press("Enter")
        #expect(try view.page.wait(for: "document.activeElement.id === 'switch-reason'"))
        try view.page.type("wrong price")
        try view.page.press("Enter")
        #expect(
            try view.page.wait(for: "document.getElementById('orders').innerText.includes('wrong price')"))
        let order = try session.command("HGET", "peal:control", "app:shop").text ?? ""
        let entry = try JSONValue.parse(text: order)
        #expect(entry["action"]?.string == "pause" && entry["by"]?.string == "walk")
        #expect(try view.page.text("#apps").contains("paused"))
        let resume = "#orders button[aria-label='resume the app shop']"
        try view.press("Enter", on: resume)
        #expect(try view.page.wait(for: "document.getElementById('switch-dialog').open"))
        try view.press("Enter", on: "#switch-go")
        #expect(try view.page.wait(for: "document.querySelectorAll('#orders li').length === 0"))
        #expect(try session.command("HGET", "peal:control", "app:shop") == .null)
        #expect(view.page.takeErrors().allSatisfy { $0.contains("401") })
    }

    @Test(arguments: [(1280, false), (1280, true), (360, false), (360, true)])
    func thePageIsAccessible(width: Int, isDark: Bool) throws {
        try send(1)
        let view = try DashboardView(stack.url, width: width, isDark: isDark)
        #expect(try view.contrastFaults() == [])
        try view.show(key: GatewayStack.key)
        #expect(try view.isLive)
        #expect(try view.page.wait(for: "!!document.querySelector('#apps button')"))
        let sideways = try view.page.evaluate("document.documentElement.scrollWidth - innerWidth").integer
        #expect(sideways == 0)
        let background = try view.page.evaluate("getComputedStyle(document.body).backgroundColor").string
        #expect(background == (isDark ? "rgb(14, 17, 22)" : "rgb(245, 246, 248)"))
        #expect(try view.contrastFaults() == [])
        let named: Set = [
            "button", "combobox", "radio", "textbox", "image", "img", "table", "region", "dialog", "group",
            "link", "heading", "radiogroup",
        ]
        let nodes = try view.accessibleNodes()
        let nameless = nodes.filter {
            named.contains($0.role) && $0.name.isEmpty && $0.role != "table" && $0.role != "group"
        }
        #expect(nameless.map(\.role) == [])
        #expect(nodes.contains { $0.role == "main" } && nodes.contains { $0.role == "banner" })
        let headings =
            try view.page.evaluate(
                "[...document.querySelectorAll('h1, h2, h3')].filter((one) => one.checkVisibility())"
                    + ".map((one) => one.tagName).join(' ')"
            ).string ?? ""
        #expect(headings.hasPrefix("H1 H2 H3"))
        #expect(headings.split(separator: " ").count { $0 == "H1" } == 1)
        // The switch of the theme wins over the system, and stays in reach of the keyboard.
        try view.press("Enter", on: "#theme")
        try view.press("Enter", on: "#theme")
        #expect(try view.page.evaluate("document.documentElement.dataset.theme").string == "dark")
        #expect(try view.contrastFaults() == [])
    }

    @Test func theKeyboardReachesEverythingInOrder() throws {
        let view = try DashboardView(stack.url)
        try view.show(key: GatewayStack.key)
        #expect(try view.isLive)
        #expect(try view.page.wait(for: "!!document.querySelector('#apps button')"))
        try view.page.evaluate("document.querySelector('.skip').focus()")
        var order: [String] = []
        for _ in 0..<5 {
            let name = try view.page.evaluate(
                "document.activeElement.id || document.activeElement.className "
                    + "|| document.activeElement.name"
            ).string
            order.append(name ?? "")
            try view.page.press("Tab")
        }
        let wanted = ["skip", "app", "range", "theme", "key-button"]
        #expect(order == wanted)
    }
}
