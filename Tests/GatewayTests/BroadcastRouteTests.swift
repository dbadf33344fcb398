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

    @Test func anOrderIsWrittenDownBeforeTheBroadcastIsKnownToo() throws {
        let paused = try rig.call("POST", path + "/b-1/pause")
        #expect(paused.status == 200)
        #expect(paused.body["known"]?.bool == false)
        #expect(try entries() == ["campaign:shop:b-1": .pause, "job:shop:b-1": .pause])
        _ = try rig.call("POST", path + "/b-1/resume")
        #expect(try entries().isEmpty)
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
