import EventLoop
import HTTPClient
import TestSupport
import Testing

@Suite struct HTTPClientProxyTests {
    private func failure(
        _ conduct: ConnectProxy.Conduct, credentials: String = "", timeoutMs: Int = 10_000
    ) throws -> HTTPClientFailure? {
        let proxy = try ConnectProxy(conduct)
        defer { proxy.stop() }
        var options = HTTPClientOptions()
        options.proxy = "http://127.0.0.1:\(proxy.port)"
        options.proxyCredentials = credentials
        options.totalTimeoutMs = timeoutMs
        let failure = #expect(throws: HTTPClientFailure.self) {
            try HTTPClient(options).send(HTTPClientRequest(url: "https://token.invalid/token"))
        }
        #expect(proxy.requests.first?.hasPrefix("CONNECT token.invalid:443 ") == true)
        return failure
    }

    @Test func wrongCredentialsAndARefusalAreSaidPlainly() throws {
        let unknown = try failure(.tunnel(credentials: "a:right"), credentials: "a:secret")
        #expect(unknown?.code == .connect)
        #expect(unknown?.description.contains("407") == true)
        #expect(unknown?.description.contains("token.invalid") == true)
        #expect(unknown?.description.contains("secret") == false)
        #expect(unknown?.mayHaveArrived == false)
        let refused = try failure(.answer("HTTP/1.1 403 Forbidden"))
        #expect(refused?.code == .connect)
        #expect(refused?.description.contains("403") == true)
    }

    @Test func aHungProxyRunsIntoTheDeadline() throws {
        #expect(try failure(.hang, timeoutMs: 2000)?.code == .timedOut)
    }

    @Test func credentialsWithAColonInThePasswordArriveWhole() throws {
        let proxy = try ConnectProxy(.answer("HTTP/1.1 503 Busy"))
        defer { proxy.stop() }
        var options = HTTPClientOptions()
        options.proxy = "http://127.0.0.1:\(proxy.port)"
        options.proxyCredentials = "peal:se:cr@t/"
        _ = try? HTTPClient(options).send(HTTPClientRequest(url: "https://token.invalid/"))
        // Base64 of peal:se:cr@t/
        #expect(proxy.requests.first?.contains("Proxy-Authorization: Basic cGVhbDpzZTpjckB0Lw==\r\n") == true)
    }
}
