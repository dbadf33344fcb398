import Terminal
import Testing

@Suite struct HumanTests {
    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000"),
        (Int.min, "-9,223,372,036,854,775,808"),
    ])
    func numbersAreGrouped(value: Int, text: String) { #expect(Human.grouped(value) == text) }

    @Test(arguments: [
        (0.0, "0"), (950, "950"), (999.4, "999"), (999.6, "1.00 k"), (12_345, "12.3 k"), (99_960, "100 k"),
        (1_234_567, "1.23 M"), (9_996_000, "10.0 M"), (1e18, "1000000 T"), (.infinity, "-"), (2.5, "2.5"),
    ])
    func numbersAreShortened(value: Double, text: String) { #expect(Human.short(value) == text) }

    @Test(arguments: [
        (0.0, "0 us"), (850, "850 us"), (12_340, "12.3 ms"), (4_500_000, "4.50 s"), (59_990_000, "60.0 s"),
        (59_999_000, "1 min 00 s"), (125_000_000, "2 min 05 s"), (11_220_000_000, "3 h 07 min"),
        (183_600_000_000, "2 d 03 h"), (-1, "-"), (.nan, "-"),
    ])
    func timesAreReadable(us: Double, text: String) { #expect(Human.duration(us: us) == text) }

    @Test func sizesAndSharesAreReadable() {
        #expect(Human.bytes(512) == "512 B")
        #expect(Human.bytes(1_572_864) == "1.50 MiB")
        #expect(Human.percent(1, of: 8) == "12.5 %")
        #expect(Human.percent(0, of: 0) == "-")
        #expect(Human.decimal(-0.004, places: 2) == "0.00")
        #expect(Human.decimal(1.05, places: 2) == "1.05")
    }

    @Test(arguments: [
        ("250ms", 250), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000), ("2d", 172_800_000),
        ("1.5s", 1500),
        ("7", 7000),
    ])
    func spansAreRead(text: String, ms: Int) { #expect(Human.parseDurationMs(text) == ms) }

    @Test(arguments: ["", "s", "-1s", "1x", "nan", "1e300d", "inf"])
    func whatIsNoSpanIsRefused(text: String) { #expect(Human.parseDurationMs(text) == nil) }
}

@Suite struct ScreenTests {
    @Test func aTableIsAligned() {
        var table = TextTable([.init("topic"), .init("lag", .right), .init("state")])
        table.add(["peal.jobs", "1,234", "ok"])
        table.add(["日本", "5"])
        #expect(
            table.render() == """
                topic        lag  state
                peal.jobs  1,234  ok
                日本           5

                """)
    }

    @Test func aTableWithoutTitlesHasNoHead() {
        var table = TextTable([.init(""), .init("", .right)])
        table.add(["a", "1"])
        #expect(table.render(indent: 2) == "  a  1\n")
    }

    @Test func coloursTakeNoRoom() {
        let style = TextStyle(isEnabled: true)
        #expect(style(.red, "ab") == "\u{1B}[31mab\u{1B}[0m")
        #expect(DisplayWidth.of(style(.red, "ab")) == 2)
        #expect(DisplayWidth.of("🎉é") == 3)
        #expect(TextStyle(isEnabled: false)(.red, "ab") == "ab")
    }

    @Test func coloursNeedATerminalAndPermission() {
        #expect(TextStyle.wantsColour(isTerminal: true, environment: [:]))
        #expect(!TextStyle.wantsColour(isTerminal: false, environment: [:]))
        #expect(!TextStyle.wantsColour(isTerminal: true, environment: ["NO_COLOR": "1"]))
        #expect(TextStyle.wantsColour(isTerminal: true, environment: ["NO_COLOR": ""]))
        #expect(!TextStyle.wantsColour(isTerminal: true, environment: ["TERM": "dumb"]))
    }

    @Test func progressShowsShareRateAndRemainder() {
        let line = ProgressLine(title: "send", done: 250, total: 1000, elapsedMs: 1000, perSecond: 250)
        let text = line.render(width: 60)
        #expect(text.hasPrefix("send ▕"))
        #expect(text.hasSuffix("▏ 25.0 % 250  250/s  3.00 s left"))
        #expect(text.filter { $0 == "█" }.count * 3 <= text.filter { $0 == "░" }.count)
        #expect(text.contains("█"))
        #expect(DisplayWidth.of(line.render(width: 60)) <= 60)
        #expect(line.remainingMs == 3000)
    }

    @Test(arguments: [0, 1, 10, 20, 40, 79, 200])
    func progressNeverExceedsItsWidth(width: Int) {
        for total in [nil, 0, 10, 1_000_000] as [Int?] {
            let line = ProgressLine(
                title: "sending", done: 7, total: total, elapsedMs: 10, perSecond: 1e7, note: "3 bad lines")
            #expect(DisplayWidth.of(line.render(width: width)) <= width)
        }
    }

    @Test func progressWithoutATotalHasNoBar() {
        let line = ProgressLine(title: "send", done: 12_345, total: nil, elapsedMs: 1000, perSecond: 0)
        #expect(line.render(width: 80) == "send 12,345  0/s")
        #expect(line.remainingMs == nil)
    }

    @Test func moreThanTheTotalIsAFullBar() {
        let line = ProgressLine(title: "", done: 20, total: 10, elapsedMs: 1000, perSecond: 1)
        #expect(line.render(width: 60).contains("100.0 %"))
        #expect(!line.render(width: 60).contains("░"))
    }
}
