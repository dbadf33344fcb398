import Core
import Decisions
import Terminal
import Testing

@testable import Overview
@testable import PealKit

private let now: Int64 = 1_800_000_000_000

/// A busy pipeline with everything that can be shown.
private func busy(apps: Int = 3, pods: Int = 2) -> Overview {
    var overview = Overview(nowMs: now)
    for place in 0..<pods {
        var facts = Overview.Pod.Worker()
        facts.lanes = ["urgent", "normal", "bulk"]
        facts.lagByLane = ["urgent": 0, "normal": 1234, "bulk": 98_765]
        facts.oldestMs = ["normal": 800, "bulk": 40_000]
        facts.rate = 1500
        facts.inFlight = 64
        facts.p99Ms = 85
        var pod = Overview.Pod(
            name: "worker-\(place):17", role: "worker", beatMs: now - 200, detail: .worker(facts))
        pod.startedMs = now - 3_700_000
        pod.rssBytes = 60_000_000
        overview.pods.append(pod)
    }
    var retry = Overview.Pod.Retry()
    retry.depth = ["10s": 5, "1s": 12, "1h": 1000]
    overview.pods.append(Overview.Pod(name: "retry-0:9", role: "retry", beatMs: now, detail: .retry(retry)))
    overview.minutes = (0..<60).map { place in
        var counts = Overview.Counts()
        counts[.accepted] = Int64(place) * 1000
        counts.take(field: "latency:25", 100)
        counts.take(field: "reason:fcm_unregistered", 17)
        return Overview.Minute(minute: now / 60_000 - 59 + Int64(place), counts: counts)
    }
    overview.apps = (0..<apps).map { place in
        var recent = Overview.Counts()
        recent[.accepted] = Int64(1000 - place)
        recent[.failed] = 9
        return Overview.App(name: "app-\(place)", seenMs: now, recent: recent)
    }
    return overview
}

private func model(_ overview: Overview = busy()) -> TopModel {
    var model = TopModel(address: "redis://cache:6379", intervalMs: 1000)
    model.take(overview)
    return model
}

private func lines(_ model: TopModel, _ width: Int, _ height: Int?, colour: Bool = false) -> [String] {
    TopScreen(model, width: width, height: height, style: TextStyle(isEnabled: colour)).lines
}

@Suite struct TopScreenTests {
    @Test(arguments: [(80, 24), (40, 10), (20, 4), (100, 30), (160, 50), (250, 80), (80, 12)])
    func everySizeIsKept(size: (width: Int, height: Int)) {
        var troubled = busy(apps: 40, pods: 30)
        troubled.pods[0].beatMs = now - 60_000
        troubled.pods[1].ready = String(repeating: "Kafka! ", count: 50)
        for overview in [busy(), troubled, Overview(nowMs: now)] {
            for colour in [false, true] {
                let shown = lines(model(overview), size.width, size.height, colour: colour)
                #expect(shown.count == size.height)
                for line in shown {
                    #expect(DisplayWidth.of(line) <= size.width, "\(line)")
                    #expect(!line.contains("\n"))
                }
            }
        }
    }

    @Test func eightyByTwentyFourShowsAllThatMatters() {
        let text = lines(model(), 80, 24).joined(separator: "\n")
        for word in [
            "peal top  redis://cache:6379", "● All is well.", "3.00 k/s", "accepted 100.0 %", "p50", "p99",
            "in flight 128", "LANES", "urgent", "2,468", "APPS", "app-0", "REASONS", "fcm_unregistered",
            "PODS", "worker-0:17", "RETRY  1s 12  10s 5  1h 1,000", "q quit",
        ] {
            #expect(text.contains(word), "\(word) is missing in\n\(text)")
        }
        #expect(text.contains("▇█"))
    }

    @Test func aWideScreenHasTwoColumns() {
        let shown = lines(model(), 180, 40)
        #expect(shown.contains { $0.contains("LANES") && $0.contains("PODS") && $0.contains("│") })
        // In a narrow one nothing stands side by side.
        #expect(!lines(model(), 120, 40).contains { $0.contains("│") })
    }

    @Test func problemsComeFirstWithTheirLevers() {
        var overview = busy()
        overview.pods[0].beatMs = now - 60_000
        overview.pods[0].name = "gone-\(String(repeating: "x", count: 60)):1"
        overview.minutes[59].counts.take(field: "reason:breaker_open", 4)
        let shown = lines(model(overview), 80, 24)
        #expect(shown[1] == "✖ 1 critical  ▲ 1 warning")
        let first = shown.firstIndex { $0.hasPrefix("✖ Peal has stopped removing tokens") }
        let second = shown.firstIndex { $0.hasPrefix("▲ Worker gone-") }
        #expect(first != nil && second != nil && first ?? 99 < second ?? 0)
        #expect(shown.contains { $0.contains("➜ peal check") })
        // Where there is no room for all, the number of the others is told.
        overview.apps = (0..<20).map { place in
            var recent = Overview.Counts()
            recent[.retried] = 100
            return Overview.App(name: "app-\(place)", recent: recent)
        }
        let many = lines(model(overview), 80, 24)
        #expect(many.contains { $0.contains("more (peal top --once)") })
        #expect(lines(model(overview), 80, nil).filter { $0.contains("Nothing of app-") }.count == 20)
    }

    @Test func oddNamesNeitherMoveTheColumnsNorReachTheTerminal() {
        var overview = busy()
        let names = [
            "日本語アプリ", "\u{1B}[31mred\u{7}", "e\u{301}👩‍👩‍👧", "\u{202E}evil", String(repeating: "w", count: 300),
            "",
        ]
        overview.apps = names.map { name in
            var recent = Overview.Counts()
            recent[.accepted] = 7
            return Overview.App(name: name, recent: recent)
        }
        overview.pods[0].name = "\u{9B}2J日本:1"
        overview.pods[0].ready = "\u{1B}]0;title\u{7}"
        for (width, height) in [(80, 24), (160, 40)] {
            let shown = lines(model(overview), width, height)
            #expect(shown.allSatisfy { DisplayWidth.of($0) <= width })
            for line in shown {
                for scalar in line.unicodeScalars {
                    #expect(scalar.value >= 0x20 && scalar.value != 0x9B && scalar.value != 0x202E)
                }
            }
        }
        let shown = lines(model(overview), 80, 40)
        let wide = shown.first { $0.contains("日本語アプリ") } ?? ""
        let other = shown.first { $0.hasPrefix("\u{FFFD}[31m") } ?? ""
        #expect(DisplayWidth.of(wide) == DisplayWidth.of(other) && !wide.isEmpty)
    }

    @Test func withoutAnAnswerItSaysSoAndKeepsTheOldPicture() {
        var model = TopModel(address: "redis://x", intervalMs: 1000)
        #expect(lines(model, 80, 24).contains { $0.contains("Redis is asked") })
        model.take(failure: "connection refused")
        #expect(lines(model, 80, 24).contains { $0.contains("Redis can't be read: connection refused.") })
        var old = self.modelWithPicture
        old.take(failure: "timed out")
        let shown = lines(old, 80, 24)
        #expect(shown[1] == "✖ Redis doesn't answer; what is below is old.")
        #expect(shown.contains { $0.contains("app-0") })
        old.take(busy())
        #expect(lines(old, 80, 24)[1].hasPrefix("● All is well."))
    }

    private var modelWithPicture: TopModel { model() }

    @Test func ratesComeFromWhatCountersGrowBy() {
        var model = TopModel(address: "redis://x", intervalMs: 1000)
        var overview = busy(apps: 1)
        for step in 0...12 {
            overview.nowMs = now + Int64(step) * 1000
            overview.totals[.urgent] = Int64(step) * 500
            overview.apps[0].totals[.accepted] = Int64(step) * 250
            overview.pods[0].cpuMs = Int64(step) * 900
            model.take(overview)
        }
        #expect(model.laneRates["urgent"] == 500 && model.appRates["app-0"] == 250)
        #expect(model.podCPU["worker-0:17"] == 900)
        // A counter that begins anew has no rate for a while rather than a wrong one.
        overview.nowMs += 1000
        overview.totals[.urgent] = 3
        model.take(overview)
        #expect(model.laneRates["urgent"] == nil)
    }

    @Test func keysChooseScrollSortHoldAndLeave() {
        var model = model(busy(apps: 40))
        #expect(model.focus == .apps)
        for _ in 0..<5 { _ = model.handle(.down) }
        #expect(lines(model, 80, 24).contains { $0.contains("of 40)") && $0.contains("(6-") })
        _ = model.handle(.end)
        #expect(lines(model, 80, 24).contains { $0.contains("-40 of 40)") })
        _ = model.handle(.home)
        #expect(lines(model, 80, 24).contains { $0.contains("(1-") })
        _ = model.handle(.tab)
        #expect(model.focus == .reasons)
        _ = model.handle(.backTab)
        _ = model.handle(.left)
        #expect(model.focus == .lanes)
        _ = model.handle(.backTab)
        #expect(model.focus == .pods)
        _ = model.handle(.character("s"))
        #expect(lines(model, 80, 24).last?.contains("s sort: rate") == true)
        _ = model.handle(.character(" "))
        #expect(model.isHeld && lines(model, 80, 24)[0].contains("held"))
        _ = model.handle(.character("?"))
        #expect(lines(model, 80, 24)[0] == "peal top" && model.showsHelp)
        #expect(model.handle(.character("x")) == .none && !model.showsHelp)
        #expect(model.handle(.character("r")) == .refresh)
        #expect(model.handle(.character("q")) == .quit && model.handle(.interrupt) == .quit)
    }

    @Test func aPrintHasEverything() {
        var overview = busy(apps: 30, pods: 20)
        overview.notes = ["Only 100 apps are shown."]
        let text = lines(model(overview), 100, nil).joined(separator: "\n")
        for place in 0..<30 { #expect(text.contains("app-\(place) ")) }
        for place in 0..<20 { #expect(text.contains("worker-\(place):17")) }
        #expect(text.contains("Only 100 apps are shown.") && !text.contains("q quit"))
    }

    @Test func programsGetTheSame() throws {
        var overview = busy()
        overview.pods[0].beatMs = now - 60_000
        let object = TopJSON.object(overview, Diagnosis.findings(in: overview)).value
        #expect(object["good"]?.bool == false)
        #expect(object["findings"]?.array?.first?["cause"]?.string == "worker_gone")
        #expect(object["lanes"]?["bulk"]?["lag"]?.integer == 98_765)
        #expect(object["apps"]?.array?.first?["app"]?.string == "app-0")
        #expect(object["pods"]?.array?.count == 3)
        #expect(object["retry"]?["1h"]?.integer == 1000)
        #expect(object["recent"]?["reasons"]?["fcm_unregistered"]?.integer == 85)
    }
}

@Suite struct TopPartsTests {
    @Test func linesAreSharedOutByNeed() {
        // Everybody gets what they want when there is room.
        #expect(TopLayout.share(wanted: [4, 10, 3], least: [4, 3, 3], room: 20, first: 1) == [4, 10, 3])
        // The focused one before all, but the others keep their least.
        #expect(TopLayout.share(wanted: [4, 50, 8], least: [4, 6, 3], room: 20, first: 1) == [4, 13, 3])
        #expect(TopLayout.share(wanted: [4, 50, 8], least: [4, 6, 3], room: 8, first: 1) == [2, 6, 0])
        #expect(TopLayout.share(wanted: [4, 5], least: [4, 3], room: 0, first: nil) == [0, 0])
        #expect(TopLayout.share(wanted: [4, 5], least: [4, 3], room: -5, first: 9) == [0, 0])
    }

    @Test func barsShowTheLastValues() {
        #expect(Sparkline.render([0, 1, 2, 4, 8], width: 5) == " ▂▃▅█")
        #expect(Sparkline.render([9, 9, 0, 8], width: 2) == " █")
        #expect(Sparkline.render([0, 0], width: 5) == "  ")
        #expect(Sparkline.render([], width: 5) == "")
        #expect(Sparkline.render([.nan, -1, .infinity, 1], width: 4) == "   █")
    }
}
