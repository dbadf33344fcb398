import Core
import Testing

@testable import Metrics

@Suite struct MetricWriterTests {
    private static let sends = MetricFamily.counter(
        "peal_test_sends_total", "Sends \"all\" of C:\\.\nTwice.", [.open("app", "x"), .open("lane", "y")],
        by: [.worker])
    private static let age = MetricFamily.gauge("peal_test_age_seconds", "An age.", by: [.worker])
    private static let took = MetricFamily.histogram(
        "peal_test_took_seconds", "How long.", [.open("lane", "y")], boundsUs: [10_000, 1_000_000],
        by: [.worker])
    private static let build = MetricFamily.info("peal_test_info", "What.", [.open("v", "x")], by: [.worker])

    private func text(
        _ format: MetricFormat, _ body: (inout MetricWriter) -> Void
    ) -> String {
        var writer = MetricWriter(format)
        body(&writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    private static func everything(_ writer: inout MetricWriter) {
        writer.begin(sends)
        writer.add(["a\"b\\c\nd", "bulk"], 3)
        writer.add(["*other", ""], UInt64.max)
        writer.begin(age)
        writer.add([], number: -1.5)
        var histogram = Histogram()
        for ms: UInt64 in [1, 10, 11, 5000] { histogram.record(ms) }
        writer.begin(took)
        writer.add(["bulk"], histogram, perSecond: 1000)
        writer.begin(build)
        writer.add(["1"], 1)
    }

    @Test func prometheusTextIsWrittenToTheByte() {
        #expect(
            text(.text, Self.everything) == """
                # HELP peal_test_sends_total Sends "all" of C:\\\\.\\nTwice.
                # TYPE peal_test_sends_total counter
                peal_test_sends_total{app="a\\"b\\\\c\\nd",lane="bulk"} 3
                peal_test_sends_total{app="*other",lane=""} 18446744073709551615
                # HELP peal_test_age_seconds An age.
                # TYPE peal_test_age_seconds gauge
                peal_test_age_seconds -1.5
                # HELP peal_test_took_seconds How long.
                # TYPE peal_test_took_seconds histogram
                peal_test_took_seconds_bucket{lane="bulk",le="0.01"} 2
                peal_test_took_seconds_bucket{lane="bulk",le="1.0"} 3
                peal_test_took_seconds_bucket{lane="bulk",le="+Inf"} 4
                peal_test_took_seconds_sum{lane="bulk"} 5.022
                peal_test_took_seconds_count{lane="bulk"} 4
                # HELP peal_test_info What.
                # TYPE peal_test_info gauge
                peal_test_info{v="1"} 1

                """)
    }

    @Test func openMetricsIsWrittenToTheByte() {
        #expect(
            text(.openMetrics, Self.everything) == """
                # HELP peal_test_sends Sends \\"all\\" of C:\\\\.\\nTwice.
                # TYPE peal_test_sends counter
                peal_test_sends_total{app="a\\"b\\\\c\\nd",lane="bulk"} 3
                peal_test_sends_total{app="*other",lane=""} 18446744073709551615
                # HELP peal_test_age_seconds An age.
                # TYPE peal_test_age_seconds gauge
                # UNIT peal_test_age_seconds seconds
                peal_test_age_seconds -1.5
                # HELP peal_test_took_seconds How long.
                # TYPE peal_test_took_seconds histogram
                # UNIT peal_test_took_seconds seconds
                peal_test_took_seconds_bucket{lane="bulk",le="0.01"} 2
                peal_test_took_seconds_bucket{lane="bulk",le="1.0"} 3
                peal_test_took_seconds_bucket{lane="bulk",le="+Inf"} 4
                peal_test_took_seconds_sum{lane="bulk"} 5.022
                peal_test_took_seconds_count{lane="bulk"} 4
                # HELP peal_test What.
                # TYPE peal_test info
                peal_test_info{v="1"} 1
                # EOF

                """)
    }

    @Test func whatIsNoNumberIsSpelledOut() {
        let written = text(.text) { writer in
            writer.begin(.gauge("peal_x", "X.", [.open("a", "a")], by: [.worker]))
            writer.add(["1"], number: Double.nan)
            writer.add(["2"], number: Double.infinity)
            writer.add(["3"], number: -Double.infinity)
            writer.add(["4"], number: 1e21)
            writer.add(["5"], number: 0.0)
        }
        #expect(
            written.split(separator: "\n").suffix(5) == [
                "peal_x{a=\"1\"} NaN", "peal_x{a=\"2\"} +Inf", "peal_x{a=\"3\"} -Inf",
                "peal_x{a=\"4\"} 1e+21",
                "peal_x{a=\"5\"} 0.0",
            ])
    }

    /// Prometheus refuses a whole exposition for it.
    @Test func aSecondSampleWithTheSameLabelsIsLeftOut() {
        let written = text(.text) { writer in
            writer.begin(Self.sends)
            writer.add(["a", "b"], 1)
            writer.add(["a", "b"], 2)
            writer.begin(Self.age)
            writer.add([], 1)
            writer.add([], 2)
            writer.begin(Self.took)
            writer.add(["a"], Histogram(), perSecond: 1000)
            writer.add(["a"], Histogram(), perSecond: 1000)
        }
        let lines = written.split(separator: "\n")
        #expect(
            lines.filter { $0.hasPrefix("peal_test_sends_total{") } == [
                "peal_test_sends_total{app=\"a\",lane=\"b\"} 1"
            ])
        #expect(lines.filter { $0.hasPrefix("peal_test_age_seconds ") } == ["peal_test_age_seconds 1"])
        #expect(lines.count { $0.contains("+Inf") } == 1)
    }

    @Test func anEmptyExpositionOfOpenMetricsStillEnds() {
        #expect(text(.openMetrics) { _ in } == "# EOF\n")
        #expect(text(.text) { _ in } == "")
    }

    @Test func theUnitIsThatOfTheName() {
        #expect(Self.age.unit == "seconds" && Self.sends.unit == "")
        let bytes = MetricFamily.counter("peal_x_bytes_total", "X.", by: [.worker])
        #expect(bytes.unit == "bytes" && bytes.openName == "peal_x_bytes")
    }

    @Test func aReaderFindsSumsAndNothingElse() {
        let reader = MetricText(
            """
            # TYPE a counter
            a{x="1",y="accepted"} 3
            a{x="2",y="accepted"} 4
            a{x="accepted",y="dead"} 5
            a_b{y="accepted"} 100
            b 7
            """)
        #expect(reader.sum("a") == 12)
        #expect(reader.sum("a", where: "y", is: "accepted") == 7)
        #expect(reader.sum("a", where: "x", is: "accepted") == 5)
        #expect(reader.sum("b") == 7 && reader.sum("c") == 0)
    }
}

@Suite struct MetricFormatTests {
    @Test(arguments: [
        nil, "", "*/*", "text/plain", "text/html,application/xhtml+xml,*/*;q=0.8", "text/plain;version=0.0.4",
        "application/openmetrics-text;q=0", "application/openmetrics-text;version=2.0.0",
        "application/openmetrics-text;q=0.2, text/plain;q=0.3", "application/openmetrics-text;q=nonsense",
        "application/openmetrics-text;q=nan", ";;,,;q=1", "application/json",
    ])
    func text(accept: String?) { #expect(MetricFormat(accept: accept) == .text) }

    @Test(arguments: [
        "application/openmetrics-text", "Application/OpenMetrics-Text; Version=1.0.0; charset=utf-8",
        "application/openmetrics-text;version=\"1.0.0\"", "text/plain;q=0.5,application/openmetrics-text",
        // What Prometheus 2.42 and 3.0 send.
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
            + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
            + "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8"
            + ";q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
    ])
    func openMetrics(accept: String) { #expect(MetricFormat(accept: accept) == .openMetrics) }

    @Test func aHeaderOfManyRangesIsCutOff() {
        let header = Array(repeating: "a/b", count: 1000).joined(separator: ",")
        #expect(AcceptedType.list(header).count == 32)
    }
}
