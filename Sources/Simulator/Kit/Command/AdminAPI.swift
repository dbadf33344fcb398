import Core
import EventLoop
import HTTPServer
import Metrics

/// The simulator's plain HTTP interface: record, faults, devices, counters, credentials.
///
/// - Threading: the HTTP server's; it only calls methods that any thread may call.
final class AdminAPI: Sendable {
    private static let pageMax = 10_000

    private unowned let simulator: Simulator

    init(simulator: Simulator) { self.simulator = simulator }

    /// Answers one request.
    func answer(_ request: HTTPRequest) -> HTTPResponse {
        if request.path != "/statusz", let answer = endpoints.respond(request) { return answer }
        switch (request.method, request.path) {
        case ("GET", "/record"): return requests(request)
        case ("DELETE", "/record"):
            simulator.record.clear()
            return .json(200, "{}\n")
        case ("GET", "/record/summary"): return json { self.simulator.record.summary().append(json: &$0) }
        case ("GET", "/stats"):
            guard let stats = simulator.stats() else { return .refusal(503, "The simulator is stopping.") }
            return json { stats.append(json: &$0) }
        case ("GET", "/keys"): return json { self.keys(&$0) }
        case ("POST", "/token"), ("POST", "/faults"), ("DELETE", "/faults"), ("POST", "/devices"),
            ("POST", "/clock"), ("DELETE", "/tokens"):
            return change(request)
        default: return .notFound
        }
    }

    private func json(_ body: (inout ByteBuffer) -> Void) -> HTTPResponse {
        var buffer = ByteBuffer(capacity: 4096)
        body(&buffer)
        buffer.append("\n")
        return .json(200, bytes: buffer.array)
    }

    private func requests(_ request: HTTPRequest) -> HTTPResponse {
        let found: [RecordedRequest]
        if let job = request.query("job") {
            found = simulator.record.requests(job: job)
        } else if let token = request.query("token") {
            found = simulator.record.requests(token: token)
        } else if let id = request.query("apns_id") {
            found = simulator.record.requests(apnsID: id)
        } else {
            let limit = min(Self.pageMax, request.query("limit").flatMap { Int($0) } ?? 100)
            found = simulator.record.requests(
                from: request.query("from").flatMap { Int($0) } ?? 0, limit: limit)
        }
        return json { buffer in
            buffer.append("[")
            for (index, entry) in found.prefix(Self.pageMax).enumerated() {
                if index > 0 { buffer.append(",\n") }
                entry.append(json: &buffer)
            }
            buffer.append("]")
        }
    }

    private func keys(_ buffer: inout ByteBuffer) {
        let credentials = simulator.credentials
        let rows: [(String, String)] = [
            ("ca_pem", credentials.caPEM), ("team_id", credentials.teamID), ("key_id", credentials.keyID),
            ("apns_key_pem", credentials.apnsKeyPEM), ("project_id", credentials.projectID),
            ("service_account", credentials.serviceAccountJSON), ("token_uri", simulator.endpoints.tokenURI),
        ]
        for (index, row) in rows.enumerated() {
            buffer.append(index == 0 ? "{" : ",")
            buffer.append(jsonString: row.0)
            buffer.append(":")
            buffer.append(jsonString: row.1)
        }
        buffer.append("}")
    }

    /// The paths that it has in common with Peal's services.
    private var endpoints: HealthEndpoints {
        HealthEndpoints(
            role: .simulator,
            live: { self.simulator.stats() == nil ? .failing("The simulator is stopping.") : .ok },
            ready: { self.simulator.stats() == nil ? .failing("The simulator is stopping.") : .ok },
            metrics: { SimulatorFamilies.write(self.simulator, to: &$0) })
    }

    // MARK: - Changes

    private func change(_ request: HTTPRequest) -> HTTPResponse {
        switch (request.method, request.path) {
        case ("POST", "/token"):
            guard let (status, body) = simulator.exchangeToken(request.body) else {
                return .refusal(503, "The simulator is stopping.")
            }
            return .json(Int(status), bytes: body)
        case ("POST", "/faults"): return setFaults(String(decoding: request.body, as: UTF8.self))
        case ("DELETE", "/faults"): return setFaults("")
        case ("POST", "/devices"): return listDevices(request.body)
        case ("POST", "/clock"):
            guard let offset = parsed(request.body)?["offset_ms"]?.integer, abs(offset) < 1 << 44 else {
                return .refusal(400, "Send {\"offset_ms\": milliseconds}.")
            }
            simulator.setClockOffset(ms: offset)
            return .json(200, "{}\n")
        default:
            simulator.revokeAccessTokens()
            return .json(200, "{}\n")
        }
    }

    private func setFaults(_ text: String) -> HTTPResponse {
        do { try simulator.setFaults(text) } catch { return .refusal(400, error.description) }
        return .json(200, "{}\n")
    }

    private func listDevices(_ body: [UInt8]) -> HTTPResponse {
        guard let entries = parsed(body)?.array else {
            return .refusal(
                400, "Send a list of {\"token\", \"topic\", \"environment\", \"unregistered_at_ms\"}.")
        }
        var listings: [DeviceListing] = []
        for (index, entry) in entries.enumerated() {
            guard let listing = DeviceListing(entry) else {
                return .refusal(400, "Entry \(index) is not a device: it needs a token.")
            }
            listings.append(listing)
        }
        simulator.setDevices(listings)
        return .json(200, "{\"listed\":\(listings.count)}\n")
    }

    private func parsed(_ body: [UInt8]) -> JSONValue? {
        try? JSONValue.parse(text: String(decoding: body, as: UTF8.self))
    }
}
