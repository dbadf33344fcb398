import Core
import HTTPServer
import Terminal
import Testing

@testable import SimulatorKit

@Suite("Admin API and command line", .serialized)
struct AdminTests {
    private func get(_ api: AdminAPI, _ path: String, _ query: [(name: String, value: String)] = [])
        -> JSONValue?
    {
        let response = api.answer(HTTPRequest(method: "GET", path: path, query: query))
        return response.status == 200 ? parse(response) : nil
    }

    private func parse(_ response: HTTPResponse) -> JSONValue? {
        try? JSONValue.parse(text: String(decoding: response.body, as: UTF8.self))
    }

    private func post(_ api: AdminAPI, _ path: String, _ body: String, method: String = "POST")
        -> HTTPResponse
    {
        api.answer(HTTPRequest(method: method, path: path, body: Array(body.utf8)))
    }

    @Test("Record, summary, counters, keys and clearing") func reading() throws {
        let running = try RunningSimulator()
        let api = AdminAPI(simulator: running.simulator)
        let client = try running.apns()
        #expect(client.send(path: RunningSimulator.path(7), body: RunningSimulator.body).status == 200)
        #expect(get(api, "/record", [("job", "J1")])?.array?.first?["token"]?.string == "0000000000000007")
        #expect(get(api, "/record", [("token", "0000000000000007")])?.array?.count == 1)
        #expect(get(api, "/record", [("apns_id", "x")])?.array?.count == 0)
        #expect(get(api, "/record", [("from", "0"), ("limit", "5")])?.array?.count == 1)
        #expect(get(api, "/record/summary")?["delivered"]?.integer == 1)
        #expect(get(api, "/stats")?["requests"]?.integer == 1)
        #expect(get(api, "/keys")?["key_id"]?.string == running.simulator.credentials.keyID)
        let metrics = api.answer(HTTPRequest(method: "GET", path: "/metrics"))
        #expect(String(decoding: metrics.body, as: UTF8.self).contains("peal_simulator_requests_total 1"))
        #expect(api.answer(HTTPRequest(method: "DELETE", path: "/record")).status == 200)
        #expect(get(api, "/record/summary")?["delivered"]?.integer == 0)
        #expect(api.answer(HTTPRequest(method: "GET", path: "/nothing")).status == 404)
    }

    @Test("Faults, devices and the clock are set, and mistakes are explained") func changing() throws {
        let running = try RunningSimulator()
        let api = AdminAPI(simulator: running.simulator)
        let client = try running.apns()
        func status() -> Int {
            client.send(path: RunningSimulator.path(1), body: RunningSimulator.body).status
        }
        #expect(post(api, "/faults", "{\"rules\":[{\"answer\":{\"status\":500}}]}").status == 200)
        #expect(status() == 500)
        let refused = post(api, "/faults", "{\"rules\":[{\"answer\":{\"status\":1}}]}")
        #expect(refused.status == 400)
        #expect(parse(refused)?["error"]?.string?.contains("rules[0]") == true)
        #expect(post(api, "/faults", "", method: "DELETE").status == 200)
        #expect(status() == 200)
        let device = "[{\"token\":\"0000000000000001\",\"unregistered_at_ms\":1700000000000}]"
        #expect(post(api, "/devices", device).status == 200)
        #expect(status() == 410)
        #expect(post(api, "/devices", "[{}]").status == 400)
        #expect(post(api, "/devices", "{}").status == 400)
        #expect(post(api, "/clock", "{\"offset_ms\":3700000}").status == 200)
        #expect(status() == 403)
        #expect(post(api, "/clock", "soon").status == 400)
        #expect(post(api, "/tokens", "", method: "DELETE").status == 200)
    }

    @Test("The token endpoint is also there for clients without HTTP/2") func plainToken() throws {
        let running = try RunningSimulator()
        let api = AdminAPI(simulator: running.simulator)
        let response = post(api, "/token", "grant_type=password")
        #expect(response.status == 400)
        #expect(parse(response)?["error"]?.string == "unsupported_grant_type")
    }

    private func settings(_ words: String) throws -> SimulatorSettings? {
        let words = words.split(separator: " ").map(String.init)
        guard case .run(let arguments) = try ArgumentParser.parse(words, for: SimulatorCommand.command) else {
            return nil
        }
        return try SimulatorCommand.settings(arguments)
    }

    @Test("The command line sets what it says") func commandLine() throws {
        let plain = try #require(try settings(""))
        #expect(plain.apnsPort == 2197 && plain.fcmPort == 2199 && plain.adminPort == 2200)
        #expect(!plain.acceptsAll)
        let full = try #require(
            try settings(
                "--apns-port 0 --sandbox-port off --accept-all --delay-ms 40 --bundle-id a --bundle-id b --job-key id "
                    + "--record-max 10 --keep-bodies --count-updates-per-key --shrink-on-errors --streams 7"))
        #expect(full.apnsPort == 0 && full.sandboxPort == nil)
        #expect(full.acceptsAll && full.keepsBodies && full.shrinksOnErrors)
        #expect(full.delayMs == 40 && full.recordMax == 10 && full.apnsStreamsMax == 7)
        #expect(full.bundleIDs == ["a", "b"])
        #expect(full.jobMarkers == ["id"])
        #expect(full.tokenUpdateScope == .key)
        #expect(throws: UsageFailure.self) { try settings("--apns-port 70000") }
        #expect(throws: UsageFailure.self) { try settings("--faults /nonexistent/file") }
    }
}
