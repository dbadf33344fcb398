import Core
import EventLoop
import Foundation
import GatewayKit
import HTTPClient
import Kafka
import Redis
import TestSupport
import Testing

/// `peal-producer` as an operator runs it.
@Suite struct ProcessTests {
    /// The executable that was built beside this test bundle.
    private static func executable() throws -> URL {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(fileURLWithPath: own).deletingLastPathComponent()
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent("peal-producer")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            folder.deleteLastPathComponent()
        }
        throw CocoaError(.fileNoSuchFile)
    }

    private func run(_ arguments: [String]) throws -> (code: Int32, output: String) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = try Self.executable()
        process.arguments = arguments
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    @Test func aMadeKeyOpensTheGatewayThatASignalStops() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-gateway")
        defer { Files.removeTree(directory) }
        let redis = try RedisServer()
        let broker = try EmbeddedBroker()
        let port = try Socket.freePort()
        let yaml = """
            kafka: {brokers: "\(broker.bootstrapServers)"}
            redis: {url: "unix:\(redis.socketPath)"}
            http: {gateway: "127.0.0.1:\(port)"}
            gateway: {keys_file: keys}
            log: {level: debug}
            apps: {shop: {}}

            """
        try Files.write(path: "\(directory)/peal.yaml", text: yaml)
        let without = try run(["serve", "--config", "\(directory)/peal.yaml"])
        #expect(without.code == 78 && without.output.contains("keys"))
        let made = try run(["key", "new", "--name", "me", "--apps", "shop", "--scopes", "send"])
        #expect(made.code == 0)
        let lines = made.output.split(separator: "\n").map {
            $0.split(separator: " ").last.map(String.init) ?? ""
        }
        #expect(lines.count == 2 && lines[0].hasPrefix("peal_") && lines[1].hasPrefix("me:"))
        try Files.write(path: "\(directory)/keys", text: lines[1] + "\n")
        let check = try run(["serve", "--check", "--config", "\(directory)/peal.yaml"])
        #expect(check.code == 0, "\(check.output)")

        let process = Process()
        process.executableURL = try Self.executable()
        process.arguments = ["serve", "--config", "\(directory)/peal.yaml"]
        let log = "\(directory)/log"
        try Files.write(path: log, text: "")
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.run()
        defer { if process.isRunning { process.terminate() } }
        var options = HTTPClientOptions()
        options.proxy = ""
        let end = Clock.monotonicMs + 60_000
        func get(_ path: String) -> HTTPClientResponse? {
            try? HTTPClient(options).send(HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)"))
        }
        while get("/readyz")?.status != 200, Clock.monotonicMs < end { usleep(20_000) }
        let answer = try HTTPClient(options).send(
            HTTPClientRequest(
                method: "POST", url: "http://127.0.0.1:\(port)/v1/jobs",
                headers: [("authorization", "Bearer \(lines[0])")],
                body: Array(#"{"app":"shop","to":{"recipient":"r-secret"},"title":"t-secret"}"#.utf8)))
        #expect(answer.status == 202)
        // SIGHUP reads the keys again and ends nothing.
        kill(process.processIdentifier, SIGHUP)
        #expect(get("/livez")?.status == 200)
        process.terminate()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let text = try Files.readText(path: log)
        #expect(text.contains("gateway.answered") && text.contains("gateway.keys_loaded"))
        #expect(!text.contains(lines[0]) && !text.contains("-secret"))
    }

    private static let calls: [(words: String, code: Int32)] = [
        ("serve --config /nowhere.yaml", 78), ("key", 64), ("key new", 64),
        ("key new --name a/b --apps x --scopes send", 64), ("key new --apps x --scopes send", 64),
        ("key new --name a --apps x --scopes everything", 64),
        ("key new --name a --apps x, --scopes send", 64),
        ("key new --name a --apps x --apps y --scopes send", 64),
        ("key new --name a --name b --apps x --scopes send", 64), ("send --brokers nohost:99999 -", 64),
        ("serve --nonsense", 64), ("serve --help", 0),
        ("send --help", 0), ("--help", 0),
    ]

    @Test(arguments: calls.indices)
    func aWrongCallEndsWithItsCode(index: Int) throws {
        let call = Self.calls[index]
        let result = try run(call.words.split(separator: " ").map(String.init))
        #expect(result.code == call.code, "\(call.words): \(result.output)")
        #expect(!result.output.isEmpty)
    }
}
