import EventLoop
import HTTPClient
import HTTPServer
import Testing

@Suite struct HTTPClientTests {
    private func echo(_ options: HTTPServerOptions = HTTPServerOptions()) throws -> HTTPServer {
        try HTTPServer.start(options) { (request: HTTPRequest) in
            switch request.path {
            case "/nothing": HTTPResponse(status: 204)
            case "/large": HTTPResponse(status: 200, body: [UInt8](repeating: 7, count: 300_000))
            case "/moved": HTTPResponse(status: 302, headers: [("location", "/nothing")])
            default:
                HTTPResponse(
                    status: 200,
                    headers: [
                        ("X-Method", request.method), ("x-path", request.path),
                        ("x-query", request.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")),
                        ("x-type", request.header("content-type") ?? "none"),
                    ], body: request.body)
            }
        }
    }

    @Test func aRequestArrivesWholeAndItsAnswerComesBack() throws {
        let server = try echo()
        defer { server.stop() }
        let client = HTTPClient(HTTPClientOptions())
        let body = [UInt8]("grant_type=x&ü".utf8)
        let response = try client.send(
            HTTPClientRequest(
                method: "POST", url: "http://127.0.0.1:\(server.port)/a%20b?x=1&y=%C3%BC&flag",
                headers: [("Content-Type", "application/x-www-form-urlencoded")], body: body))
        #expect(response.status == 200)
        #expect(response.header("x-method") == "POST")
        #expect(response.header("x-path") == "/a b")
        #expect(response.header("x-query") == "x=1&y=ü&flag=")
        #expect(response.header("x-type") == "application/x-www-form-urlencoded")
        #expect(response.body == body)
    }

    @Test(arguments: ["GET", "DELETE", "PUT", "PATCH", "POST", "HEAD"])
    func everyMethodIsSentAsItIs(method: String) throws {
        let server = try echo()
        defer { server.stop() }
        let response = try HTTPClient(HTTPClientOptions()).send(
            HTTPClientRequest(method: method, url: "http://127.0.0.1:\(server.port)/"))
        #expect(response.status == 200)
        #expect(response.header("x-method") == method)
        #expect(response.header("x-type") == "none")
        #expect(response.body.isEmpty)
    }

    @Test func theHandleIsGoodForFurtherRequestsOfOtherKinds() throws {
        let server = try echo()
        defer { server.stop() }
        let client = HTTPClient(HTTPClientOptions())
        for size in [0, 1, 100_000, 0] {
            let response = try client.send(
                HTTPClientRequest(
                    method: "POST", url: "http://127.0.0.1:\(server.port)/",
                    body: [UInt8](repeating: 65, count: size)))
            #expect(response.body.count == size)
            let empty = try client.send(HTTPClientRequest(url: "http://127.0.0.1:\(server.port)/nothing"))
            #expect(empty.status == 204)
        }
    }

    @Test func aRedirectIsAnAnswer() throws {
        let server = try echo()
        defer { server.stop() }
        let response = try HTTPClient(HTTPClientOptions()).send(
            HTTPClientRequest(url: "http://127.0.0.1:\(server.port)/moved"))
        #expect(response.status == 302)
        #expect(response.header("location") == "/nothing")
    }

    @Test func tooLongAnAnswerIsRefused() throws {
        let server = try echo()
        defer { server.stop() }
        var options = HTTPClientOptions()
        options.responseBytesMax = 299_999
        let client = HTTPClient(options)
        let failure = #expect(throws: HTTPClientFailure.self) {
            try client.send(HTTPClientRequest(url: "http://127.0.0.1:\(server.port)/large"))
        }
        #expect(failure?.code == .tooLarge)
        options.responseBytesMax = 300_000
        let whole = try HTTPClient(options).send(
            HTTPClientRequest(url: "http://127.0.0.1:\(server.port)/large"))
        #expect(whole.body.count == 300_000)
    }

    @Test func aClosedPortIsAConnectFailureThatIsSafeToResend() throws {
        let listener = try Socket.listen(host: "127.0.0.1", port: 0, backlog: 1, reusePort: false)
        let port = Socket.port(of: listener)
        Socket.close(listener)
        let failure = #expect(throws: HTTPClientFailure.self) {
            try HTTPClient(HTTPClientOptions()).send(HTTPClientRequest(url: "http://127.0.0.1:\(port)/"))
        }
        #expect(failure?.code == .connect)
        #expect(failure?.mayHaveArrived == false)
    }

    @Test func aSilentServerRunsIntoTheDeadline() throws {
        // It accepts (the kernel's backlog does) and never answers.
        let listener = try Socket.listen(host: "127.0.0.1", port: 0, backlog: 8, reusePort: false)
        defer { Socket.close(listener) }
        var options = HTTPClientOptions()
        options.totalTimeoutMs = 100
        let failure = #expect(throws: HTTPClientFailure.self) {
            try HTTPClient(options).send(
                HTTPClientRequest(url: "http://127.0.0.1:\(Socket.port(of: listener))/x?secret=1"))
        }
        #expect(failure?.code == .timedOut)
        #expect(failure?.mayHaveArrived == true)
        #expect(failure?.description.contains("secret") == false)
    }

    @Test(arguments: [
        HTTPClientRequest(url: "file:///etc/passwd"),
        HTTPClientRequest(url: "http://127.0.0.1/a b"),
        HTTPClientRequest(url: ""),
        HTTPClientRequest(method: "GET X", url: "http://127.0.0.1/"),
        HTTPClientRequest(url: "http://127.0.0.1/", headers: [("a", "b\r\nc: d")]),
        HTTPClientRequest(url: "http://127.0.0.1/", headers: [("a b", "c")]),
    ])
    func aMalformedRequestIsNotSent(request: HTTPClientRequest) {
        let failure = #expect(throws: HTTPClientFailure.self) {
            try HTTPClient(HTTPClientOptions()).send(request)
        }
        #expect(failure?.code == .invalidRequest)
        #expect(failure?.mayHaveArrived == false)
    }

    @Test func plainTextWhereTLSIsExpectedIsATLSFailure() throws {
        let server = try echo()
        defer { server.stop() }
        let failure = #expect(throws: HTTPClientFailure.self) {
            try HTTPClient(HTTPClientOptions()).send(
                HTTPClientRequest(url: "https://127.0.0.1:\(server.port)/"))
        }
        #expect(failure?.code == .tls)
    }

    @Test func theWorkerAnswersInOrderAndFailsWhatWaitsWhenItStops() throws {
        let server = try echo()
        defer { server.stop() }
        let worker = HTTPWorker(HTTPClientOptions(), queueMax: 64)
        let answers = Inbox<(Int, Int)>(waker: nil)
        for number in 0..<20 {
            let accepted = worker.submit(
                HTTPClientRequest(
                    method: "POST", url: "http://127.0.0.1:\(server.port)/", body: [UInt8(number)])
            ) { outcome in
                if case .success(let response) = outcome { answers.push((number, Int(response.body[0]))) }
                if case .failure(let failure) = outcome {
                    answers.push((number, failure.code == .stopped ? number : -1))
                }
            }
            #expect(accepted)
        }
        worker.stop()
        var got: [(Int, Int)] = []
        answers.drain(into: &got)
        #expect(got.map(\.0) == Array(0..<20))
        #expect(got.map(\.1) == Array(0..<20))
        let late = worker.submit(HTTPClientRequest(url: "http://127.0.0.1/")) { _ in }
        #expect(!late)
        #expect(worker.refusedCount == 1)
    }
}
