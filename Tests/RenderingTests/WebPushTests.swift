import Core
import Jobs
import Testing

@testable import Rendering

@Suite struct WebPushTests {
    struct Copy: Equatable {
        var result: RenderResult
        var ttl: Int64
        var topic: String?
        var urgency: String
    }

    func web(_ members: String, _ settings: RenderSettings = RenderSettings(), expiresAtMs: Int64? = nil)
        throws
        -> Rendered<Copy>
    {
        try withJob(job(members)) { job in
            var out = ByteBuffer()
            out.append("FRAME")
            let head = Renderer(settings: settings).renderWebPush(
                job, at: RenderMoment(badge: 2, expiresAtMs: expiresAtMs, nowMs: now), into: &out)
            let copy = Copy(
                result: head.result, ttl: head.ttl, topic: head.topic?.string, urgency: "\(head.urgency)")
            try #require(out.text.hasPrefix("FRAME"))
            return Rendered(body: String(out.text.dropFirst(5)), head: copy)
        }
    }

    @Test func `A service worker gets notification and data, values as strings`() throws {
        let out = try web(
            #""title":"t","body":"b","image":"i","url":"/x","collapse":"a-Z_9","data":{"n":1}"#,
            expiresAtMs: now + 9999)
        #expect(
            out.body == #"{"notification":{"title":"t","body":"b","image":"i"},"#
                + #""data":{"url":"/x","image":"i","n":"1"}}"#)
        #expect(out.head == Copy(result: .ok, ttl: 9, topic: "a-Z_9", urgency: "high"))
    }

    @Test func `Without a deadline the TTL is four weeks, and ttl 0 is zero`() throws {
        #expect(try web(#""body":"b""#).head.ttl == 2_419_200)
        #expect(try web(#""body":"b","ttl":0"#, expiresAtMs: now + 60_000).head.ttl == 0)
    }

    @Test(arguments: ["a b", "\u{e9}", #"\u0061"#, String(repeating: "a", count: 33)])
    func `A collapse id that can't be a topic is left out`(collapse: String) throws {
        #expect(try web("\"body\":\"b\",\"collapse\":\"\(collapse)\"").head.topic == nil)
    }

    @Test func `Background jobs are data alone and Apple's types are not for the web`() throws {
        #expect(try web(#""data":{"a":"1"}"#).body == #"{"data":{"a":"1"}}"#)
        #expect(try web(#""data":{"a":"1"}"#).head.urgency == "normal")
        #expect(try web(#""type":"badge""#).body == #"{"data":{"unread":"2"}}"#)
        let voip = try web(#""type":"voip""#)
        #expect(voip.head.result == .notForPlatform && voip.body.isEmpty)
    }

    @Test func `A push service takes 3993 bytes and not one more`() throws {
        let frame = #"{"notification":{"body":""},"data":{}}"#.utf8.count
        func body(_ count: Int) -> String {
            "\"body\":\"" + String(repeating: "b", count: count - frame) + "\""
        }
        #expect(try web(body(3993)).head.result == .ok)
        #expect(try web(body(3994)).head.result == .tooLarge(3994))
        let cut = try web(body(3994), RenderSettings(oversize: .truncate))
        #expect(cut.head.result == .truncated)
        #expect(cut.body.utf8.count == 3993)
    }
}
