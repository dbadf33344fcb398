import HTTPServer
import Testing

@testable import GatewayKit

@Suite struct JSONBodyTests {
    private static func read(_ text: String) throws(Problem) -> JSONBody {
        try JSONBody(
            HTTPRequest(method: "POST", path: "/", body: Array(text.utf8)),
            known: ["text", "flag", "number", "list", "word", "inner"])
    }

    private static func readAll(_ text: String) throws(Problem) {
        let body = try read(text)
        _ = try body.text("text", bytes: 4)
        _ = try body.flag("flag")
        _ = try body.integer("number", in: 0...9)
        _ = try body.texts("list", count: 2, bytes: 4)
        _ = try body.word("word", of: ["one", "two"])
        _ = try body.object("inner", known: ["text"])?.requiredText("text", bytes: 4)
    }

    @Test(arguments: [
        "{}", #"{"text":"abcd","flag":true,"number":9,"list":["a","b"],"word":"two","inner":{"text":"x"}}"#,
        #"{"list":[]}"#,
    ])
    func goodBodies(text: String) throws { try Self.readAll(text) }

    @Test(arguments: [
        ("", ""), ("{", ""), ("[]", ""), ("null", ""), ("{} x", ""), (#"{"other":1}"#, "other"),
        (#"{"text":"a","text":"b"}"#, "text"), (#"{"text":""}"#, "text"), (#"{"text":"abcde"}"#, "text"),
        (#"{"text":1}"#, "text"), (#"{"text":null}"#, "text"), (#"{"text":"a\u0001"}"#, "text"),
        (#"{"text":"\ud800"}"#, ""), (#"{"flag":1}"#, "flag"), (#"{"number":10}"#, "number"),
        (#"{"number":1.5}"#, "number"), (#"{"number":"1"}"#, "number"), (#"{"list":"a"}"#, "list"),
        (#"{"list":["a","b","c"]}"#, "list"), (#"{"list":[1]}"#, "list"), (#"{"list":[""]}"#, "list"),
        (#"{"word":"three"}"#, "word"), (#"{"word":1}"#, "word"), (#"{"inner":[]}"#, "inner"),
        (#"{"inner":{}}"#, "inner.text"), (#"{"inner":{"x":1}}"#, "inner.x"),
        (#"{"a\u0000b":1}"#, "a?b"),
    ])
    func badBodies(text: String, field: String) {
        let problem = #expect(throws: Problem.self) { try Self.readAll(text) }
        #expect(problem?.status == 400)
        #expect(problem?.field == field)
        #expect(problem?.detail.isEmpty == false)
    }

    @Test func aContractLeavesAloneWhatItDoesNotKnow() throws {
        let request = HTTPRequest(
            method: "POST", path: "/", body: Array(#"{"x":1,"text":"a","x":2}"#.utf8))
        let body = try JSONBody(request, known: ["text"], unknown: .ignored)
        #expect(try body.text("text", bytes: 4) == "a")
    }
}
