import Testing

@testable import HTTP2

@Suite struct GoAwayReasonTests {
    private static func word(_ code: UInt32, _ debugData: String) -> String {
        GoAwayReason.word(HTTP2Code(rawValue: code), debugData: Array(debugData.utf8))
    }

    @Test func theReasonInTheFrameGoesBeforeTheCode() {
        #expect(Self.word(0, #"{"reason":"Shutdown"}"#) == "Shutdown")
        #expect(Self.word(0, #"{"reason":"Unregistered","timestamp":1}"#) == "Unregistered")
    }

    @Test(arguments: [
        "", "bye", "{}", #"{"reason":""}"#, #"{"reason":7}"#, "[1]", #"{"reason":"Shut"#, "\u{0}\u{1}",
        #"{"reason":"\#(String(repeating: "x", count: 65))"}"#,
    ])
    func withoutOneTheCodeTells(debugData: String) {
        #expect(Self.word(0, debugData) == "no_error")
        #expect(Self.word(11, debugData) == "enhance_your_calm")
        #expect(Self.word(13, debugData) == "http_1_1_required")
        #expect(Self.word(14, debugData) == GoAwayReason.other)
        #expect(Self.word(.max, debugData) == GoAwayReason.other)
    }

    @Test func everyCodeHasItsWord() {
        #expect(GoAwayReason.codes.count == 14 && Set(GoAwayReason.codes).count == 14)
        #expect(GoAwayReason.codes.allSatisfy { !$0.contains(" ") && !$0.contains("-") })
    }

    /// A server may send any text; a pool keeps few of them.
    @Test func onlySoManyReasonsAreToldApart() {
        var metrics = PoolMetrics()
        for number in 0..<100 { metrics.noteGoAway("Word\(number % 50)") }
        #expect(metrics.goAways == 100)
        #expect(metrics.goAwayReasons.count == GoAwayReason.wordsMax + 1)
        #expect(metrics.goAwayReasons.values.reduce(0, +) == 100)
        #expect(metrics.goAwayReasons["Word3"] == 2 && metrics.goAwayReasons[GoAwayReason.other] == 36)
    }
}
