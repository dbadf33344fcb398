import Core
import EventLoop
import Foundation
import Testing

@testable import Configuration

@Suite struct LogSettingsTests {
    private func load(_ text: String, _ environment: [String: String] = [:]) throws -> Settings {
        try Configuration.parse(Array(text.utf8), file: "/etc/peal/peal.yaml", environment: environment)
    }

    private func problems(_ text: String) -> [String] {
        do {
            _ = try Configuration.parse(Array(text.utf8), file: "peal.yaml")
            return []
        } catch { return error.problems.map { "\($0.place): \($0.message)" } }
    }

    @Test func levelsBySubsystemComeFromTheFileAndTheEnvironment() throws {
        let settings = try load(
            "log: {level: notice, levels: {delivery: debug, kafka: error}}",
            ["PEAL_LOG_LEVELS_KAFKA": "trace"])
        #expect(
            settings.log.logLevels
                == LogLevels(standard: .notice, subsystems: [.delivery: .debug, .kafka: .trace]))
        #expect(settings.warnings == [])
        #expect(try load("log: {levels: }").log.logLevels == LogLevels())
    }

    @Test func anUnknownSubsystemOrLevelIsNamedWithWhatThereIs() {
        let part = problems("log:\n  levels: {nobody: debug}")
        #expect(
            part.first?.hasPrefix(
                "peal.yaml:2: unknown key 'log.levels.nobody'; known here: credentials, delivery, ") == true)
        let near = problems("log: {levels: {kafak: debug}}")
        #expect(near == ["peal.yaml:1: unknown key 'log.levels.kafak'; did you mean 'kafka'?"])
        let level = problems("log: {levels: {kafka: loud}}")
        #expect(level.first?.contains("log.levels.kafka: 'loud'") == true)
        #expect(level.first?.contains("debug") == true)
    }

    @Test func aChangedLevelNeedsNoRestartAndAChangedFormatDoes() throws {
        let before = try load("log: {level: info}")
        let after = try load("log: {level: debug, levels: {kafka: error}}")
        #expect(before.needsRestart(for: after) == [])
        #expect(before.adoptingCredentials(of: after).log == after.log)
        #expect(before.needsRestart(for: try load("log: {format: json}")) == ["log.format"])
        #expect(before.needsRestart(for: try load("otlp: {endpoint: \"http://c:4318\"}")) == ["otlp"])
    }

    @Test(arguments: [
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("http://collector:4318/", "http://collector:4318/v1/traces"),
        ("https://c.example.com/otlp", "https://c.example.com/otlp/v1/traces"),
        ("https://c.example.com/otlp/v1/traces/", "https://c.example.com/otlp/v1/traces"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
    ])
    func anEndpointGetsItsPath(text: String, address: String) throws {
        #expect(try load("otlp: {endpoint: \"\(text)\"}").otlp.endpoint == address)
    }

    @Test(arguments: [
        "collector:4318", "grpc://c:4317", "http://", "http:///v1/traces", "http://:4318",
        "http://user:word@c:4318", "http://c:4318/?x=1", "http://a b:1",
    ])
    func whatIsNoEndpointIsRefused(text: String) {
        let found = problems("otlp: {endpoint: \"\(text)\"}")
        #expect(found.first?.contains("otlp.endpoint: it must be http://host:port") == true)
    }

    @Test func headersAreReadAndABadLineIsNamedWithoutItsContent() throws {
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-otlp")
        defer { Files.removeTree(folder) }
        func headers(_ text: String) throws -> [String] {
            try Files.write(path: folder + "/headers", text: text)
            let settings = try Configuration.parse(
                Array("otlp: {endpoint: \"http://c:1\", headers_file: headers}".utf8),
                file: folder + "/peal.yaml")
            #expect(settings.files.contains(folder + "/headers"))
            return try settings.otlp.headers().map { "\($0.name)=\($0.value)" }
        }
        #expect(
            try headers("Authorization: Bearer a:b\r\n\n  x-team :  push \n")
                == ["Authorization=Bearer a:b", "x-team=push"])
        for bad in ["hidden", "a b: hidden", ": hidden", "x:", "ok: 1\nx: hid\u{1}den"] {
            let failure = #expect(throws: ConfigurationFailure.self) { try headers(bad) }
            let text = failure.map { "\($0)" } ?? ""
            #expect(text.contains("Name: value") && !text.contains("hid"))
        }
    }
}
