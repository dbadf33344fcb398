import Core
import Foundation
import Testing

@testable import Tracing

@Suite struct OTLPRequestTests {
    @Test func aRequestIsWhatTheSpecificationAsksFor() throws {
        var span = Span(
            "send \"peal.jobs.normal\"\n", .producer, trace: TraceID(high: 1, low: 0xABCD), id: 0xFF,
            parent: 0x10, startNs: 1_700_000_000_123_456_789, endNs: 1_700_000_000_223_456_789)
        span.add("messaging.system", "kafka")
        span.add("left.out", "")
        span.add("messaging.kafka.offset", Int64.max)
        span.attributes.append(("flag", .flag(true)))
        span.add("long", String(repeating: "ü", count: 5_000))
        span.error = "timed_out"
        var root = Span(
            "r", .internal, trace: TraceID(high: 0, low: 1), id: 1, parent: 0, startNs: 5, endNs: 4)
        root.attributes = []
        let bytes = OTLPRequest.body([span, root], resource: [(key: "service.name", value: "peal-\"w\"")])
        let body = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let resource = try #require((body["resourceSpans"] as? [[String: Any]])?.first)
        let about = try #require(resource["resource"] as? [String: Any])
        let name = try #require((about["attributes"] as? [[String: Any]])?.first)
        #expect(name["key"] as? String == "service.name")
        #expect((name["value"] as? [String: Any])?["stringValue"] as? String == "peal-\"w\"")
        let scope = try #require((resource["scopeSpans"] as? [[String: Any]])?.first)
        let spans = try #require(scope["spans"] as? [[String: Any]])
        #expect(spans.count == 2)
        #expect(spans[0]["traceId"] as? String == "0000000000000001000000000000abcd")
        #expect(spans[0]["spanId"] as? String == "00000000000000ff")
        #expect(spans[0]["parentSpanId"] as? String == "0000000000000010")
        #expect(spans[0]["name"] as? String == "send \"peal.jobs.normal\"\n")
        #expect(spans[0]["kind"] as? Int == 4)
        #expect(spans[0]["startTimeUnixNano"] as? String == "1700000000123456789")
        #expect(spans[0]["endTimeUnixNano"] as? String == "1700000000223456789")
        #expect((spans[0]["status"] as? [String: Any])?["code"] as? Int == 2)
        #expect((spans[0]["status"] as? [String: Any])?["message"] as? String == "timed_out")
        let attributes = try #require(spans[0]["attributes"] as? [[String: Any]])
        #expect(
            attributes.map { $0["key"] as? String }
                == ["messaging.system", "messaging.kafka.offset", "flag", "long"])
        #expect((attributes[1]["value"] as? [String: Any])?["intValue"] as? String == "9223372036854775807")
        #expect((attributes[2]["value"] as? [String: Any])?["boolValue"] as? Bool == true)
        let long = try #require((attributes[3]["value"] as? [String: Any])?["stringValue"] as? String)
        #expect(long.utf8.count <= OTLPRequest.textMax)
        // A root has no parent, and what went well no status; a span doesn't end before it began.
        #expect(spans[1]["parentSpanId"] == nil && spans[1]["status"] == nil)
        #expect(spans[1]["endTimeUnixNano"] as? String == "5")
    }

    @Test func aPartialSuccessIsRead() {
        func rejected(_ text: String) -> Int64 { OTLPRequest.rejected(Array(text.utf8)).spans }
        #expect(rejected("{}") == 0 && rejected("") == 0 && rejected("not json") == 0)
        #expect(rejected(#"{"partialSuccess":{}}"#) == 0)
        #expect(rejected(#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}}"#) == 3)
        #expect(rejected(#"{"partialSuccess":{"rejectedSpans":4}}"#) == 4)
        #expect(rejected(#"{"partialSuccess":{"rejectedSpans":-4}}"#) == 0)
    }

    @Test func whatIsWorthAnotherTryIsSentAgainALittleLaterEachTime() {
        func judge(_ status: Int?, _ after: String? = nil, _ attempt: Int = 1) -> OTLPVerdict {
            OTLPVerdict.judge(status: status, retryAfter: after, attempt: attempt, random: 0)
        }
        #expect(judge(200) == .done && judge(202) == .done)
        for status in [400, 401, 403, 404, 413, 500, 301] { #expect(judge(status) == .giveUp) }
        for status in [429, 502, 503, 504] { #expect(judge(status) == .again(afterMs: 500)) }
        #expect(judge(nil) == .again(afterMs: 500))
        #expect(judge(503, nil, 4) == .again(afterMs: 4_000))
        #expect(judge(503, nil, 5) == .giveUp && judge(nil, nil, 5) == .giveUp)
        #expect(judge(503, "7") == .again(afterMs: 7_000))
        #expect(judge(429, "0") == .again(afterMs: 0))
        #expect(judge(429, "86400") == .again(afterMs: 30_000))
        #expect(judge(429, "18446744073709551615") == .again(afterMs: 30_000))
        #expect(judge(503, "Wed, 21 Oct 2026 07:28:00 GMT") == .again(afterMs: 500))
    }
}
