import Core
import EventLoop
import Foundation
import Logging
import Redis
import Testing

@testable import GatewayKit

@Suite struct OpenAPITests {
    private static var folder: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    private let document: JSONValue

    init() throws { document = try JSONValue.parse(text: OpenAPIDocument.json) }

    /// Run with PEAL_TEST_WRITE=1 to write the file anew after a change.
    @Test func theFileInDocsIsTheDocument() throws {
        let file = Self.folder.appendingPathComponent("docs/openapi.json")
        if ProcessInfo.processInfo.environment["PEAL_TEST_WRITE"] == "1" {
            try OpenAPIDocument.indented.write(to: file, atomically: true, encoding: .utf8)
        }
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text == OpenAPIDocument.indented)
        #expect(try JSONValue.parse(text: text) == document)
    }

    @Test func everyFragmentIsJSON() throws {
        for (name, json) in APISchemas.all + APISchemas.parameters {
            #expect(throws: Never.self, "\(name)") { try JSONValue.parse(text: json) }
        }
        for json in [APISchemas.info, APISchemas.tags, APISchemas.security] {
            #expect(throws: Never.self) { try JSONValue.parse(text: json) }
        }
        for operation in APIOperations.contracts + APIOperations.sending {
            for parameter in operation.parameters {
                #expect(throws: Never.self) { try JSONValue.parse(text: parameter.schema) }
            }
        }
    }

    @Test func everyReferenceLeadsSomewhereAndEverythingIsReferredTo() {
        var seen: Set<String> = []
        func walk(_ value: JSONValue) {
            switch value {
            case .object(let members):
                for member in members {
                    if member.name == "$ref" { seen.insert(member.value.string ?? "") }
                    walk(member.value)
                }
            case .array(let elements): elements.forEach(walk)
            default: break
            }
        }
        walk(document)
        var known: Set<String> = []
        for group in ["schemas", "parameters", "responses"] {
            for member in document["components"]?[group]?.members ?? [] {
                known.insert("#/components/\(group)/\(member.name)")
            }
        }
        #expect(seen.subtracting(known) == [])
        #expect(known.subtracting(seen) == [])
    }

    @Test func operationsHaveNamesOfTheirOwn() {
        let names = OpenAPIDocument.operations.map(\.operation)
        #expect(Set(names).count == names.count)
        let tags = Set((document["tags"]?.array ?? []).compactMap { $0["name"]?.string })
        for (_, item) in (document["paths"]?.members ?? []).map({ ($0.name, $0.value) }) {
            for operation in item.members ?? [] {
                let tag = operation.value["tags"]?.array?.first?.string ?? ""
                #expect(tags.contains(tag))
                #expect(operation.value["responses"]?.members?.isEmpty == false)
            }
        }
    }

    @Test func theDocumentHasTheRoutesAndNothingElse() throws {
        let rig = try HandlerRig()
        // The gateway answers these before it looks at its routes.
        let health: Set = [
            "GET /livez livez", "GET /readyz readyz", "GET /statusz statusz", "GET /metrics metrics",
        ]
        let written = Set(OpenAPIDocument.operations.map { "\($0.method) \($0.path) \($0.operation)" })
        let nowhere = RedisEndpoint(address: .unix(path: "/nowhere"))
        let hub = OverviewHub(redis: RedisClientOptions(endpoint: nowhere), log: .silent)
        defer { hub.stop() }
        let all =
            SendRoutes.routes(AppNames([])) + rig.table.all
            + CredentialRoutes.routes(rig.settings, ring: nil, logger: .silent)
            + DashboardRoutes(hub: hub, gatekeeper: Gatekeeper(ring: nil))
            .routes.filter { $0.operation != "dashboard" }
        let routes = Set(all.map { "\($0.method) \($0.pattern) \($0.operation)" })
        #expect(routes.subtracting(written) == [])
        #expect(written.subtracting(routes) == health)
    }
}
