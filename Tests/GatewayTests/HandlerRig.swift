import Configuration
import Core
import EventLoop
import Foundation
import HTTPServer
import Jobs
import Redis
import Registry
import Security
import TestSupport
import Testing

@testable import GatewayKit

/// Handlers against a real redis-server, without a server in front of them.
final class HandlerRig {
    /// What became of a call.
    struct Outcome {
        var status: Int
        var body: JSONValue
        /// The jobs that the handler wants published, each accepted by the job parser.
        var jobs: [JSONValue]

        /// The problem's `field`.
        var field: String? { body["field"]?.string }
        /// The problem's `detail`.
        var detail: String { body["detail"]?.string ?? "" }
    }

    let redis: RedisServer
    let session: RedisSession
    let folder: String
    let settings: Settings
    let table: RouteTable
    /// Whether what is published counts as refused by Kafka.
    var refusesJobs = false
    private let parser: JobParser
    private let intake: JobIntake

    static let clientKey = "dk_wallet"
    /// A whole minute, as the registry keeps the time of a registration no finer.
    static let nowMs = Clock.wallMs / 60_000 * 60_000

    init(apps: String = HandlerRig.apps) throws {
        folder = try Files.makeTemporaryDirectory(prefix: "peal-gateway-test")
        redis = try RedisServer()
        try redis.start()
        session = try .patient(redis.endpoint, scripts: GatewayScripts.all)
        let digest = Hex.encode(SHA256.hash(text: Self.clientKey))
        try Files.write(path: folder + "/client-keys", text: "# phones\nphone:\(digest)\n")
        try Files.write(path: folder + "/peal.yaml", text: "apps:\n" + apps)
        settings = try Configuration.load(path: folder + "/peal.yaml", environment: [:])
        let found = GatewayApps(settings)
        let authority = TestAuthority()
        table = RouteTable(GatewayRoutes.all(found, authority))
        parser = try #require(JobParser())
        intake = try #require(JobIntake(apps: AppNames(settings.apps.map(\.name)), batchMax: 1, seed: 1))
    }

    deinit {
        session.close()
        redis.stop()
        Files.removeTree(folder)
    }

    static let relayKey = try? Ed25519PrivateKey(seed: Array(repeating: 7, count: 32))
    private static var relayPublicKey: String { Hex.encode(relayKey?.publicBytes ?? []) }

    static let apps = """
          shop: {}
          sandboxed: {apns: {environment: sandbox}}
          wallet: {profile: dialect, contract: wallet_alerts, client_keys_file: client-keys, app_ids: [dapp-1, dapp-2]}
          alone: {profile: dialect, contract: wallet_alerts, client_keys_file: none-yet}
          chat: {profile: concierge, contract: support_chat}
          creator: {profile: creator, contract: creator, link_hosts: [Dialed.evo.co]}
          sealed: {profile: wallet, contract: wallet_requests, relay_key: \(relayPublicKey)}

        """

    /// Runs the handler of a request as the gateway would, once it has let the caller pass.
    func call(
        _ method: String, _ path: String, _ body: String = "", headers: [String: String] = [:],
        query: [(name: String, value: String)] = [], principal: Principal = .key("backend"),
        nowMs: Int64 = HandlerRig.nowMs, in other: RouteTable? = nil
    ) throws -> Outcome {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
            String($0).removingPercentEncoding ?? ""
        }
        guard
            case .route(let route, let parameters) = (other ?? table).match(
                method: method, segments: segments)
        else {
            return Outcome(status: 404, body: .null, jobs: [])
        }
        let request = HTTPRequest(
            method: method, path: path, query: query, headers: headers.map { (name: $0, value: $1) },
            body: Array(body.utf8))
        let call = GatewayCall(
            request: request, parameters: parameters, app: parameters["app"] ?? "", principal: principal,
            requestID: "r-1", nowMs: nowMs)
        do {
            if let fault = route.form.fault(in: request) { throw fault }
            switch route.work {
            case .job(let work):
                return try outcome(
                    try intake.reply(to: try work(call), of: call, claimMs: 60_000, nowMs: nowMs))
            case .plain(let work): return try outcome(try work(call))
            case .registry(let work): return try outcome(try work(call, session))
            case .direct: throw Problem.notFound("It is answered by a thread that speaks HTTP.")
            case .jobs: throw Problem.notFound("Jobs need a sending thread.")
            }
        } catch let problem as Problem {
            return try outcome(problem.response(requestID: "r-1"))
        }
    }

    private func outcome(_ reply: Reply) throws -> Outcome {
        switch reply {
        case .answer(let response): return try outcome(response)
        case .ask(let work): return try outcome(try work(session))
        case .order(let order, let call):
            return try outcome(
                try intake.reply(to: order, of: call, claimMs: 60_000, nowMs: call.nowMs))
        case .publishAndSettle(let submissions, let then, let settle):
            if refusesJobs { try settle(.refused, session) }
            let result = try outcome(.publish(submissions, then: then))
            if !refusesJobs { try settle(.acknowledged([]), session) }
            return result
        case .publish(let submissions, let then):
            var receipts: [Receipt] = []
            var jobs: [JSONValue] = []
            for submission in submissions {
                var job = Job()
                let fault = submission.job.withUnsafeBytes { parser.parse($0, into: &job) }
                if let fault { throw fault }
                let text = String(decoding: submission.job, as: UTF8.self)
                let value = try JSONValue.parse(text: text)
                jobs.append(value)
                receipts.append(
                    Receipt(id: value["id"]?.string ?? "made-\(receipts.count)", isScheduled: false))
            }
            var outcome = try outcome(then(receipts))
            outcome.jobs = jobs
            return outcome
        }
    }

    private func outcome(_ response: HTTPResponse) throws -> Outcome {
        let text = String(decoding: response.body, as: UTF8.self)
        let body = text.isEmpty ? .null : try JSONValue.parse(text: text)
        return Outcome(status: response.status, body: body, jobs: [])
    }

    func devices(of recipient: String, app: String) throws -> [String: DeviceRecord] {
        let list = try DeviceDirectory(session: session, app: app).devices(of: recipient)
        return Dictionary(uniqueKeysWithValues: list.map { ($0.id, $0.record) })
    }
}

/// Believes `user.<name>.<app>` as a user's token for the app, and the key `key:<app>`.
struct TestAuthority: ContractAuthority {
    func key(_ key: String?, may scope: Scope, app: String) throws(Problem) -> String {
        guard let key, key.hasPrefix("key:") else { throw .unauthorized("The API key is unknown.") }
        guard key == "key:\(app)" else { throw .forbidden("The API key isn't for this app.") }
        return "backend"
    }

    func user(_ token: String, app: String, nowMs: Int64) throws(Problem) -> String {
        let parts = token.split(separator: ".")
        guard parts.count == 3, parts[0] == "user" else {
            throw .unauthorized("The token can't be believed.")
        }
        guard parts[2] == app else { throw .unauthorized("The token is for another audience.") }
        return String(parts[1])
    }
}
