import Core
import Foundation
import Security
import Testing

/// Carries bytes between two connections until neither has anything to say or one fails.
private struct Wire {
    let client: TLSConnection
    let server: TLSConnection

    func carry() {
        client.outgoing.withMoved { server.incoming.append($0) }
        server.outgoing.withMoved { client.incoming.append($0) }
    }

    func handshake() throws {
        var clientDone = false
        var serverDone = false
        for _ in 0..<20 where !(clientDone && serverDone) {
            clientDone = try client.handshake()
            carry()
            serverDone = try server.handshake()
            carry()
        }
        try #require(clientDone && serverDone)
    }

    func readAll(_ connection: TLSConnection) throws -> (bytes: [UInt8], end: TLSConnection.ReadResult) {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 5000)
        while true {
            let result = try buffer.withUnsafeMutableBytes { try connection.read(into: $0) }
            guard case .bytes(let count) = result else { return (all, result) }
            all += buffer[..<count]
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func withMoved(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(bytes)
        clear()
    }
}

/// Files of one test, in a directory that goes with it.
private final class ScratchFiles {
    private let directory: URL
    private var count = 0

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("peal-tls-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Writes a file and tells its path.
    func write(_ text: String) throws -> String {
        count += 1
        let file = directory.appendingPathComponent("\(count).pem")
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    /// A certificate authority's file and a server context for `hosts`.
    func makeServer(_ hosts: [String]) throws -> (caFile: String, context: TLSContext) {
        let identity = try ThrowAwayIdentity.make(hosts: hosts)
        let context = try TLSContext.server(certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM)
        return (try write(identity.caPEM), context)
    }
}

@Suite struct TLSTests {
    private let files: ScratchFiles

    init() throws { files = try ScratchFiles() }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func aTrustedServerIsAcceptedAndCarriesData(name: String) throws {
        let (caFile, context) = try files.makeServer(["localhost", "127.0.0.1"])
        let clientContext = try TLSContext.client(TLSClientOptions(caFile: caFile))
        let wire = Wire(
            client: try TLSConnection(client: clientContext, serverName: name),
            server: try TLSConnection(server: context))
        try wire.handshake()
        #expect(wire.client.applicationProtocol == "h2")
        #expect(wire.server.applicationProtocol == "h2")

        let message = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try message.withUnsafeBytes { try wire.client.write($0) }
        wire.carry()
        #expect(try wire.readAll(wire.server).bytes == message)

        wire.client.close()
        wire.client.close()
        wire.carry()
        #expect(try wire.readAll(wire.server).end == .closed)
    }

    @Test func aServerOfAnotherNameIsRefusedWithTheReason() throws {
        let (caFile, context) = try files.makeServer(["push.example"])
        let clientContext = try TLSContext.client(TLSClientOptions(caFile: caFile))
        for name in ["localhost", "127.0.0.1"] {
            let wire = Wire(
                client: try TLSConnection(client: clientContext, serverName: name),
                server: try TLSConnection(server: context))
            let failure = #expect(throws: SecurityFailure.self) { try wire.handshake() }
            #expect(failure?.code == .untrustedPeer)
            #expect(failure?.message.contains("mismatch") == true)
        }
    }

    @Test(arguments: ["", "[::1]", "fe80::zz"])
    func aNameThatCannotBeCheckedIsRefusedInsteadOfUnchecked(name: String) throws {
        let context = try TLSContext.client(TLSClientOptions())
        #expect(throws: SecurityFailure.self) { try TLSConnection(client: context, serverName: name) }
    }

    @Test func anUnknownAuthorityIsRefusedUnlessCheckingIsOff() throws {
        let (_, context) = try files.makeServer(["localhost"])
        let (otherCA, _) = try files.makeServer(["localhost"])
        let strict = try TLSContext.client(TLSClientOptions(caFile: otherCA))
        let refused = Wire(
            client: try TLSConnection(client: strict, serverName: "localhost"),
            server: try TLSConnection(server: context))
        #expect(throws: SecurityFailure.self) { try refused.handshake() }

        let lax = try TLSContext.client(TLSClientOptions(caFile: otherCA, verifiesPeer: false))
        let accepted = Wire(
            client: try TLSConnection(client: lax, serverName: "localhost"),
            server: try TLSConnection(server: context))
        try accepted.handshake()
    }

    @Test func garbageInsteadOfTLSIsAnErrorAndStaysOne() throws {
        let (caFile, _) = try files.makeServer(["localhost"])
        let clientContext = try TLSContext.client(TLSClientOptions(caFile: caFile))
        let client = try TLSConnection(client: clientContext, serverName: "localhost")
        _ = try client.handshake()
        client.incoming.append("HTTP/1.1 400 Bad Request\r\n\r\n")
        #expect(throws: SecurityFailure.self) { _ = try client.handshake() }
        #expect(throws: SecurityFailure.self) { _ = try client.handshake() }
    }

    @Test func aCutConnectionIsNotMistakenForAnOrderlyEnd() throws {
        let (caFile, context) = try files.makeServer(["localhost"])
        let clientContext = try TLSContext.client(TLSClientOptions(caFile: caFile))
        let wire = Wire(
            client: try TLSConnection(client: clientContext, serverName: "localhost"),
            server: try TLSConnection(server: context))
        try wire.handshake()
        try Array("hello".utf8).withUnsafeBytes { try wire.client.write($0) }
        wire.client.outgoing.truncate(to: wire.client.outgoing.count - 1)
        wire.carry()
        let (bytes, end) = try wire.readAll(wire.server)
        #expect(bytes.isEmpty)
        #expect(end == .wantsMore)
    }

    @Test func missingFilesAreNamed() {
        let failure = #expect(throws: SecurityFailure.self) {
            _ = try TLSContext.client(TLSClientOptions(caFile: "/nonexistent/ca.pem"))
        }
        #expect(failure?.message.contains("/nonexistent/ca.pem") == true)
        let certificate = #expect(throws: SecurityFailure.self) {
            _ = try TLSContext.client(TLSClientOptions(certificateFile: "/nonexistent/c.pem"))
        }
        #expect(certificate?.code == .badCertificate)
    }
}

@Suite struct ClientCertificateTests {
    private let files: ScratchFiles

    init() throws { files = try ScratchFiles() }

    /// Writes a throw-away certificate and its key; the authority's PEM comes back too.
    private func makeClient() throws -> (ca: String, certificate: String, key: String) {
        let identity = try ThrowAwayIdentity.make(hosts: ["com.example.shop"])
        return (identity.caPEM, try files.write(identity.certificatePEM), try files.write(identity.keyPEM))
    }

    @Test func aServerThatWantsACertificateGetsTheOneThatIsConfigured() throws {
        let client = try makeClient()
        let server = try ThrowAwayIdentity.make(hosts: ["localhost"])
        let caFile = try files.write(server.caPEM)
        let strict = try TLSContext.server(
            certificatePEM: server.certificatePEM, keyPEM: server.keyPEM, clientCAPEM: client.ca)
        let withCertificate = try TLSContext.client(
            TLSClientOptions(caFile: caFile, certificateFile: client.certificate, keyFile: client.key))
        let wire = Wire(
            client: try TLSConnection(client: withCertificate, serverName: "localhost"),
            server: try TLSConnection(server: strict))
        try wire.handshake()
        #expect(wire.server.peerName == "com.example.shop")

        // The same as text.
        let identity = ClientIdentity(
            certificatePEM: try String(contentsOfFile: client.certificate, encoding: .utf8),
            keyPEM: try String(contentsOfFile: client.key, encoding: .utf8))
        let uploaded = Wire(
            client: try TLSConnection(
                client: try TLSContext.client(TLSClientOptions(caFile: caFile, identity: identity)),
                serverName: "localhost"),
            server: try TLSConnection(server: strict))
        try uploaded.handshake()
        #expect(uploaded.server.peerName == "com.example.shop")

        let without = try TLSContext.client(TLSClientOptions(caFile: caFile))
        let bare = Wire(
            client: try TLSConnection(client: without, serverName: "localhost"),
            server: try TLSConnection(server: strict))
        try bare.handshake()
        #expect(bare.server.peerName == nil)
    }

    @Test func aKeyOfAnotherCertificateIsRefusedByName() throws {
        let one = try makeClient()
        let other = try makeClient()
        let failure = #expect(throws: SecurityFailure.self) {
            _ = try TLSContext.client(TLSClientOptions(certificateFile: one.certificate, keyFile: other.key))
        }
        #expect(failure?.code == .badKey)
    }
}
