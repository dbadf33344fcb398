import Core
import Decisions
import Foundation
import Redis
import Registry
import Testing

@testable import GatewayKit

@Suite struct BroadcastRouteTests {
    private let rig: HandlerRig
    private let path = "/v1/apps/shop/broadcasts"

    init() throws { rig = try HandlerRig() }

    @Test func aBroadcastIsAJobWithAnIDOfItsOwn() throws {
        let sent = try rig.call("POST", path, #"{"to":{"topic":"news"},"title":"T","ttl":3600}"#)
        #expect(sent.status == 202)
        let job = try #require(sent.jobs.first)
        #expect(job["app"]?.string == "shop")
        #expect(job["to"]?["topic"]?.string == "news")
        #expect(job["ttl"] == .number("3600"))
        let id = try #require(job["id"]?.string)
        #expect(id.utf8.count == 26)
        #expect(sent.body["id"]?.string == id)
        #expect(sent.body["campaign"]?.string == id)
        let named = try rig.call(
            "POST", path, #"{"app":"shop","id":"b-1","campaign":"spring","to":{"all":true},"title":"T"}"#)
        #expect(named.body["id"]?.string == "b-1")
        #expect(named.body["campaign"]?.string == "spring")
    }

    @Test func aRepeatWithTheSameKeyGetsTheFirstAnswer() throws {
        let body = #"{"to":{"topic":"news"},"campaign":"spring","title":"T"}"#
        let key = ["idempotency-key": "k-1"]
        let first = try rig.call("POST", path, body, headers: key)
        #expect(first.status == 202 && first.jobs.count == 1)
        let id = try #require(first.jobs.first?["id"]?.string)
        #expect(first.body["id"]?.string == id)
        let again = try rig.call("POST", path, body, headers: key)
        #expect(again.status == 202 && again.jobs.isEmpty && again.body == first.body)
        #expect(again.body["campaign"]?.string == "spring")
        // The same key is for one body and one app, and for one operation.
        #expect(try rig.call("POST", path, body + " ", headers: key).status == 422)
        let other = try rig.call("POST", "/v1/apps/chat/broadcasts", body, headers: key)
        #expect(other.status == 422)
        #expect(try rig.call("POST", path, body, headers: ["idempotency-key": "a b"]).status == 400)
    }

    @Test func aRepeatOfWhatKafkaRefusedIsPublished() throws {
        let body = #"{"to":{"all":true},"title":"T"}"#
        rig.refusesJobs = true
        _ = try rig.call("POST", path, body, headers: ["idempotency-key": "k-2"])
        rig.refusesJobs = false
        let next = try rig.call("POST", path, body, headers: ["idempotency-key": "k-2"])
        #expect(next.status == 202 && next.jobs.count == 1)
    }

    @Test func aBroadcastForLaterIsListedUntilItIsCancelled() throws {
        let due = Timestamp.rfc3339(ms: HandlerRig.nowMs + 7_200_000)
        let sent = try rig.call(
            "POST", path, #"{"id":"b-9","to":{"topic":"news"},"title":"T","send_at":"\#(due)"}"#)
        #expect(sent.status == 202 && sent.body["scheduled"]?.bool == true)
        #expect(sent.jobs.first?["id"]?.string == "b-9")
        let scheduled = RouteTable(SendRoutes.routes(AppNames(["shop"])))
        let list = try rig.call("GET", "/v1/apps/shop/scheduled", in: scheduled)
        let entry = try #require(list.body["jobs"]?.array?.first)
        #expect(entry["id"]?.string == "b-9" && entry["send_at"]?.string == due)
        #expect(entry["to"]?["topic"]?.string == "news")
        #expect(try rig.call("DELETE", "/v1/apps/shop/scheduled/b-9", in: scheduled).status == 204)
        #expect(try entries() == ["job:shop:b-9": .cancel])
        #expect(try rig.call("GET", "/v1/apps/shop/scheduled", in: scheduled).body["jobs"]?.array == [])
    }

    @Test(arguments: ["pause", "resume"])
    func whatIsCancelledStaysCancelled(verb: String) throws {
        try know("b-1")
        #expect(try rig.call("POST", path + "/b-1/cancel").status == 200)
        let before = try entries()
        #expect(try rig.call("POST", path + "/b-1/\(verb)").status == 409)
        #expect(try entries() == before && before.count == 1)
        // Again is the same.
        #expect(try rig.call("POST", path + "/b-1/cancel").status == 200)
        try know("b-2", state: "cancelled")
        #expect(try rig.call("POST", path + "/b-2/\(verb)").status == 409)
        try know("b-3")
        #expect(try rig.call("POST", path + "/b-3/\(verb)").status == 200)
    }

    private func know(_ id: String, state: String = "running") throws {
        try rig.session.command(
            "HSET", "peal:cast:{shop:\(id)}", "state", state, "audience", "all", "campaign", id,
            "started_ms", "5")
    }

    @Test(arguments: [
        ("{}", "to"), (#"{"to":{"recipient":"r"},"title":"T"}"#, "to"), (#"{"to":"all"}"#, "to"),
        (#"{"app":"bank","to":{"all":true},"title":"T"}"#, "app"), ("[]", ""),
    ])
    func anythingElseIsRefused(body: String, field: String) throws {
        let outcome = try rig.call("POST", path, body)
        #expect(outcome.status == 400)
        #expect(outcome.field ?? "" == field)
    }

    private func entries() throws -> [String: ControlEntry.Action] {
        let state = try ControlStore(session: rig.session).read()
        return Dictionary(uniqueKeysWithValues: state.entries.map { ($0.subject.field, $0.action) })
    }

    @Test(arguments: ["pause", "resume", "cancel"])
    func anOrderAboutAnUnknownBroadcastIsRefusedAndNothingIsWritten(verb: String) throws {
        try know("b-2")
        _ = try rig.call("POST", path + "/b-2/pause")
        let before = try entries()
        let version = try ControlStore(session: rig.session).read().version
        let refused = try rig.call("POST", path + "/b-1/\(verb)")
        #expect(refused.status == 404)
        #expect(refused.detail.contains("No broadcast of this id is known"))
        // Another app's broadcast isn't known here either.
        #expect(try rig.call("POST", "/v1/apps/chat/broadcasts/b-2/\(verb)").status == 404)
        #expect(try entries() == before && before.count == 1)
        #expect(try ControlStore(session: rig.session).read().version == version)
    }

    @Test func aBroadcastForLaterTakesOrdersBeforeAndAfterItsTime() throws {
        let due = Timestamp.rfc3339(ms: HandlerRig.nowMs + 7_200_000)
        let body = #"{"id":"b-1","to":{"topic":"news"},"title":"T","send_at":"\#(due)"}"#
        #expect(try rig.call("POST", path, body).status == 202)
        let paused = try rig.call("POST", path + "/b-1/pause")
        #expect(paused.status == 200)
        #expect(paused.body["known"]?.bool == false)
        #expect(try entries() == ["campaign:shop:b-1": .pause, "job:shop:b-1": .pause])
        // Its time has come and it is no longer listed, but the pause keeps it from its expansion.
        try ScheduledStore(session: rig.session, app: "shop").remove(["b-1"])
        #expect(try rig.call("POST", path + "/b-1/resume").status == 200)
        #expect(try entries().isEmpty)
        #expect(try rig.call("POST", path + "/b-1/resume").status == 404)
    }

    @Test func aKnownBroadcastIsControlledByItsCampaign() throws {
        try rig.session.command(
            "HSET", "peal:cast:{shop:b-1}", "state", "running", "audience", "all", "campaign", "spring", "n",
            "12", "parts", "64", "done", "3", "started_ms", "5")
        let status = try rig.call("GET", path + "/b-1")
        #expect(status.status == 200)
        #expect(status.body["state"]?.string == "running")
        #expect(status.body["recipients"]?.integer == 12)
        #expect(status.body["parts_done"]?.integer == 3)
        _ = try rig.call("POST", path + "/b-1/cancel")
        #expect(try entries() == ["campaign:shop:spring": .cancel])
        #expect(try rig.call("GET", path + "/b-1").body["state"]?.string == "cancelled")
        #expect(try rig.call("GET", path + "/b-2").status == 404)
        #expect(
            try rig.call("POST", path + "/" + String(repeating: "b", count: 129) + "/pause").status == 400)
    }
}
