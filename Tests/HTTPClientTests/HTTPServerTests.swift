import EventLoop
import Glibc
import HTTPClient
import HTTPServer
import Metrics
import Testing

@Suite struct HTTPServerTests {
    private func get(_ server: HTTPServer, _ path: String, method: String = "GET") throws
        -> HTTPClientResponse
    {
        try HTTPClient(HTTPClientOptions()).send(
            HTTPClientRequest(method: method, url: "http://127.0.0.1:\(server.port)\(path)"))
    }

    /// Writes raw bytes to the server and reads until it closes or a deadline passes.
    private func raw(_ server: HTTPServer, _ request: [UInt8]) throws -> String {
        let descriptor = try Socket.connect(host: "127.0.0.1", port: server.port)
        defer { Socket.close(descriptor) }
        var sent = 0
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        let end = Clock.monotonicMs + 5_000
        while Clock.monotonicMs < end {
            if sent < request.count {
                let wrote = request[sent...].withUnsafeBytes { Socket.send(descriptor, $0) }
                if wrote > 0 { sent += wrote }
            }
            let got = buffer.withUnsafeMutableBytes { Socket.recv(descriptor, into: $0) }
            if got > 0 { answer += buffer[..<got] }
            if got == 0 || got == -104 { break }
        }
        return String(decoding: answer, as: UTF8.self)
    }

    @Test func theHealthPathsAnswerWhatTheirClosuresSay() throws {
        let ready = Locked(false)
        let family = MetricFamily.gauge("peal_up", "Up.", by: [.worker])
        let endpoints = HealthEndpoints(
            role: .worker, ready: { ready.withLock { $0 } ? .ok : .failing("Redis does not answer.") },
            metrics: { $0.single(family, 1) }, status: { Array("{\"a\":1}".utf8) }, page: { "a  1\n" })
        let server = try endpoints.serve(HTTPServerOptions())
        defer { server.stop() }
        #expect(try get(server, "/livez").status == 200)
        #expect(try get(server, "/healthz").status == 200)
        let not = try get(server, "/readyz")
        #expect(not.status == 503)
        #expect(String(decoding: not.body, as: UTF8.self) == "Redis does not answer.\n")
        ready.withLock { $0 = true }
        #expect(try get(server, "/readyz").status == 200)
        let metrics = try get(server, "/metrics")
        #expect(String(decoding: metrics.body, as: UTF8.self).hasSuffix("\npeal_up 1\n"))
        #expect(MetricText(String(decoding: metrics.body, as: UTF8.self)).sum("peal_ready") == 1)
        #expect(metrics.header("content-type") == "text/plain; version=0.0.4; charset=utf-8")
        #expect(String(decoding: try get(server, "/statusz").body, as: UTF8.self) == "a  1\n")
        #expect(try get(server, "/other").status == 404)
        let post = try get(server, "/livez", method: "POST")
        #expect(post.status == 405)
        #expect(post.header("allow") == "GET")
    }

    private static func respond(
        _ path: String, accept: String? = nil, query: [(name: String, value: String)] = [],
        page: (@Sendable () -> String)? = { "text" }
    ) -> HTTPResponse? {
        HealthEndpoints(role: .gateway, status: { Array("{}".utf8) }, page: page).respond(
            HTTPRequest(
                method: "GET", path: path, query: query,
                headers: accept.map { [("accept", $0)] } ?? []))
    }

    @Test func metricsComeInTheFormThatIsAskedFor() throws {
        let open = try #require(Self.respond("/metrics", accept: "application/openmetrics-text"))
        #expect(open.headers.contains { $0.value.hasPrefix("application/openmetrics-text; version=1.0.0") })
        #expect(String(decoding: open.body, as: UTF8.self).hasSuffix("\n# EOF\n"))
        let text = try #require(Self.respond("/metrics", accept: "*/*"))
        #expect(!String(decoding: text.body, as: UTF8.self).contains("# EOF"))
    }

    @Test(arguments: [
        (nil, nil, "text"), ("*/*", nil, "text"), ("text/html, application/json;q=0.5", nil, "text"),
        ("application/json", nil, "{}"), ("application/json, */*;q=0.1", nil, "{}"),
        ("application/json", "text", "text"), (nil, "json", "{}"),
    ])
    func theStatusComesInTheFormThatIsAskedFor(accept: String?, format: String?, body: String) throws {
        let response = try #require(
            Self.respond("/statusz", accept: accept, query: format.map { [("format", $0)] } ?? []))
        #expect(String(decoding: response.body, as: UTF8.self) == body)
        #expect(response.status == 200)
    }

    @Test func aFormThatThereIsNoneOfIsRefused() {
        #expect(Self.respond("/statusz", query: [("format", "xml")])?.status == 400)
        // Without a page for people there is the JSON.
        #expect(Self.respond("/statusz", page: nil)?.body == Array("{}".utf8))
    }

    @Test func aHandlerMayAnswerLaterFromAnotherThread() throws {
        let waiting = Inbox<HTTPExchange>(waker: nil)
        let server = try HTTPServer.start(HTTPServerOptions()) { (exchange: HTTPExchange) in
            waiting.push(exchange)
        }
        defer { server.stop() }
        let answerer = WorkerThread.start(name: "answerer") {
            var batch: [HTTPExchange] = []
            var answered = 0
            let end = Clock.monotonicMs + 60_000
            while answered < 3, Clock.monotonicMs < end {
                waiting.drain(into: &batch)
                for exchange in batch {
                    exchange.respond(.text(202, "late \(exchange.request.path)"))
                    exchange.respond(.text(500, "a second answer"))
                    answered += 1
                }
            }
        }
        for path in ["/a", "/b", "/c"] {
            let response = try get(server, path)
            #expect(response.status == 202)
            #expect(String(decoding: response.body, as: UTF8.self) == "late \(path)\n")
        }
        answerer.join()
    }

    @Test func stoppingAnswersWhatStillWaits() throws {
        let arrived = Locked(0)
        let kept = Locked<[HTTPExchange]>([])
        let server = try HTTPServer.start(HTTPServerOptions()) { (exchange: HTTPExchange) in
            kept.withLock { $0.append(exchange) }
            arrived.withLock { $0 += 1 }
        }
        let statuses = Locked<[Int]>([])
        let port = server.port
        let callers = (0..<3).map { _ in
            WorkerThread.start(name: "caller") {
                let client = HTTPClient(HTTPClientOptions())
                let response = try? client.send(HTTPClientRequest(url: "http://127.0.0.1:\(port)/"))
                statuses.withLock { $0.append(response?.status ?? 0) }
            }
        }
        let end = Clock.monotonicMs + 60_000
        while arrived.withLock({ $0 }) < 3, Clock.monotonicMs < end {}
        #expect(arrived.withLock { $0 } == 3)
        server.stop(deadlineMs: 50)
        for caller in callers { caller.join() }
        #expect(statuses.withLock { $0 } == [503, 503, 503])
        // Answering after the end does nothing; so does stopping again.
        for exchange in kept.withLock({ $0 }) { exchange.respond(.text(200, "late")) }
        server.stop()
    }

    /// A client that keeps its connection would be served for as long as the stop may last, and one that
    /// connects anew would wait as long for nothing.
    @Test func whileItStopsAnswersEndTheirConnectionsAndNobodyCanConnect() throws {
        let kept = Locked<[HTTPExchange]>([])
        let server = try HTTPServer.start(HTTPServerOptions()) { (exchange: HTTPExchange) in
            if exchange.request.path == "/later" {
                kept.withLock { $0.append(exchange) }
            } else {
                exchange.respond(.text(200, "now"))
            }
        }
        let waiting = try Socket.connect(host: "127.0.0.1", port: server.port)
        let faithful = try Socket.connect(host: "127.0.0.1", port: server.port)
        defer { [waiting, faithful].forEach(Socket.close) }
        write("GET /later HTTP/1.1\r\nHost: x\r\n\r\n", to: waiting)
        write("GET /first HTTP/1.1\r\nHost: x\r\n\r\n", to: faithful)
        let first = readUntil(faithful) { $0.hasSuffix("now\n") }
        #expect(first.hasPrefix("HTTP/1.1 200") && !first.lowercased().contains("connection: close"))
        let end = Clock.monotonicMs + 60_000
        while kept.withLock({ $0.isEmpty }), Clock.monotonicMs < end {}
        let stopper = WorkerThread.start(name: "stopper") { server.stop(deadlineMs: 60_000) }
        var isRefused = false
        while !isRefused, Clock.monotonicMs < end {
            isRefused = isConnectionRefused(server.port)
            usleep(1_000)
        }
        #expect(isRefused)
        write("GET /second HTTP/1.1\r\nHost: x\r\n\r\n", to: faithful)
        let second = readUntil(faithful) { _ in false }
        #expect(second.hasPrefix("HTTP/1.1 200") && second.lowercased().contains("connection: close"))
        for exchange in kept.withLock({ $0 }) { exchange.respond(.text(202, "later")) }
        let last = readUntil(waiting) { _ in false }
        #expect(last.hasPrefix("HTTP/1.1 202") && last.lowercased().contains("connection: close"))
        stopper.join()
    }

    private func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        var sent = 0
        let end = Clock.monotonicMs + 60_000
        while sent < bytes.count, Clock.monotonicMs < end {
            let wrote = bytes[sent...].withUnsafeBytes { Socket.send(descriptor, $0) }
            if wrote > 0 { sent += wrote }
        }
    }

    /// What comes until the condition holds, the peer closes, or a minute has passed; the last is marked.
    private func readUntil(_ descriptor: Int32, _ isEnough: (String) -> Bool) -> String {
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        let end = Clock.monotonicMs + 60_000
        while Clock.monotonicMs < end {
            let got = buffer.withUnsafeMutableBytes { Socket.recv(descriptor, into: $0) }
            if got > 0 { answer += buffer[..<got] }
            let text = String(decoding: answer, as: UTF8.self)
            if isEnough(text) || got == 0 { return text }
        }
        return "no end: " + String(decoding: answer, as: UTF8.self)
    }

    private func isConnectionRefused(_ port: UInt16) -> Bool {
        guard let descriptor = try? Socket.connect(host: "127.0.0.1", port: port) else { return true }
        defer { Socket.close(descriptor) }
        return Socket.connectResult(descriptor) == ECONNREFUSED
    }

    @Test func aBodyPastTheLimitIsRefusedAnnouncedOrNot() throws {
        var options = HTTPServerOptions()
        options.bodyBytesMax = 10
        let server = try HTTPServer.start(options) { (request: HTTPRequest) in
            .text(200, "\(request.body.count)")
        }
        defer { server.stop() }
        let head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        let ten = try raw(server, Array("\(head)Content-Length: 10\r\n\r\n0123456789".utf8))
        #expect(ten.hasPrefix("HTTP/1.1 200 "))
        let eleven = try raw(server, Array("\(head)Content-Length: 11\r\n\r\n0123456789a".utf8))
        #expect(eleven.hasPrefix("HTTP/1.1 413 "))
        let chunked = try raw(
            server, Array("\(head)Transfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n0\r\n\r\n".utf8))
        #expect(chunked.hasPrefix("HTTP/1.1 413 "))
        #expect(try get(server, "/").status == 200)
    }

    @Test func malformedRequestsAreAnsweredAndHarmNothing() throws {
        let server = try HTTPServer.start(HTTPServerOptions()) { (request: HTTPRequest) in
            .text(200, request.path)
        }
        defer { server.stop() }
        let long = String(repeating: "a", count: 100_000)
        let inputs: [[UInt8]] = [
            Array("GET\r\n\r\n".utf8), Array("\u{16}\u{3}\u{1}\u{0}garbage\r\n\r\n".utf8),
            Array("GET / HTTP/9.9\r\nHost: x\r\nConnection: close\r\n\r\n".utf8),
            Array("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n".utf8),
            Array(
                "GET /\(long) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                    .utf8),
        ]
        for input in inputs {
            let answer = try raw(server, input)
            #expect(!answer.hasPrefix("HTTP/1.1 200") && !answer.hasPrefix("HTTP/1.0 200"))
        }
        #expect(try get(server, "/still%00here").status == 200)
    }

    @Test func aTakenPortAndABadAddressAreToldApart() throws {
        let server = try HealthEndpoints(role: .worker).serve(HTTPServerOptions())
        defer { server.stop() }
        let taken = #expect(throws: HTTPServerFailure.self) {
            _ = try HealthEndpoints(role: .worker).serve(
                HTTPServerOptions(host: "127.0.0.1", port: server.port))
        }
        #expect(taken?.code == .listen)
        let bad = #expect(throws: HTTPServerFailure.self) {
            _ = try HealthEndpoints(role: .worker).serve(HTTPServerOptions(host: "localhost", port: 0))
        }
        #expect(bad?.code == .invalidAddress)
    }

    @Test func itListensOnIPv6Too() throws {
        let server = try HealthEndpoints(role: .worker).serve(HTTPServerOptions(host: "::1", port: 0))
        defer { server.stop() }
        let response = try HTTPClient(HTTPClientOptions()).send(
            HTTPClientRequest(url: "http://[::1]:\(server.port)/livez"))
        #expect(response.status == 200)
    }
}
