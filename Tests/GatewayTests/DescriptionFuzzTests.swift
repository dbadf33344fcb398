import Core
import Foundation
import Jobs
import Testing

@testable import GatewayKit

/// Requests made up from the API's own description, good ones and spoiled ones, against every handler.
@Suite struct DescriptionFuzzTests {
    private let rig: HandlerRig
    private let document: JSONValue

    init() throws {
        rig = try HandlerRig()
        document = try JSONValue.parse(text: OpenAPIDocument.json)
    }

    /// SplitMix64: the same requests in every run.
    private struct Chance: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
        mutating func isTrue(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &self) < share }
    }

    private static let texts = [
        "a", "phone", "news", "/x", "https://dialed.evo.co/a", "22:00", "00ff", "user.u.sealed", "é", "\u{0}",
        "a\u{301}", String(repeating: "x", count: 300), String(repeating: "9", count: 5000), "", " ", "}{",
        "\"",
        "\u{202E}", "app:1", "*", "@alerts/*", "%2F",
    ]

    private func text(_ chance: inout Chance) -> JSONValue {
        .string(Self.texts.randomElement(using: &chance) ?? "")
    }

    private func anything(_ chance: inout Chance) -> JSONValue {
        let choices: [JSONValue] = [
            .null, .bool(true), .bool(false), .number("0"), .number("-1"), .number("1e400"),
            .number("99999999999999999999"), .array([]), .object([]), .array([.null]), text(&chance),
        ]
        return choices.randomElement(using: &chance) ?? .null
    }

    /// A value for a schema, now and then a wrong one.
    private func value(_ schema: JSONValue, _ chance: inout Chance, depth: Int = 0) -> JSONValue {
        if chance.isTrue(0.04) || depth > 6 { return anything(&chance) }
        if let name = schema["$ref"]?.string?.split(separator: "/").last {
            let target = document["components"]?["schemas"]?[String(name)] ?? .null
            return value(target, &chance, depth: depth + 1)
        }
        if let choices = schema["oneOf"]?.array, schema["properties"] == nil {
            return value(choices.randomElement(using: &chance) ?? .null, &chance, depth: depth + 1)
        }
        if let words = schema["enum"]?.array { return words.randomElement(using: &chance) ?? .null }
        if let word = schema["const"] { return word }
        switch schema["type"]?.string {
        case "object": return object(schema, &chance, depth)
        case "array":
            let count = Int.random(in: 0...3, using: &chance)
            return .array(
                (0..<count).map { _ in value(schema["items"] ?? .null, &chance, depth: depth + 1) })
        case "integer", "number": return .number("\(Int.random(in: -2...70_000, using: &chance))")
        case "boolean": return .bool(chance.isTrue(0.5))
        case "string": return text(&chance)
        default: return anything(&chance)
        }
    }

    private func object(_ schema: JSONValue, _ chance: inout Chance, _ depth: Int) -> JSONValue {
        let required = Set((schema["required"]?.array ?? []).compactMap(\.string))
        var members: [JSONValue.Member] = []
        for property in schema["properties"]?.members ?? [] {
            guard chance.isTrue(required.contains(property.name) ? 0.97 : 0.4) else { continue }
            members.append(
                .init(name: property.name, value: value(property.value, &chance, depth: depth + 1)))
        }
        if chance.isTrue(0.05) { members.append(.init(name: "extra", value: anything(&chance))) }
        if chance.isTrue(0.03), let first = members.first { members.append(first) }
        return .object(members)
    }

    private static let apps = [
        "customers": "chat", "creators": "creator", "recipients": "shop", "broadcasts": "shop",
    ]

    private func path(_ pattern: String, _ chance: inout Chance) -> String {
        let app = Self.apps.first { pattern.contains("/\($0.key)") }?.value ?? "shop"
        let known = ["app": app, "appId": "wallet", "project": "sealed"]
        return pattern.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            guard segment.first == "{" else { return String(segment) }
            let name = String(segment.dropFirst().dropLast())
            let value = known[name] ?? Self.texts.randomElement(using: &chance) ?? "x"
            let kept = value.isEmpty ? "x" : value
            return kept.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "x"
        }.joined(separator: "/")
    }

    private func spoiled(_ body: String, _ chance: inout Chance) -> String {
        guard chance.isTrue(0.05), !body.isEmpty else { return body }
        return String(body.prefix(Int.random(in: 0..<body.count, using: &chance)))
    }

    @Test func everyRequestHasADocumentedAnswer() throws {
        var chance = Chance(state: 20_261_130)
        let headers = [
            "x-api-key": "key:sealed", "x-dialect-api-key": "key:wallet",
            "x-dialect-client-key": HandlerRig.clientKey,
        ]
        var counts: [Int: Int] = [:]
        for (path, item) in (document["paths"]?.members ?? []).map({ ($0.name, $0.value) }) {
            for operation in item.members ?? [] {
                let schema = operation.value["requestBody"]?["content"]?["application/json"]?["schema"]
                let documented = Set((operation.value["responses"]?.members ?? []).map(\.name))
                for _ in 0..<40 {
                    let body = schema.map { spoiled(value($0, &chance).text, &chance) } ?? ""
                    var own = headers
                    let user = path.contains("creator") ? "creator" : "wallet"
                    if path.hasPrefix("/v2/push") || path.hasPrefix("/api") {
                        own["authorization"] = "Bearer user.u-1.\(user)"
                    }
                    let status = try answer(
                        operation.name.uppercased(), self.path(path, &chance), body, own)
                    guard let status else { continue }
                    counts[status, default: 0] += 1
                    #expect(
                        documented.contains("\(status)"), "\(operation.name) \(path): \(status) to \(body)")
                }
            }
        }
        // The requests are of use only if many are good.
        #expect(counts[200, default: 0] > 100)
        #expect(counts[202, default: 0] > 20)
        #expect(counts[400, default: 0] > 100)
    }

    /// The status; nil for the routes that are not the rig's.
    private func answer(
        _ method: String, _ path: String, _ body: String, _ headers: [String: String]
    ) throws -> Int? {
        let outcome: HandlerRig.Outcome
        do {
            outcome = try rig.call(method, path, body, headers: headers)
        } catch is JobFault {
            // The publisher answers such a job with a 400.
            return 400
        }
        if outcome.body == .null { return nil }
        if outcome.status >= 400 {
            #expect(outcome.body["type"]?.string?.hasPrefix("urn:peal:problem:") == true)
            #expect(outcome.body["status"]?.integer == Int64(outcome.status))
            #expect(!outcome.detail.isEmpty)
        }
        return outcome.status
    }
}
