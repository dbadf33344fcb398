import Core
import Foundation
import Jobs
import Testing

@testable import Rendering

@Suite struct SizeTests {
    static let reject = RenderSettings(bundleID: "com.shop")
    static let truncate = RenderSettings(bundleID: "com.shop", oversize: .truncate)

    /// A job whose APNs payload in the plain profile has exactly `count` bytes.
    static func sized(_ count: Int, type: String = "alert") -> String {
        let frame = #"{"aps":{"alert":{"body":""}}}"#.utf8.count
        return job("\"type\":\"\(type)\",\"body\":\"" + String(repeating: "b", count: count - frame) + "\"")
    }

    static func json(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    static func alertBody(_ text: String) throws -> String {
        let aps = try #require(try json(text)["aps"] as? [String: Any])
        let alert = try #require(aps["alert"] as? [String: Any])
        return try #require(alert["body"] as? String)
    }

    @Test func `APNs takes 4096 bytes and not one more`() throws {
        let fits = try apns(Self.sized(4096), Self.reject)
        #expect(fits.head.result == .ok)
        #expect(fits.body.utf8.count == 4096)
        let over = try apns(Self.sized(4097), Self.reject)
        #expect(over.head.result == .tooLarge(4097))
        #expect(over.body.isEmpty)
        let cut = try apns(Self.sized(4097), Self.truncate)
        #expect(cut.head.result == .truncated)
        #expect(cut.body.utf8.count == 4096)
    }

    @Test func `VoIP takes 5120 bytes and not one more`() throws {
        #expect(try apns(Self.sized(5120, type: "voip"), Self.reject).head.result == .ok)
        #expect(try apns(Self.sized(5121, type: "voip"), Self.reject).head.result == .tooLarge(5121))
    }

    @Test func `FCM takes 4096 bytes beside the target, and 2048 for a topic`() throws {
        let frame = #""notification":{"body":""},"android":{"priority":"HIGH"}"#.utf8.count
        func body(_ count: Int) -> String {
            job("\"body\":\"" + String(repeating: "b", count: count - frame) + "\"")
        }
        for token in ["T", String(repeating: "t", count: 163)] {
            #expect(try fcm(body(4096), Self.reject, token: token).head == .ok)
            #expect(try fcm(body(4097), Self.reject, token: token).head == .tooLarge(4097))
            #expect(try fcm(body(2048), Self.reject, kind: .topic, token: token).head == .ok)
            #expect(try fcm(body(2049), Self.reject, kind: .topic, token: token).head == .tooLarge(2049))
        }
    }

    @Test func `Needless escapes and white space go before anything is refused or cut`() throws {
        let words = String(repeating: #"\u043f\/"#, count: 600)
        let text = job(
            "\"body\":\"\(words)\",\"data\":{ \"a\" : [ 1 ,\n\"\\u0022\\u000a\\u00e9\\\\u00e9\" ] }")
        let out = try apns(text, Self.reject)
        #expect(out.head.result == .ok)
        #expect(
            out.body == "{\"aps\":{\"alert\":{\"body\":\"" + String(repeating: "п/", count: 600)
                + #""}},"a":[1,"\"\né\\u00e9"]}"#)
    }

    static let bodies: [String] = [
        "plain words and ", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "e\u{301}a\u{308}\u{332}", "नमस्ते", "שָׁלוֹם عَرَبِيّ ",
        "line\nbreak \"quoted\" \\ back ", "한국어 각", "\r\n", "👍🏽🏴\u{E0067}\u{E0062}\u{E007F}",
    ]

    @Test(arguments: bodies, [false, true])
    func `Truncation cuts at the end of a character and touches nothing else`(piece: String, escaped: Bool)
        throws
    {
        var body = ""
        while body.utf8.count < 5000 { body += piece }
        var quoted = ByteBuffer()
        if escaped {
            quoted.append(byte: UInt8(ascii: "\""))
            for unit in body.utf16 {
                quoted.append(text: "\\u" + String(UInt32(unit) + 0x10000, radix: 16).suffix(4))
            }
            quoted.append(byte: UInt8(ascii: "\""))
        } else {
            quoted.append(jsonString: body)
        }
        let text = job("\"title\":\"t\",\"body\":\(quoted.text),\"data\":{\"k\":\"v\",\"n\":[1,2]}")
        for pad in 0..<8 {
            let padded = text.replacing("\"t\"", with: "\"\(String(repeating: "t", count: pad + 1))\"")
            let out = try apns(padded, Self.truncate)
            #expect(out.head.result == .truncated)
            #expect(out.body.utf8.count <= 4096)
            let cut = try Self.alertBody(out.body)
            let kept = Array(cut)
            #expect(!kept.isEmpty)
            #expect(kept == Array(body.prefix(kept.count)), "not a prefix by whole characters")
            let next = String(Array(body)[kept.count])
            var room = ByteBuffer()
            room.append(jsonEscaped: Array(next.utf8).withUnsafeBytes { $0 })
            #expect(out.body.utf8.count + room.count > 4096, "one more character would have fitted")
            #expect(out.body.hasSuffix(",\"k\":\"v\",\"n\":[1,2]}"))
        }
    }

    @Test func `A body that appears twice is cut in both places`() throws {
        let settings = RenderSettings(profile: .concierge, appName: "A", oversize: .truncate)
        let body = String(repeating: "👩‍👩‍👧", count: 400)
        let out = try fcm(job("\"body\":\"\(body)\",\"thread\":\"c\""), settings)
        #expect(out.head == .truncated)
        let message = try #require(try Self.json(out.body)["message"] as? [String: Any])
        let notification = try #require(message["notification"] as? [String: Any])
        let data = try #require(message["data"] as? [String: Any])
        let shown = try #require(notification["body"] as? String)
        #expect(shown == data["body"] as? String)
        #expect(shown.count > 90 && shown.allSatisfy { $0 == "👩‍👩‍👧" })
        #expect(out.body.utf8.count <= 4096 + 30)
    }

    @Test func `What can't be shortened is refused`() throws {
        let long = String(repeating: "d", count: 4200)
        #expect(try apns(job("\"body\":\"b\",\"data\":{\"a\":\"\(long)\"}"), Self.truncate).body.isEmpty)
        #expect(try apns(job("\"title\":\"\(long)\""), Self.truncate).body.isEmpty)
        #expect(try apns(job("\"title\":\"\(long)\",\"body\":\"b\""), Self.truncate).body.isEmpty)
        let one = "e" + String(repeating: "\u{301}", count: 2500)
        #expect(try apns(job("\"body\":\"\(one)\""), Self.truncate).body.isEmpty)
        let own = job("\"body\":\"b\",\"apns\":{\"payload\":{\"aps\":{\"alert\":{\"body\":\"\(long)\"}}}}")
        let result = try apns(own, Self.truncate).head.result
        guard case .tooLarge = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test func `A merged payload is measured and cut as a whole`() throws {
        let body = String(repeating: "b", count: 4000)
        let text = job(
            "\"body\":\"\(body)\",\"apns\":{\"payload\":{\"k\":\"\(String(repeating: "v", count: 500))\"}}")
        let out = try apns(text, Self.truncate)
        #expect(out.head.result == .truncated)
        #expect(out.body.utf8.count == 4096)
        #expect(out.body.contains(String(repeating: "v", count: 500)))
    }

    @Test func `A renderer that has just truncated renders the next job whole`() throws {
        let renderer = Renderer(settings: Self.truncate)
        for text in [Self.sized(5000), job(#""body":"next","apns":{"payload":{"a":1}}"#)] {
            try withJob(text) { job in
                var out = ByteBuffer()
                let head = renderer.renderAPNs(job, at: RenderMoment(nowMs: now), into: &out)
                let size = out.count
                #expect(head.result == .truncated ? size == 4096 : size < 100)
                if head.result == .ok { #expect(out.text == #"{"aps":{"alert":{"body":"next"}},"a":1}"#) }
            }
        }
    }
}
