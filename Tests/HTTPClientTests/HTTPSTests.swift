import EventLoop
import Foundation
import HTTPClient
import Security
import Testing

/// Requests to a real TLS server: OpenSSL's own.
@Suite(
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"), "openssl is not installed")
)
struct HTTPSTests {
    /// A running `openssl s_server` with a certificate of a throw-away authority.
    private final class TLSServer {
        let directory: URL
        let port: Int
        private let process = Process()

        var caFile: String { directory.appendingPathComponent("ca.pem").path }

        init(hosts: [String]) throws {
            directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            let identity = try ThrowAwayIdentity.make(hosts: hosts)
            for (name, text) in [
                ("ca.pem", identity.caPEM), ("cert.pem", identity.certificatePEM),
                ("key.pem", identity.keyPEM),
            ] {
                try text.write(to: directory.appendingPathComponent(name), atomically: true, encoding: .utf8)
            }
            process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            process.currentDirectoryURL = directory
            process.arguments = [
                "s_server", "-accept", "127.0.0.1:0", "-cert", "cert.pem", "-key", "key.pem", "-www",
            ]
            let output = Pipe()
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            process.standardInput = FileHandle.nullDevice
            try process.run()
            // It says `ACCEPT 127.0.0.1:port` once it listens.
            var text = ""
            var found: Int?
            while found == nil {
                let piece = output.fileHandleForReading.availableData
                if piece.isEmpty { break }
                text += String(decoding: piece, as: UTF8.self)
                for line in text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1)
                where line.hasPrefix("ACCEPT ") {
                    found = line.split(separator: ":").last.flatMap { Int($0) }
                }
            }
            port = try #require(found, "openssl s_server did not say where it listens")
        }

        func stop() {
            // The test's threads block SIGTERM, and a child inherits that.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            try? FileManager.default.removeItem(at: directory)
        }
    }

    private func get(
        _ server: TLSServer, host: String, _ change: (inout HTTPClientOptions) -> Void
    ) -> Result<Int, HTTPClientFailure> {
        var options = HTTPClientOptions()
        change(&options)
        let client = HTTPClient(options)
        do throws(HTTPClientFailure) {
            return .success(try client.send(HTTPClientRequest(url: "https://\(host):\(server.port)/")).status)
        } catch { return .failure(error) }
    }

    @Test func theCertificateIsCheckedAgainstTheGivenAuthorityAndTheName() throws {
        let server = try TLSServer(hosts: ["127.0.0.1"])
        defer { server.stop() }
        let trusted = get(server, host: "127.0.0.1") { $0.caFile = server.caFile }
        #expect(try trusted.get() == 200)
        let stranger = get(server, host: "127.0.0.1") { _ in }
        #expect(throws: HTTPClientFailure.self) { try stranger.get() }
        if case .failure(let failure) = stranger {
            #expect(failure.code == .certificate)
            #expect(!failure.mayHaveArrived)
        }
        let otherName = get(server, host: "localhost") { $0.caFile = server.caFile }
        if case .failure(let failure) = otherName {
            #expect(failure.code == .certificate)
        } else {
            Issue.record("a certificate for another name was accepted")
        }
        let unchecked = get(server, host: "localhost") { $0.verifiesPeer = false }
        #expect(try unchecked.get() == 200)
        let noFile = get(server, host: "127.0.0.1") { $0.caFile = "/nowhere/ca.pem" }
        if case .failure(let failure) = noFile {
            #expect(failure.code == .certificate)
        } else {
            Issue.record("a missing authority file was ignored")
        }
    }
}
