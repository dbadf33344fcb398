import Configuration
import Core
import EventLoop
import GatewayKit
import HTTPClient
import HTTPServer
import Kafka
import Logging
import Redis
import Registry
import Security
import TestSupport
import Testing

@Suite struct ServiceTests {
    private let job = #"{"app":"shop","to":{"recipient":"r"},"title":"Hello"}"#

    @Test func anAnswerWaitsForTheBroker() throws {
        let rig = try Rig(ownsBroker: true)
        defer { rig.stop() }
        #expect(try rig.wait { try rig.send("GET", "/readyz").status == 200 })
        rig.broker.failNext(.produce, with: Array(repeating: .notLeader, count: 100_000))
        let answer: Locked<HTTPClientResponse?> = Locked(nil)
        let job = job
        let caller = rig
        let thread = WorkerThread.start(name: "caller") {
            let got = try? caller.post(job)
            answer.withLock { $0 = got }
        }
        let isWaiting = try rig.wait {
            try rig.send("GET", "/statusz?format=json").json?["jobs_in_flight"]?.integer == 1
        }
        #expect(isWaiting && answer.withLock { $0 } == nil)
        rig.broker.clearFaults(.produce)
        thread.join()
        #expect(answer.withLock { $0 }?.status == 202)
    }

    @Test func whileKafkaIsAwayNothingIsTaken() throws {
        let rig = try Rig(ownsBroker: true)
        defer { rig.stop() }
        #expect(try rig.wait { try rig.send("GET", "/readyz").status == 200 })
        rig.broker.setAll(isUp: false)
        #expect(try rig.wait { try rig.send("GET", "/readyz").status == 503 })
        #expect(try rig.send("GET", "/livez").status == 200)
        let refused = try rig.post(job)
        #expect(refused.status == 503 && refused.header("retry-after") != nil)
        #expect(refused.json?["detail"]?.string?.contains("nothing was published") == true)
        rig.broker.setAll(isUp: true)
        #expect(try rig.wait { try rig.send("GET", "/readyz").status == 200 })
        #expect(try rig.post(job).status == 202)
        #expect(try rig.records("normal", count: 1).count == 1)
    }

    @Test func withoutRedisPlainSendsStillWork() throws {
        let rig = try Rig(configure: { settings, _ in
            settings.redis.timeoutMs = 300
            settings.redis.connectTimeoutMs = 300
        })
        defer { rig.stop() }
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled").status == 200)
        rig.redis.suspend()
        let list = try rig.send("GET", "/v1/apps/shop/scheduled")
        #expect(list.status == 503 && list.header("retry-after") != nil)
        #expect(try rig.post(job, headers: [("idempotency-key", "k")]).status == 503)
        #expect(try rig.post(job).status == 202)
        let ready = try rig.send("GET", "/readyz")
        #expect(ready.status == 200 && ready.text.contains("Redis"))
        rig.redis.resume()
        #expect(try rig.wait { try rig.send("GET", "/v1/apps/shop/scheduled").status == 200 })
        #expect(try rig.wait { try rig.send("GET", "/readyz").text == "ok\n" })
    }

    /// A lock may be left by a change that Redis carried out after its owner had given up. Whoever waits for it
    /// in vain learns nothing about Redis, and the others go on.
    @Test func aLockThatIsNotLetGoIsNoOutage() throws {
        let rig = try Rig(more: { _ in
            [
                GatewayRoute(
                    "POST", "/lock/{app}", "sendJobs", .key(.send),
                    .registry { _, session in
                        try RegistryLock(session: session, app: "shop", name: "x").take()
                        return .answer(.text(200, ""))
                    })
            ]
        })
        defer { rig.stop() }
        let key = RegistryKeys.lock(app: "shop", name: "x")
        try rig.redis.session().command("SET", key, "another's", "PX", "600000")
        let refused = try rig.send("POST", "/lock/shop")
        #expect(refused.status == 503 && refused.header("retry-after") != nil)
        #expect(refused.json?["detail"]?.string?.contains("does not end; nothing was done") == true)
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled").status == 200)
        #expect(try rig.send("GET", "/readyz").text == "ok\n")
    }

    @Test func aStopAnswersWhatIsUnderWay() throws {
        let rig = try Rig(ownsBroker: true)
        defer { rig.stop() }
        #expect(try rig.wait { try rig.send("GET", "/readyz").status == 200 })
        rig.broker.failNext(.produce, with: Array(repeating: .notLeader, count: 100_000))
        let statuses: Locked<[Int]> = Locked([])
        let job = job
        let caller = rig
        let callers = (0..<8).map { number in
            WorkerThread.start(name: "caller-\(number)") {
                let status = (try? caller.post("[\(job),\(job)]"))?.status ?? 0
                statuses.withLock { $0.append(status) }
            }
        }
        let areWaiting = try rig.wait {
            try rig.send("GET", "/statusz?format=json").json?["jobs_in_flight"]?.integer == 16
        }
        #expect(areWaiting)
        let stopper = WorkerThread.start(name: "stopper") { caller.service.stop() }
        rig.broker.clearFaults(.produce)
        for caller in callers { caller.join() }
        stopper.join()
        #expect(statuses.withLock { $0 } == Array(repeating: 202, count: 8))
        #expect(try rig.records("normal", count: 16).count == 16)
        #expect(throws: HTTPClientFailure.self) { try rig.post(job) }
    }

    @Test func manyCallersAtOnceAllGetTheirAnswer() throws {
        let rig = try Rig(configure: { settings, _ in settings.gateway.sendingThreads = 2 })
        defer { rig.stop() }
        let ids: Locked<[String]> = Locked([])
        let caller = rig
        let callers = (0..<8).map { number in
            WorkerThread.start(name: "caller-\(number)") {
                for round in 0..<25 {
                    let id = "\(number)-\(round)"
                    let job = #"{"id":"\#(id)","app":"shop","to":{"recipient":"r\#(number)"},"title":"x"}"#
                    let headers = round % 5 == 0 ? [(name: "idempotency-key", value: id)] : []
                    let got = (try? caller.post(job, headers: headers))?.ids ?? []
                    ids.withLock { $0 += got }
                }
            }
        }
        for caller in callers { caller.join() }
        let expected = Set((0..<8).flatMap { number in (0..<25).map { "\(number)-\($0)" } })
        #expect(Set(ids.withLock { $0 }) == expected && ids.withLock { $0 }.count == 200)
        #expect(try rig.records("normal", count: 200).count == 200)
        let metrics = try rig.send("GET", "/metrics").text
        #expect(metrics.contains("peal_gateway_requests_total{operation=\"sendJobs\",status=\"2xx\"} 200\n"))
        #expect(metrics.contains("peal_gateway_jobs_total 200\n"))
    }

    /// The line for operators in the documentation.
    private static func documentedUser() throws -> [String] {
        let path = "\(#filePath)".split(separator: "/").dropLast(3).joined(separator: "/")
        let text = try Files.readText(path: "/\(path)/docs/redis-keys.md")
        let line = text.split(separator: "\n").first { $0.hasPrefix("ACL SETUSER peal-gateway") }
        return try #require(line).split(separator: " ").map(String.init)
    }

    @Test func theDocumentedRedisUserMayDoAllThatIsAsked() throws {
        let user = try Self.documentedUser()
        let rig = try Rig(configure: { settings, _ in
            settings.redis.endpoint.user = "peal-gateway"
            settings.redis.endpoint.password = "password"
        })
        defer { rig.stop() }
        try rig.redis.session().command(user)
        let due = Timestamp.rfc3339(ms: Clock.wallMs + 3_600_000)
        let later = #"{"id":"l","app":"shop","to":{"recipient":"r"},"title":"x","send_at":"\#(due)"}"#
        let isSent = try rig.wait {
            try rig.post(later, headers: [("idempotency-key", "k")]).status == 202
        }
        #expect(isSent)
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled").text.contains("\"l\""))
        #expect(try rig.send("DELETE", "/v1/apps/shop/scheduled/l").status == 204)
        #expect(try rig.send("GET", "/metrics").text.contains("peal_gateway_settle_failures_total 0\n"))
    }

    @Test func tlsIsServedWithTheConfiguredCertificate() throws {
        let identity = try ThrowAwayIdentity.make(hosts: ["127.0.0.1"])
        let rig = try Rig(
            scheme: "https",
            configure: { settings, directory in
                try Files.write(path: "\(directory)/ca.pem", text: identity.caPEM)
                try Files.write(path: "\(directory)/cert.pem", text: identity.certificatePEM)
                try Files.write(path: "\(directory)/key.pem", text: identity.keyPEM, mode: 0o600)
                settings.gateway.tlsCertificateFile = "\(directory)/cert.pem"
                settings.gateway.tlsKeyFile = "\(directory)/key.pem"
            })
        defer { rig.stop() }
        #expect(try rig.post(job).status == 202)
        #expect(try rig.post("[\(job),\(job)]", headers: [("idempotency-key", "k")]).status == 202)
        let other = try ThrowAwayIdentity.make(hosts: ["127.0.0.1"])
        try Files.write(path: "\(rig.directory)/key.pem", text: other.keyPEM)
        var settings = GatewaySettings(
            brokers: rig.broker.bootstrapServers, redis: RedisClientOptions(endpoint: rig.redis.endpoint))
        settings.gateway.tlsCertificateFile = "\(rig.directory)/cert.pem"
        settings.gateway.tlsKeyFile = "\(rig.directory)/key.pem"
        let failure = #expect(throws: GatewayFailure.self) {
            try GatewayService.start(settings, log: .silent)
        }
        #expect(failure?.code == .tls)
    }

    @Test(arguments: [
        ("gateway: {}", "keys_file"), ("gateway: {open: true}", "loopback"),
        ("gateway: {open: true, keys_file: x}\nhttp: {gateway: \"127.0.0.1:0\"}", "contradicts"),
        ("http: {gateway: off}\ngateway: {keys_file: x}", "http.gateway"),
        ("gateway: {open: true}\nhttp: {gateway: \"127.0.0.1:0\"}", nil),
        ("gateway: {keys_file: /nowhere}", nil),
    ])
    func nobodyOpensAGatewayByAccident(yaml: String, word: String?) throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-gateway")
        defer { Files.removeTree(directory) }
        try Files.write(path: "\(directory)/peal.yaml", text: yaml)
        let settings = try Configuration.load(path: "\(directory)/peal.yaml", environment: [:])
        guard let word else {
            _ = try GatewaySettings(settings)
            return
        }
        let failure = #expect(throws: ConfigurationFailure.self) { try GatewaySettings(settings) }
        #expect(failure?.description.contains(word) == true)
    }

    @Test(arguments: [
        ("gateway: {rate: fast}", "no rate"), ("gateway: {cors_origins: [\"*\"]}", "no origin"),
        ("gateway: {cors_origins: [\"https://a/b\"]}", "no origin"),
        ("gateway: {tls: {key_file: a}}", "both"), ("gateway: {batch_max: 0}", "from 1"),
        ("gateway: {key_file: a}", "keys_file"),
    ])
    func aWrongSettingSaysWhatToFix(yaml: String, word: String) throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-gateway")
        defer { Files.removeTree(directory) }
        try Files.write(path: "\(directory)/peal.yaml", text: yaml)
        let failure = #expect(throws: ConfigurationFailure.self) {
            try Configuration.load(path: "\(directory)/peal.yaml", environment: [:])
        }
        #expect(failure?.description.contains(word) == true)
    }

    @Test func settingsAreReadAsWritten() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-gateway")
        defer { Files.removeTree(directory) }
        let yaml = """
            gateway:
              keys_file: keys
              rate: 30000/m
              address_rate: off
              receive_timeout: 5s
              cors_origins: [https://app.example.com, "http://localhost:3000"]
              tls: {certificate_file: c.pem, key_file: k.pem}
            """
        try Files.write(path: "\(directory)/peal.yaml", text: yaml)
        let gateway = try Configuration.load(path: "\(directory)/peal.yaml", environment: [:]).gateway
        #expect(gateway.keysFile == "\(directory)/keys")
        #expect(gateway.rate.perThousandSeconds == 500_000 && gateway.addressRate == .off)
        #expect(gateway.receiveTimeoutMs == 5_000)
        #expect(gateway.corsOrigins == ["https://app.example.com", "http://localhost:3000"])
        #expect(gateway.tlsKeyFile == "\(directory)/k.pem")
    }
}
