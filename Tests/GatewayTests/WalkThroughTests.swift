import Core
import EventLoop
import Foundation
import SimulatorKit
import Testing

@testable import GatewayKit

/// What `docs/http-api.md` tells a reader to type, typed.
@Suite(.serialized, WithGatewayStack()) struct WalkThroughTests {
    private static let document = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("docs/http-api.md")

    private let stack: GatewayStack

    init() throws { stack = try #require(GatewayStack.current) }

    /// The fenced blocks of a language, in order.
    private static func blocks(_ language: String) throws -> [String] {
        var blocks: [String] = []
        var current: [Substring]?
        for line in try String(contentsOf: document, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if let lines = current {
                if line == "```" {
                    blocks.append(lines.joined(separator: "\n") + "\n")
                    current = nil
                } else {
                    current = lines + [line]
                }
            } else if line == "```" + language {
                current = []
            }
        }
        return blocks
    }

    /// Runs a program until it ends, two minutes at most.
    private func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        var environment = ProcessInfo.processInfo.environment
        environment["GATEWAY"] = stack.url
        environment["SIMULATOR"] = "http://127.0.0.1:\(stack.simulator.adminPort ?? 0)"
        environment["KEY"] = GatewayStack.key
        environment["CLIENT_KEY"] = GatewayStack.clientKey
        environment["USER_SECRET"] = GatewayStack.secret
        environment["no_proxy"] = "127.0.0.1"
        process.environment = environment
        let path = "\(stack.folder)/output-\(UUID().uuidString)"
        try Files.write(path: path, text: "")
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        process.standardOutput = output
        process.standardError = output
        try process.run()
        if !stack.wait(seconds: 120, { !process.isRunning }) { process.terminate() }
        process.waitUntilExit()
        return (process.terminationStatus, try Files.readText(path: path))
    }

    private func has(_ program: String) throws -> Bool {
        let found = try run(["which", program]).status == 0
        if !found { print("no \(program) on this machine: its example is not run") }
        return found
    }

    @Test func everyCurlCommandWorks() throws {
        let blocks = try Self.blocks("sh")
        #expect(blocks.count >= 10)
        let script = "\(stack.folder)/walk.sh"
        try Files.write(path: script, text: "set -euo pipefail\n" + blocks.joined(separator: "\n"))
        let result = try run(["bash", script])
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains(#"{"unread":0,"threads":{}}"#))
    }

    private func example(_ language: String, _ file: String, _ command: [String]) throws {
        let path = "\(stack.folder)/\(file)"
        let text = try #require(try Self.blocks(language).first)
        try Files.write(path: path, text: text)
        let result = try run(command + [path])
        #expect(result.status == 0, "\(result.output)")
        let id = result.output.split(separator: "\n").last ?? ""
        #expect(id.utf8.count == 26, "\(result.output)")
    }

    @Test func thePythonExampleRuns() throws {
        if try has("python3") { try example("python", "send.py", ["python3"]) }
    }

    @Test func theNodeExampleRuns() throws {
        if try has("node") { try example("javascript", "send.mjs", ["node"]) }
    }

    @Test func theGoExampleRuns() throws {
        if try has("go") { try example("go", "send.go", ["go", "run"]) }
    }

    @Test func theSwiftExampleRuns() throws {
        if try has("swift") { try example("swift", "send.swift", ["swift"]) }
    }
}
