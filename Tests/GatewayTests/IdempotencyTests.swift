import Configuration
import Core
import EventLoop
import GatewayKit
import HTTPClient
import Kafka
import Redis
import Security
import TestSupport
import Testing

@Suite struct IdempotencyTests {
    private let job = #"{"app":"shop","to":{"recipient":"r"},"title":"Hello"}"#
    private let header = [(name: "idempotency-key", value: "order-1")]

    /// The digests by which the gateway knows the key and the request.
    private func digests(_ body: String) -> (key: String, request: String) {
        (Hex.encode(SHA256.hash(text: "order-1")), Hex.encode(SHA256.hash(text: body) + [1]))
    }

    private func store(_ rig: Rig, _ session: RedisSession, claimMs: Int64 = 60_000) -> IdempotencyStore {
        IdempotencyStore(
            session: session, keyName: "shop-send", key: digests(job).key, owner: "first", claimMs: claimMs)
    }

    @Test func aRepeatGetsTheFirstAnswerAndPublishesNothing() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let first = try rig.post(job, headers: header)
        #expect(first.status == 202 && first.header("idempotent-replayed") == nil)
        let second = try rig.post(job, headers: header)
        #expect(second.status == 202 && second.text == first.text)
        #expect(second.header("idempotent-replayed") == "true")
        let other = try rig.post(job + " ", headers: header)
        #expect(other.status == 422 && other.problem == "idempotency_mismatch")
        let lane = try rig.post(job, path: "/v1/jobs?lane=bulk", headers: header)
        #expect(lane.status == 422)
        // Another key's namespace is its own.
        let two = try rig.post(job, key: "two", headers: header)
        #expect(two.status == 202 && two.ids != first.ids)
        let records = try rig.records("normal", count: 2)
        #expect(records.count == 2)
        #expect(records.contains { $0.contains(first.ids[0]) })
    }

    @Test func aRepeatedBroadcastGetsTheFirstAnswer() throws {
        let settings = try Configuration.parse(Array("apps: {shop: {}}".utf8), file: "peal.yaml")
        let apps = GatewayApps(settings)
        let rig = try Rig(more: { _ in NativeBroadcastRoutes.routes(apps) })
        defer { rig.stop() }
        let path = "/v1/apps/shop/broadcasts"
        let body = #"{"app":"shop","to":{"topic":"news"},"title":"Hello"}"#
        let first = try rig.post(body, path: path, headers: header)
        #expect(first.status == 202 && first.json?["scheduled"]?.bool == false)
        let second = try rig.post(body, path: path, headers: header)
        #expect(second.status == 202 && second.text == first.text)
        #expect(second.header("idempotent-replayed") == "true")
        // The key is the broadcast's, not that of a send with the same body.
        #expect(try rig.post(body, headers: header).status == 422)
        #expect(try rig.post(body, path: path).json?["id"] != first.json?["id"])
        #expect(try rig.post(#"{"to":{"topic":"news"},"nonsense":1}"#, path: path).problem == "invalid_job")
        #expect(try rig.post(body, path: path + "?lane=bulk").status == 400)
    }

    @Test func whatIsUnderWayIsNotDoneTwice() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let session = try rig.redis.session(scripts: IdempotencyStore.scripts)
        let answer = #"{"jobs":[{"id":"FIXED","scheduled":false}]}"#
        let first = store(rig, session)
        #expect(try first.claim(digest: digests(job).request, answer: answer) == .ours(answer: answer))
        let second = try rig.post(job, headers: header)
        #expect(second.status == 409 && second.problem == "idempotency_under_way")
        #expect(second.header("retry-after") != nil)
        #expect(try rig.post(job + " ", headers: header).status == 422)
        // Given back, it is anybody's.
        try first.release()
        let third = try rig.post(job + " ", headers: header)
        #expect(third.status == 202 && third.ids != ["FIXED"])
    }

    @Test func aCrashedRequestIsCarriedOutWithItsIDs() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let session = try rig.redis.session(scripts: IdempotencyStore.scripts)
        let answer = #"{"jobs":[{"id":"FIXED","scheduled":false}]}"#
        // Its owner died: the claim has ended and nobody settled it.
        _ = try store(rig, session, claimMs: 0).claim(digest: digests(job).request, answer: answer)
        let next = try rig.post(job, headers: header)
        #expect(next.status == 202 && next.ids == ["FIXED"])
        #expect(next.header("idempotent-replayed") == nil)
        // The dead one's word comes too late to change anything.
        try store(rig, session).release()
        #expect(try rig.post(job, headers: header).header("idempotent-replayed") == "true")
        let records = try rig.records("normal", count: 1)
        #expect(records.count == 1 && records[0].contains("FIXED"))
    }

    @Test func aFailedPublishGivesTheKeyBackWithTheSameIDs() throws {
        let rig = try Rig(ownsBroker: true, configure: { settings, _ in settings.gateway.timeoutMs = 400 })
        defer { rig.stop() }
        #expect(try rig.wait { try rig.send("GET", "/readyz").status == 200 })
        rig.broker.failNext(.produce, with: Array(repeating: .notLeader, count: 100_000))
        let first = try rig.post(job, headers: header)
        #expect(first.status == 503 && first.problem == "unavailable")
        #expect(first.header("retry-after") != nil)
        let ids = first.json?["ids"]?.array?.compactMap(\.string) ?? []
        #expect(ids.count == 1)
        rig.broker.clearFaults(.produce)
        var next: HTTPClientResponse?
        let isDone = try rig.wait {
            let answer = try rig.post(job, headers: header)
            next = answer
            return answer.status == 202
        }
        #expect(isDone && next?.ids == ids)
        #expect(try rig.post(job, headers: header).header("idempotent-replayed") == "true")
        // What was given up may have been written too, under the same id.
        for record in try rig.records("normal", count: 1) { #expect(record.contains(ids[0])) }
    }

    /// Two requests with one id of their senders' must not settle each other's claims.
    @Test func theOwnerOfAClaimIsTheGatewaysOwn() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let session = try rig.redis.session()
        var owners: Set<String> = []
        for key in ["order-1", "order-2"] {
            let headers = [(name: "idempotency-key", value: key), (name: "x-request-id", value: "mine")]
            let answer = try rig.post(job, headers: headers)
            #expect(answer.status == 202 && answer.header("x-request-id") == "mine")
            let name = "peal:idem:{shop-send:\(Hex.encode(SHA256.hash(text: key)))}"
            owners.insert(try session.command("HGET", name, "o").text ?? "")
        }
        #expect(owners.count == 2 && owners.allSatisfy { $0.utf8.count == 26 })
    }

    @Test(arguments: ["", "a b", String(repeating: "k", count: 256), "ü"])
    func aKeyThatIsNoneIsRefused(key: String) throws {
        let rig = try SendTests.shared.get()
        let answer = try rig.post(job, headers: [("idempotency-key", key)])
        #expect(answer.status == 400 && answer.json?["field"]?.string == "idempotency-key")
    }

    @Test func theKeyIsForgottenAfterADay() throws {
        let rig = try Rig()
        defer { rig.stop() }
        #expect(try rig.post(job, headers: header).status == 202)
        let session = try rig.redis.session()
        let name = "peal:idem:{shop-send:\(digests(job).key)}"
        let left = try session.command("PTTL", name).integer ?? 0
        #expect((86_000_000...86_400_000).contains(left))
    }
}
