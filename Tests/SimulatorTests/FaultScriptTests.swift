import Core
import Testing

@testable import SimulatorKit

@Suite("Fault scripts")
struct FaultScriptTests {
    private func fixture(_ script: String) throws -> RuleFixture {
        let fixture = try RuleFixture()
        fixture.judge.install(try FaultScriptReader.read(text: script), nowMs: 0)
        return fixture
    }

    private func statuses(_ fixture: RuleFixture, _ count: Int, token: String? = nil) throws -> [UInt16] {
        var draft = try fixture.draft()
        if let token { draft.path = "/3/device/" + token }
        return (0..<count).map { _ in fixture.answer(draft).status }
    }

    @Test("A window opens and closes") func window() throws {
        let fixture = try fixture(
            "{\"rules\":[{\"from_ms\":1000,\"for_ms\":500,\"provider\":\"apns\",\"answer\":{\"reason\":\"ServiceUnavailable\"}}]}"
        )
        for (time, status) in [(0, 200), (999, 200), (1000, 503), (1499, 503), (1500, 200)]
            as [(UInt64, UInt16)]
        {
            fixture.steadyMs = time
            #expect(try statuses(fixture, 1) == [status])
        }
    }

    @Test("First, after and every choose among the matching requests") func choosing() throws {
        let first = try fixture("{\"rules\":[{\"first\":2,\"answer\":{\"status\":500}}]}")
        #expect(try statuses(first, 4) == [500, 500, 200, 200])
        let after = try fixture("{\"rules\":[{\"after\":1,\"first\":1,\"answer\":{\"status\":500}}]}")
        #expect(try statuses(after, 4) == [200, 500, 200, 200])
        let every = try fixture("{\"rules\":[{\"every\":3,\"answer\":{\"status\":500}}]}")
        #expect(try statuses(every, 5) == [500, 200, 200, 500, 200])
    }

    @Test("Share takes about that share, the same way each time") func share() throws {
        let script = "{\"rules\":[{\"share\":0.25,\"answer\":{\"status\":500}}]}"
        let some = try statuses(try fixture(script), 2000)
        let hits = some.count { $0 == 500 }
        #expect(hits > 400 && hits < 600)
        #expect(try statuses(try fixture(script), 2000) == some)
        #expect(
            try statuses(try fixture("{\"rules\":[{\"share\":0,\"answer\":{\"status\":500}}]}"), 50).contains(
                500) == false)
    }

    @Test("Tokens, prefixes, jobs and topics") func matching() throws {
        let script =
            "{\"rules\":[{\"token\":\"aa01\",\"answer\":{\"status\":500}},{\"token_prefix\":\"bb\",\"answer\":{\"status\":502}},"
            + "{\"job\":\"J1\",\"answer\":{\"status\":503}},{\"topic\":\"com.other\",\"answer\":{\"status\":504}}]}"
        let fixture = try fixture(script)
        #expect(try statuses(fixture, 1, token: "aa01") == [500])
        #expect(try statuses(fixture, 1, token: "aa0101") == [200])
        #expect(try statuses(fixture, 1, token: "bb77") == [502])
        var draft = try fixture.draft()
        draft.body = "{\"aps\":{},\"peal_job\":\"J1\"}"
        #expect(fixture.answer(draft).status == 503)
        draft.topic = "com.other"
        draft.body = "{\"aps\":{}}"
        #expect(fixture.answer(draft).status == 504)
    }

    @Test("Provider, environment, connection and its request number") func places() throws {
        let script =
            "{\"rules\":[{\"environment\":\"sandbox\",\"provider\":\"apns\",\"answer\":{\"status\":500}},"
            + "{\"provider\":\"fcm\",\"answer\":{\"error\":\"INTERNAL\"}},"
            + "{\"connection\":1,\"connection_request\":2,\"answer\":{\"status\":502}},"
            + "{\"connection\":1,\"connection_request_from\":4,\"answer\":{\"status\":504}}]}"
        let fixture = try fixture(script)
        let draft = try fixture.draft()
        #expect(fixture.answer(draft, on: fixture.sandbox).status == 500)
        #expect(fixture.answer(try fixture.message("{\"token\":\"t\"}"), on: fixture.fcm).status == 500)
        #expect(try statuses(fixture, 5) == [200, 502, 200, 504, 504])
        let second = ConnectionState(listener: .apns, number: 2, streamsMax: 1)
        #expect((0..<4).allSatisfy { _ in fixture.answer(draft, on: second).status == 200 })
    }

    @Test("Answers carry what the script says") func answers() throws {
        func answer(_ text: String) throws -> Answer {
            try #require(FaultScriptReader.read(text: "{\"rules\":[{\"answer\":\(text)}]}").rules.first)
                .answer
        }
        let refused = try answer("{\"reason\":\"Unregistered\",\"timestamp_age_s\":60}")
        #expect(refused.status == 410 && refused.ageSeconds == 60)
        #expect(try answer("{\"status\":429,\"retry_after\":7,\"delay_ms\":9}").retryAfter == 7)
        #expect(try answer("{\"action\":\"reset\",\"error_code\":8}").errorCode == 8)
        #expect(try answer("{\"action\":\"goaway\",\"last_stream\":\"none\"}").lastStream == .none)
        let exact = try answer("{\"action\":\"goaway\",\"last_stream\":77}")
        #expect(exact.lastStream == .exact && exact.streamID == 77)
        #expect(try answer("{\"body\":\"oops\",\"status\":500}").body == .custom)
        #expect(try answer("{\"body_style\":\"html\",\"status\":503}").body == .html)
        #expect(try answer("{\"action\":\"swallow\",\"delivered\":true}").delivered)
        #expect(
            try answer("{\"error\":\"APNS_BadDeviceToken\"}").apnsReason == APNsReason.badDeviceToken.rawValue
        )
        #expect(try answer("{\"max_streams\":3}").streamsMax == 3)
        #expect(try !answer("{\"status\":500}").delivered)
        #expect(try answer("{\"status\":200}").delivered)
    }

    @Test("A rule that only delays leaves the rules' answer") func onlyDelay() throws {
        let fixture = try fixture("{\"rules\":[{\"answer\":{\"delay_ms\":40}}]}")
        var draft = try fixture.draft()
        #expect(fixture.answer(draft).delayMs == 40)
        draft.topic = ""
        let answer = fixture.answer(draft)
        #expect(APNsReason(rawValue: answer.reason) == .missingTopic)
        #expect(answer.delayMs == 40)
    }

    @Test("A fault hides the rules' answer on the wire and not in the record") func verdict() throws {
        let fixture = try fixture("{\"rules\":[{\"answer\":{\"status\":503}}]}")
        var draft = try fixture.draft()
        draft.topic = ""
        #expect(fixture.answer(draft).status == 503)
        #expect(fixture.row.verdict == APNsReason.missingTopic.rawValue)
        #expect(fixture.row.byFault)
    }

    @Test(
        "What is not understood is refused with its place",
        arguments: [
            ("x", "not JSON"), ("[]", "object"), ("{\"rule\":[]}", "Unknown member \"rule\""),
            ("{\"rules\":[{}]}", "rules[0]: the rule has no \"answer\""),
            ("{\"rules\":[{\"answer\":{\"reason\":\"Nope\"}}]}", "\"Nope\" is not a reason of APNs"),
            ("{\"rules\":[{\"answer\":{\"error\":\"Nope\"}}]}", "\"Nope\" is not a error of FCM"),
            ("{\"rules\":[{\"answer\":{\"status\":99}}]}", "between 200 and 599"),
            ("{\"rules\":[{\"answer\":{\"action\":\"explode\"}}]}", "not \"explode\""),
            ("{\"rules\":[{\"answer\":{\"statsu\":500}}]}", "unknown member \"statsu\""),
            ("{\"rules\":[{\"from\":1,\"answer\":{}}]}", "unknown member \"from\""),
            ("{\"rules\":[{\"first\":-1,\"answer\":{}}]}", "whole number"),
            ("{\"rules\":[{\"share\":2,\"answer\":{}}]}", "between 0 and 1"),
            ("{\"rules\":[{\"provider\":\"gcm\",\"answer\":{}}]}", "apns or fcm"),
            ("{\"events\":[{\"at_ms\":1}]}", "events[0]: the event has no \"do\""),
            ("{\"events\":[{\"do\":\"dance\"}]}", "\"do\" is"),
            ("{\"events\":[{\"do\":{\"action\":\"reset\"}}]}", "goaway, kill or tls_close"),
        ])
    func refused(_ script: String, _ part: String) {
        #expect {
            _ = try FaultScriptReader.read(text: script)
        } throws: { error in
            (error as? FaultScriptFailure)?.description.contains(part) == true
        }
    }

    @Test("Events") func events() throws {
        let script = try FaultScriptReader.read(
            text:
                "{\"events\":[{\"at_ms\":5,\"provider\":\"apns\",\"do\":{\"max_streams\":1}},{\"do\":\"hang\"},"
                + "{\"do\":{\"refuse_connections\":true}},{\"do\":{\"action\":\"goaway\",\"reason\":\"Shutdown\"}}]}"
        )
        #expect(script.events.map(\.atMs) == [5, 0, 0, 0])
        #expect(script.events[0].kind == .streamsMax(1))
        #expect(script.events[1].kind == .hang)
        #expect(script.events[2].kind == .refuseConnections(true))
        guard case .wire(let answer) = script.events[3].kind else {
            Issue.record("not an answer")
            return
        }
        #expect(answer.action == .goaway)
    }
}

@Suite("Stream limits")
struct StreamLimitTests {
    @Test("One stream until a valid token, then the full number, once") func raise() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        let good = draft.authorization
        draft.authorization = ""
        #expect(fixture.answer(draft).streamsMax < 0)
        draft.authorization = good
        #expect(fixture.answer(draft).streamsMax == 1000)
        fixture.apns.streamsMax = 1000
        #expect(fixture.answer(draft).streamsMax < 0)
    }

    @Test("An error shrinks the limit to one when asked for, a success restores it, a 410 does not count")
    func shrink() throws {
        var settings = SimulatorSettings()
        settings.shrinksOnErrors = true
        let fixture = try RuleFixture(settings)
        var draft = try fixture.draft()
        func step(_ path: String) -> Int32 {
            draft.path = "/3/device/" + path
            let answer = fixture.answer(draft)
            if answer.streamsMax >= 0 { fixture.apns.streamsMax = UInt32(answer.streamsMax) }
            return answer.streamsMax
        }
        #expect(step("aa01") == 1000)
        #expect(step("fa11fa11410000000000") < 0)
        #expect(step("fa11fa11400000000000") == 1)
        #expect(step("fa11fa11400000000000") < 0)
        #expect(step("aa01") == 1000)
    }

    @Test("A connection that gathers errors is closed after its share, and the streams need their successes")
    func punishment() throws {
        var settings = SimulatorSettings()
        settings.shrinksOnErrors = true
        settings.successesToRecover = 2
        settings.errorsPerConnection = 3
        let fixture = try RuleFixture(settings)
        var draft = try fixture.draft()
        func step(_ path: String) -> Answer {
            draft.path = "/3/device/" + path
            let answer = fixture.answer(draft)
            if answer.streamsMax >= 0 { fixture.apns.streamsMax = UInt32(answer.streamsMax) }
            return answer
        }
        #expect(step("aa01").streamsMax == 1000)
        #expect(step("fa11fa11400000000000").streamsMax == 1)
        #expect(step("aa01").streamsMax < 0)
        #expect(step("fa11fa11400000000000").action == .respond)
        #expect(step("aa01").streamsMax < 0)
        #expect(step("aa01").streamsMax == 1000)
        // A 410 is not one of them.
        #expect(step("fa11fa11410000000000").action == .respond)
        let last = step("fa11fa11400000000000")
        #expect(last.action == .goaway && last.status == 400)
        #expect(last.lastStream == .this)
    }
}
