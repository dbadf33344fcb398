import HTTPServer
import Testing

@Suite struct PercentTextTests {
    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("a%20b", "a b"), ("a%2Fb", "a/b"), ("%C3%BC", "ü"), ("ü", "ü"),
        ("%25", "%"), ("+", "+"), ("%e2%82%ac", "€"),
    ])
    func whatIsEncodedIsDecoded(text: String, expected: String) {
        #expect(PercentText.decode(text.utf8) == expected)
    }

    @Test(arguments: [
        "%", "%2", "%zz", "%2g", "%00", "%0A", "%7F", "\u{1}", "%C3", "%FF", "%C3%28", "a%ED%A0%80",
    ])
    func whatIsNoTextIsRefused(text: String) {
        #expect(PercentText.decode(text.utf8) == nil)
        #expect(PercentText.segments(ofPath: "/a/\(text)") == nil)
    }

    @Test func segmentsAreSplitBeforeTheyAreDecoded() {
        #expect(PercentText.segments(ofPath: "/a/b%2Fc/") == ["a", "b/c", ""])
        #expect(PercentText.segments(ofPath: "/") == [""])
        #expect(PercentText.segments(ofPath: "//a") == ["", "a"])
        #expect(PercentText.segments(ofPath: "") == [])
    }

    @Test func aRequestSaysWhetherItsTargetCanBeRead() {
        #expect(!HTTPRequest(method: "GET", path: "/a%20b").isMalformed)
        #expect(HTTPRequest(method: "GET", path: "/a%20b").path == "/a b")
        let bad = HTTPRequest(method: "GET", path: "/a%zz")
        #expect(bad.isMalformed && bad.path == "/a%zz" && bad.rawPath == "/a%zz")
    }
}
