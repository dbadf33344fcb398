import EventLoop
import Glibc
import HTTPServer
import Testing

/// Answers that go on, over real connections.
@Suite struct HTTPStreamTests {
    /// A server whose every answer is a stream, which it keeps.
    private final class Setting: Sendable {
        let streams = Locked<[HTTPStream]>([])
        let server: HTTPServer

        init(requestTimeoutMs: UInt64 = 0, pendingMax: Int = 256 << 10) throws {
            var options = HTTPServerOptions()
            options.requestTimeoutMs = requestTimeoutMs
            let streams = streams
            server = try HTTPServer.start(options) { (_: HTTPRequest) in
                let stream = HTTPStream(pendingMax: pendingMax)
                streams.withLock { $0.append(stream) }
                var response = HTTPResponse(status: 200, headers: [("content-type", "text/event-stream")])
                response.stream = stream
                return response
            }
        }

        /// The streams once there are so many.
        func opened(_ count: Int) throws -> [HTTPStream] {
            try #require(HTTPStreamTests.wait { streams.withLock { $0.count } >= count })
            return streams.withLock { $0 }
        }
    }

    private static func wait(_ condition: () -> Bool) -> Bool {
        let end = Clock.monotonicMs + 30_000
        while Clock.monotonicMs < end {
            if condition() { return true }
            usleep(2_000)
        }
        return false
    }

    /// A client that reads only when it is told to.
    private final class Peer {
        let descriptor: Int32
        var text = ""
        var isAtEnd = false

        init(_ server: HTTPServer) throws {
            descriptor = try Socket.connect(host: "127.0.0.1", port: server.port)
            let request = Array("GET /s HTTP/1.1\r\nhost: h\r\n\r\n".utf8)
            var sent = 0
            while sent < request.count {
                let wrote = request[sent...].withUnsafeBytes { Socket.send(descriptor, $0) }
                if wrote > 0 { sent += wrote }
            }
        }

        deinit { Socket.close(descriptor) }

        func read() {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let got = buffer.withUnsafeMutableBytes { Socket.recv(descriptor, into: $0) }
                if got > 0 { text += String(decoding: buffer[..<got], as: UTF8.self) }
                if got == 0 || got == -104 { isAtEnd = true }
                if got <= 0 { return }
            }
        }

        func wait(for wanted: String) -> Bool {
            HTTPStreamTests.wait {
                read()
                return text.contains(wanted)
            }
        }
    }

    @Test func whatIsSentArrivesAtOnceAndTheConnectionGoesOn() throws {
        let setting = try Setting()
        defer { setting.server.stop() }
        let peer = try Peer(setting.server)
        let stream = try setting.opened(1)[0]
        for number in 0..<50 {
            #expect(stream.send(Array("data: \(number)\n\n".utf8)))
            #expect(peer.wait(for: "data: \(number)\n\n"))
        }
        stream.close()
        // The last chunk: the connection is as good as before.
        #expect(peer.wait(for: "\r\n0\r\n\r\n"))
        #expect(!stream.send([1]))
        #expect(!stream.isOpen)
    }

    @Test func oneThreadServesManyStreamsAndOtherRequests() throws {
        let setting = try Setting()
        defer { setting.server.stop() }
        let peers = try (0..<40).map { _ in try Peer(setting.server) }
        let streams = try setting.opened(peers.count)
        for stream in streams { #expect(stream.send(Array("hello\n".utf8))) }
        for peer in peers { #expect(peer.wait(for: "hello\n")) }
    }

    @Test func aPeerThatGoesAwayEndsItsStream() throws {
        let setting = try Setting()
        defer { setting.server.stop() }
        do { _ = try Peer(setting.server) }
        let stream = try setting.opened(1)[0]
        #expect(Self.wait { !stream.send(Array("are you there?".utf8)) })
        #expect(Self.wait { setting.server.connectionCount == 0 })
    }

    @Test func aPeerThatReadsNothingIsCutOff() throws {
        let setting = try Setting(requestTimeoutMs: 400, pendingMax: 32 << 20)
        defer { setting.server.stop() }
        let slow = try Peer(setting.server)
        let stream = try setting.opened(1)[0]
        // More than the two sockets hold.
        #expect(stream.send([UInt8](repeating: 0x61, count: 24 << 20)))
        #expect(Self.wait { !stream.isOpen })
        #expect(Self.wait { setting.server.connectionCount == 0 })
        withExtendedLifetime(slow) {}
    }

    @Test func aQuietStreamIsNotCutOff() throws {
        let setting = try Setting(requestTimeoutMs: 100)
        defer { setting.server.stop() }
        let peer = try Peer(setting.server)
        let stream = try setting.opened(1)[0]
        #expect(stream.send(Array("first".utf8)))
        #expect(peer.wait(for: "first"))
        // Another connection that owes something is cut off: so the watch has gone round meanwhile.
        let silent = try Socket.connect(host: "127.0.0.1", port: setting.server.port)
        defer { Socket.close(silent) }
        let part = Array("GET /x HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\n1".utf8)
        _ = part.withUnsafeBytes { Socket.send(silent, $0) }
        var room = [UInt8](repeating: 0, count: 64)
        #expect(Self.wait { room.withUnsafeMutableBytes { Socket.recv(silent, into: $0) } == 0 })
        #expect(stream.send(Array("second".utf8)))
        #expect(peer.wait(for: "second"))
    }

    @Test func tooMuchThatWaitsEndsTheStream() throws {
        let setting = try Setting(requestTimeoutMs: 60_000, pendingMax: 1 << 20)
        defer { setting.server.stop() }
        let slow = try Peer(setting.server)
        let stream = try setting.opened(1)[0]
        let block = [UInt8](repeating: 0x61, count: 512 << 10)
        #expect(Self.wait { !stream.send(block) })
        #expect(stream.waiting <= 1 << 20)
        #expect(Self.wait { setting.server.connectionCount == 0 })
        withExtendedLifetime(slow) {}
    }

    @Test func aServerThatStopsEndsItsStreamsInGoodOrder() throws {
        let setting = try Setting()
        let peers = try (0..<3).map { _ in try Peer(setting.server) }
        let streams = try setting.opened(3)
        for stream in streams { #expect(stream.send(Array("last words\n".utf8))) }
        let begun = Clock.monotonicMs
        setting.server.stop(deadlineMs: 30_000)
        #expect(Clock.monotonicMs - begun < 30_000)
        for peer in peers { #expect(peer.wait(for: "last words\n")) }
        for peer in peers { #expect(peer.wait(for: "\r\n0\r\n\r\n")) }
        #expect(streams.allSatisfy { !$0.isOpen })
    }
}
