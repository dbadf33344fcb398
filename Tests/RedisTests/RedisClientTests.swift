import Core
import EventLoop
import Security
import Testing

@testable import Redis
@testable import TestSupport

private typealias Rig = ClientRig

@Suite struct RedisClientTests {
    @Test func answersManyCommandsInOrder() throws {
        let server = try RedisServer()
        for endpoint in [server.endpoint, server.tcpEndpoint] {
            let rig = try Rig(endpoint)
            rig.ready()
            let padding = String(repeating: "x", count: 300)
            for value in 0..<10_000 {
                #expect(rig.issue("ECHO", "\(value)\(padding)", value: UInt64(value)) == nil)
            }
            rig.answers(10_000)
            for (index, answer) in rig.recorder.answers.enumerated() {
                #expect(answer.tag == RedisTag(kind: 7, value: UInt64(index)))
                #expect(answer.value.text == "\(index)\(padding)")
            }
            #expect(rig.client.bufferedBytes == 0)
            #expect(rig.client.statistics.replies == 10_000)
            #expect(rig.client.roundTrips.total == 10_000)
        }
    }

    @Test func logsInAndSelectsTheDatabase() throws {
        let server = try RedisServer()
        let session = try server.session()
        try session.command("ACL", "SETUSER", "alice", "on", ">pw", "~*", "+@all")
        var endpoint = server.endpoint
        endpoint.user = "alice"
        endpoint.password = "pw"
        endpoint.database = 4
        let other = try RedisSession(endpoint)
        #expect(try other.command("ACL", "WHOAMI").text == "alice")
        try other.command("SET", "k", "v")
        #expect(try session.command("EXISTS", "k").integer == 0)
        endpoint.password = "wrong"
        let refused = try RedisSession(endpoint)
        do {
            try refused.command("PING")
            Issue.record("the wrong password was accepted")
        } catch {
            #expect(error.code == .authentication)
            #expect(!error.message.contains("wrong"))
        }
    }

    @Test func refusesAtOnceWithoutAConnection() throws {
        let rig = try Rig(RedisEndpoint(address: .unix(path: "/nonexistent/redis.sock")))
        #expect(rig.issue("PING") == .unavailable)
        #expect(rig.loop.runUntil { rig.recorder.disconnects.count >= 3 })
        #expect(rig.recorder.answers.isEmpty)
        #expect(rig.client.statistics.refusedUnavailable == 1)
        #expect(rig.recorder.disconnects.allSatisfy { $0.code == .unavailable })
    }

    @Test func holdsCommandsUntilThereIsAConnection() throws {
        let server = try RedisServer()
        let endpoint = server.endpoint
        server.kill()
        let rig = try Rig(endpoint) { $0.whenDisconnected = .hold }
        #expect(rig.issue("ECHO", "held") == nil)
        #expect(rig.loop.runUntil { !rig.recorder.disconnects.isEmpty })
        try server.start()
        rig.answers(1)
        #expect(rig.recorder.answers.first?.value.text == "held")
    }

    @Test func failsHeldCommandsAtTheirDeadline() throws {
        let rig = try Rig(RedisEndpoint(address: .unix(path: "/nonexistent/redis.sock"))) {
            $0.whenDisconnected = .hold
            $0.timeoutMs = 50
        }
        for value in 0..<10 { #expect(rig.issue("PING", value: UInt64(value)) == nil) }
        rig.answers(10)
        #expect(rig.recorder.answers.allSatisfy { $0.code == .unavailable })
        #expect(rig.client.inFlight == 0)
        #expect(rig.client.bufferedBytes == 0)
    }

    @Test func failsWhatAHungServerOwesAndComesBack() throws {
        let server = try RedisServer()
        let rig = try Rig(server.endpoint) { $0.timeoutMs = 200 }
        rig.ready()
        server.suspend()
        for value in 0..<100 { #expect(rig.issue("PING", value: UInt64(value)) == nil) }
        rig.answers(100)
        #expect(rig.recorder.answers.allSatisfy { $0.code == .timedOut })
        #expect(rig.recorder.answers.map(\.tag.value) == Array(0..<100))
        #expect(rig.client.statistics.timeouts == 1)
        server.resume()
        rig.ready()
        #expect(rig.issue("ECHO", "again") == nil)
        rig.answers(101)
        #expect(rig.recorder.answers.last?.value.text == "again")
    }

    @Test func failsWhatACrashedServerOwesAndComesBack() throws {
        let server = try RedisServer(persistence: .appendOnly)
        let rig = try Rig(server.endpoint)
        rig.ready()
        #expect(rig.issue("SET", "k", "v") == nil)
        rig.answers(1)
        server.suspend()
        #expect(rig.issue("GET", "k") == nil)
        rig.loop.runOnce(maxWaitMs: 0)
        server.kill()
        rig.answers(2)
        #expect(rig.recorder.answers.last?.code == .connectionLost)
        #expect(rig.issue("GET", "k") == .unavailable)
        try server.start()
        rig.ready()
        #expect(rig.issue("GET", "k") == nil)
        rig.answers(3)
        #expect(rig.recorder.answers.last?.value.text == "v")
        #expect(rig.recorder.connects == 2)
    }

    @Test func keepsItsBounds() throws {
        let server = try RedisServer()
        let rig = try Rig(server.endpoint) { $0.maximumInFlight = 10 }
        rig.ready()
        for _ in 0..<10 { #expect(rig.issue("PING") == nil) }
        #expect(rig.issue("PING") == .tooManyInFlight)
        rig.answers(10)
        #expect(rig.issue("PING") == nil)
        let narrow = try Rig(server.endpoint) { $0.maximumBufferedBytes = 100 }
        narrow.ready()
        #expect(narrow.issue("ECHO", String(repeating: "x", count: 200)) == nil)
        #expect(narrow.issue("PING") == .bufferFull)
        narrow.answers(1)
        #expect(narrow.issue("PING") == nil)
        #expect(narrow.client.statistics.refusedBuffer == 1)
    }

    @Test func refusesACommandWithAWrongArgumentCount() throws {
        let server = try RedisServer()
        let rig = try Rig(server.endpoint)
        rig.ready()
        let tag = RedisTag(kind: 0, value: 0)
        #expect(
            rig.client.issue(tag) {
                $0.begin(2); $0.argument("GET")
            } == .malformed)
        #expect(
            rig.client.issue(tag) {
                $0.append(["PING"]); $0.append(["PING"])
            } == .malformed)
        #expect(rig.client.issue(tag) { _ in } == .malformed)
        #expect(rig.issue("ECHO", "fine") == nil)
        rig.answers(1)
        #expect(rig.recorder.answers.first?.value.text == "fine")
    }

    @Test func loadsAForgottenScriptAgain() throws {
        let server = try RedisServer()
        let script = RedisScript(name: "double", source: "return ARGV[1] * 2")
        let rig = try Rig(server.endpoint) { $0.scripts = [script] }
        rig.ready()
        let call = { (value: Int64) in
            rig.client.issue(RedisTag(kind: 1, value: UInt64(value))) { out in
                out.begin(script, keys: 0, arguments: 1)
                out.argument(decimal: value)
            }
        }
        #expect(call(1) == nil)
        rig.answers(1)
        try server.session().command("SCRIPT", "FLUSH")
        for value in 2...20 { #expect(call(Int64(value)) == nil) }
        rig.answers(20)
        #expect(rig.recorder.answers.map(\.value) == (1...20).map { .integer(Int64($0 * 2)) })
        #expect(rig.client.statistics.scriptReloads == 19)
        #expect(rig.client.bufferedBytes == 0)
    }

    @Test func sortsErrorRepliesIntoClasses() throws {
        let server = try RedisServer(settings: ["--maxmemory", "1500kb"])
        let session = try server.session()
        try session.command("SET", "text", "x")
        func code(_ words: String...) -> RedisFailure.Code? {
            do throws(RedisFailure) {
                try session.command(words)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code("HGET", "text", "f") == .wrongType)
        #expect(code("EVALSHA", String(repeating: "0", count: 40), "0") == .noScript)
        #expect(code("NOSUCHCOMMAND") == .refused)
        try session.command("ACL", "SETUSER", "default", "-get")
        #expect(code("GET", "text") == .notPermitted)
        var filled: RedisFailure.Code?
        for index in 0..<100 where filled == nil {
            filled = code("SET", "big\(index)", String(repeating: "x", count: 100_000))
        }
        #expect(filled == .outOfMemory)
        #expect(RedisFailure.Code.outOfMemory.isOutage)
    }

    @Test(arguments: [
        ("OOM command not allowed", RedisFailure.Code.outOfMemory), ("OOMX", .refused), ("LOADING", .loading),
        ("READONLY You can't", .readOnly), ("MOVED 1 h:1", .cluster), ("BUSYGROUP x", .refused),
        ("BUSY x", .busy),
        ("MISCONF x", .misconfigured), ("NOREPLICAS x", .misconfigured), ("WRONGPASS x", .authentication),
        ("", .refused),
    ])
    func knowsThePrefix(text: String, code: RedisFailure.Code) {
        #expect(Array(text.utf8).withUnsafeBytes { RedisFailure.Code.ofErrorReply($0) } == code)
    }

    @Test func leavesADemotedServer() throws {
        let server = try RedisServer()
        let rig = try Rig(server.endpoint)
        rig.ready()
        let session = try server.session()
        try session.command("REPLICAOF", "127.0.0.1", "1")
        #expect(rig.issue("SET", "k", "v") == nil)
        rig.answers(1)
        #expect(rig.recorder.answers.first?.code == .readOnly)
        #expect(rig.loop.runUntil { !rig.recorder.disconnects.isEmpty })
        try session.command("REPLICAOF", "NO", "ONE")
        rig.ready()
        #expect(rig.issue("SET", "k", "v") == nil)
        rig.answers(2)
        #expect(rig.recorder.answers.last?.code == nil)
    }

    @Test func failsEverythingWhenItIsClosedByItsHandler() throws {
        let server = try RedisServer()
        let rig = try Rig(server.endpoint)
        rig.ready()
        rig.recorder.afterAnswer = { rig.client.close() }
        for value in 0..<50 { #expect(rig.issue("PING", value: UInt64(value)) == nil) }
        rig.answers(50)
        #expect(rig.recorder.answers.count == 50)
        #expect(rig.recorder.answers.first?.code == nil)
        #expect(rig.recorder.answers.dropFirst().allSatisfy { $0.code == .closed })
        #expect(rig.issue("PING") == .closed)
        rig.recorder.afterAnswer = nil
    }

    @Test func resolvesNamesWithoutBlockingTheLoop() throws {
        let server = try RedisServer()
        let rig = try Rig(RedisEndpoint(address: .tcp(host: "localhost", port: server.port)))
        rig.ready()
        #expect(rig.issue("PING") == nil)
        rig.answers(1)
        let nowhere = try Rig(RedisEndpoint(address: .tcp(host: "no.such.host.invalid", port: 1)))
        #expect(nowhere.loop.runUntil { !nowhere.recorder.disconnects.isEmpty })
    }

    @Test func givesUpAPeerThatDoesntSpeakTheProtocol() throws {
        let listener = try Socket.listen(host: "127.0.0.1", port: 0)
        defer { Socket.close(listener) }
        let rig = try Rig(RedisEndpoint(address: .tcp(host: "127.0.0.1", port: Socket.port(of: listener))))
        var peers: [Int32] = []
        let found = rig.loop.runUntil {
            if let peer = Socket.accept(listener) {
                peers.append(peer)
                _ = Array("HTTP/1.1 400 Bad Request\r\n".utf8).withUnsafeBytes { Socket.send(peer, $0) }
            }
            return rig.recorder.disconnects.contains { $0.code == .protocolBroken }
        }
        for peer in peers { Socket.close(peer) }
        #expect(found)
        #expect(rig.recorder.connects == 0)
    }

    @Test func goesOnWhenAFullSocketDrains() throws {
        let server = try RedisServer()
        let rig = try Rig(server.endpoint) { $0.timeoutMs = 20_000 }
        rig.ready()
        server.suspend()
        let padding = String(repeating: "z", count: 10_000)
        for value in 0..<500 { #expect(rig.issue("ECHO", "\(value)\(padding)", value: UInt64(value)) == nil) }
        for _ in 0..<20 { rig.loop.runOnce(maxWaitMs: 1) }
        #expect(rig.recorder.answers.isEmpty)
        #expect(rig.client.statistics.bytesOut < 5_000_000)
        server.resume()
        rig.answers(500)
        for (index, answer) in rig.recorder.answers.enumerated() {
            #expect(answer.value.text == "\(index)\(padding)")
        }
    }

    @Test func takesNothingFromAPeerThatAnswersUnasked() throws {
        let listener = try Socket.listen(host: "127.0.0.1", port: 0)
        defer { Socket.close(listener) }
        let rig = try Rig(RedisEndpoint(address: .tcp(host: "127.0.0.1", port: Socket.port(of: listener)))) {
            $0.backoffFirstMs = 5_000
            $0.backoffLastMs = 5_000
        }
        var peer: Int32?
        #expect(
            rig.loop.runUntil {
                if peer == nil, let accepted = Socket.accept(listener) {
                    peer = accepted
                    _ = Array("+OK\r\n+PONG\r\n".utf8).withUnsafeBytes { Socket.send(accepted, $0) }
                }
                return rig.client.isReady
            })
        let descriptor = try #require(peer)
        defer { Socket.close(descriptor) }
        _ = Array(":1\r\n".utf8).withUnsafeBytes { Socket.send(descriptor, $0) }
        #expect(rig.loop.runUntil { !rig.recorder.disconnects.isEmpty })
        #expect(rig.recorder.disconnects.first?.code == .protocolBroken)
        #expect(rig.recorder.answers.isEmpty)
    }

    @Test func keepsWhatWasNotSentAcrossALostConnection() throws {
        let server = try RedisServer()
        let rig = try Rig(server.endpoint) {
            $0.whenDisconnected = .hold
            $0.timeoutMs = 20_000
        }
        rig.ready()
        server.suspend()
        let padding = String(repeating: "z", count: 100_000)
        for value in 0..<50 { #expect(rig.issue("ECHO", "\(value)\(padding)", value: UInt64(value)) == nil) }
        for _ in 0..<20 { rig.loop.runOnce(maxWaitMs: 1) }
        server.kill()
        try server.start()
        rig.answers(50)
        #expect(rig.recorder.answers.map(\.tag.value) == Array(0..<50))
        let lost = rig.recorder.answers.prefix { $0.code == .connectionLost }
        #expect(!lost.isEmpty && lost.count < 50)
        for answer in rig.recorder.answers.dropFirst(lost.count) {
            #expect(answer.value.text == "\(answer.tag.value)\(padding)")
        }
    }
}

@Suite struct EncryptedRedisTests {
    /// A server that speaks TLS, and its address.
    private func start(_ tls: RedisTLS) throws -> (server: RedisServer, endpoint: RedisEndpoint) {
        let port = try RedisTLS.freePort()
        return (try RedisServer(settings: tls.settings(port: port)), tls.endpoint(port: port))
    }

    @Test func answersOverTLS() throws {
        let tls = try RedisTLS()
        let (server, endpoint) = try start(tls)
        let rig = try Rig(endpoint) { $0.tls = tls.context }
        rig.ready()
        let padding = String(repeating: "y", count: 5_000)
        for value in 0..<1_000 {
            #expect(rig.issue("ECHO", "\(value)\(padding)", value: UInt64(value)) == nil)
        }
        rig.answers(1_000)
        for (index, answer) in rig.recorder.answers.enumerated() {
            #expect(answer.value.text == "\(index)\(padding)")
        }
        server.kill()
        #expect(rig.loop.runUntil { !rig.client.isReady })
        try server.start()
        rig.ready()
        #expect(rig.issue("PING") == nil)
        rig.answers(1_001)
        #expect(rig.recorder.answers.last?.value.text == "PONG")
    }

    @Test func refusesAServerThatItDoesntTrust() throws {
        let tls = try RedisTLS()
        let (server, endpoint) = try start(tls)
        let rig = try Rig(endpoint)
        #expect(rig.loop.runUntil { !rig.recorder.disconnects.isEmpty })
        #expect(rig.recorder.disconnects.first?.message.contains("trusted") == true)
        #expect(rig.recorder.connects == 0)
        #expect(server.processID != nil)
    }

    @Test func givesUpAServerThatSpeaksPlainText() throws {
        let server = try RedisServer()
        var endpoint = server.tcpEndpoint
        endpoint.isEncrypted = true
        let rig = try Rig(endpoint) { $0.connectTimeoutMs = 300 }
        #expect(rig.loop.runUntil { !rig.recorder.disconnects.isEmpty })
        #expect(rig.recorder.connects == 0)
    }
}
