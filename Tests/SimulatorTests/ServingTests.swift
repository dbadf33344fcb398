import Core
import EventLoop
import HTTP2
import Security
import Testing

@testable import SimulatorKit

@Suite("Serving over real sockets", .serialized)
struct ServingTests {
    @Test("APNs accepts a push, echoes its id and records it") func apns() throws {
        let running = try RunningSimulator { $0.keepsBodies = true }
        let client = try running.apns()
        let outcome = client.send(
            path: RunningSimulator.path(1), body: RunningSimulator.body,
            headers: [(.apnsID, RunningSimulator.id(1)), (.apnsCollapseID, "c1"), (.apnsExpiration, "0")])
        #expect(outcome.status == 200)
        #expect(outcome.body == "")
        #expect(outcome.apnsID == RunningSimulator.id(1))
        #expect(outcome.apnsUniqueID == "")
        let request = try #require(running.simulator.record.requests(job: "J1").first)
        #expect(request.token == "0000000000000001")
        #expect(request.id == RunningSimulator.id(1))
        #expect(request.collapse == "c1")
        #expect(request.expiration == 0)
        #expect(request.badge == 3)
        #expect(request.topic == "com.example.app")
        #expect(request.pushType == .alert)
        #expect(request.priority == 10)
        #expect(String(decoding: request.body, as: UTF8.self) == RunningSimulator.body)
        #expect(request.delivered && request.verdict == "" && !request.byFault)
    }

    @Test("The record file has a request before its answer is out, and a later simulator appends to it")
    func recordFile() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "simulator-record")
        defer { Files.removeTree(directory) }
        let path = directory + "/record.ndjson"
        for round in 1...2 {
            let running = try RunningSimulator { $0.recordPath = path }
            let outcome = try running.apns().send(
                path: RunningSimulator.path(round), body: RunningSimulator.body)
            #expect(outcome.status == 200)
            let lines = try Files.readText(path: path).split(separator: "\n")
            #expect(lines.count == round)
            let request = try JSONValue.parse(text: String(try #require(lines.last)))
            #expect(request["job"]?.string == "J1")
            #expect(request["delivered"] == .bool(true))
            let port = try #require(request["peer_port"]?.integer)
            #expect(port > 0 && port != Int64(running.simulator.endpoints.apns ?? 0))
        }
    }

    @Test("The sandbox gives a unique id, and an id to a request without one") func sandbox() throws {
        let running = try RunningSimulator()
        let outcome = try running.apns(sandbox: true).send(
            path: RunningSimulator.path(1), body: RunningSimulator.body)
        #expect(outcome.status == 200)
        #expect(bytes(outcome.apnsID) { APNsRules.isCanonicalUUID($0) })
        #expect(bytes(outcome.apnsUniqueID) { APNsRules.isCanonicalUUID($0) })
        #expect(running.simulator.record.requests(from: 0, limit: 1).first?.environment == .sandbox)
    }

    @Test("FCM sells a token, accepts a message and names it") func fcm() throws {
        let running = try RunningSimulator()
        let client = try running.fcm()
        let outcome = client.send(path: running.sendPath, body: running.message("abc:APA91b"))
        #expect(outcome.status == 200)
        let name = try #require(outcome.json?["name"]?.string)
        #expect(name.hasPrefix("projects/\(running.simulator.credentials.projectID)/messages/"))
        let request = try #require(running.simulator.record.requests(job: "J2").first)
        #expect(request.provider == .fcm)
        #expect(request.badge == 4)
        #expect(running.simulator.stats()?.accessTokensGranted == 1)
    }

    @Test("Every speaking token answers on the wire as its table says") func speakingAPNs() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        let tags = TokenDirective.apnsCodes.map { row in
            client.submit(
                path: "/3/device/fa11fa11" + String(row.code, radix: 16) + "000000aa",
                body: RunningSimulator.body)
        }
        for (row, outcome) in zip(TokenDirective.apnsCodes, client.wait(tags)) {
            #expect(outcome.status == Int(row.reason.status))
            #expect((outcome.json?["reason"]?.string ?? "") == row.reason.name)
            let hasTimestamp = outcome.json?["timestamp"]?.integer.map { abs($0 - Clock.wallMs) < 60_000 }
            #expect(hasTimestamp == (outcome.status == 410 ? true : nil))
        }
    }

    @Test("Every FCM error answers on the wire as documented") func speakingFCM() throws {
        let running = try RunningSimulator()
        let client = try running.fcm()
        let tags = FCMError.allCases.map {
            client.submit(path: running.sendPath, body: running.message("t~" + $0.name))
        }
        for (error, outcome) in zip(FCMError.allCases, client.wait(tags)) {
            #expect(outcome.status == Int(error.status), "\(error)")
            switch error.bodyStyle {
            case .html: #expect(outcome.body.hasPrefix("<!DOCTYPE html>"))
            case .empty: #expect(outcome.body == "")
            default:
                #expect(error == .none || outcome.json?["error"]?["status"]?.string == error.statusName)
            }
        }
        let wrapped = client.send(path: running.sendPath, body: running.message("t~APNS_Unregistered"))
        let details = wrapped.json?["error"]?["details"]?.array ?? []
        #expect(details.compactMap { $0["reason"]?.string } == ["Unregistered"])
        #expect(details.compactMap { $0["statusCode"]?.integer } == [410])
    }

    @Test("Retry-After, odd bodies and an unknown reason") func odd() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        func send(_ code: String, _ parameter: String = "0000") -> PushOutcome {
            client.send(path: "/3/device/fa11fa11\(code)00\(parameter)", body: RunningSimulator.body)
        }
        #expect(send("4290", "001e").retryAfter == "30")
        #expect(send("400e").json?["reason"]?.string == "SomethingNew")
        #expect(send("5032").body.hasPrefix("<!DOCTYPE"))
        let cut = send("5033")
        #expect(cut.status == 503 && cut.json == nil && cut.body.hasPrefix("{"))
        #expect(send("5040").body == "")
        #expect(send("4102").json?["timestamp"] == nil)
        let old = try #require(send("4100", "0e10").json?["timestamp"]?.integer)
        #expect(abs(Clock.wallMs - 3_600_000 - old) < 60_000)
    }

    @Test("Ten thousand requests on one connection, each recorded once") func many() throws {
        let running = try RunningSimulator()
        var limits = PushClient.limits
        limits.requestsMax = 20_000
        let client = try running.apns(limits: limits)
        let tags = (0..<10_000).map { number in
            client.submit(
                path: RunningSimulator.path(number),
                body: "{\"aps\":{\"alert\":\"hi\",\"badge\":\(number)},\"peal_job\":\"J\(number % 5000)\"}",
                headers: [(.apnsID, RunningSimulator.id(number))])
        }
        let outcomes = client.wait(tags)
        #expect(outcomes.allSatisfy { $0.status == 200 })
        #expect(outcomes.enumerated().allSatisfy { $0.element.apnsID == RunningSimulator.id($0.offset) })
        let summary = running.simulator.record.summary()
        #expect(summary.delivered == 10_000)
        #expect(summary.jobs == 5000)
        #expect(summary.deliveries == 10_000)
        #expect(summary.duplicates == 0)
        for number in stride(from: 0, to: 10_000, by: 997) {
            #expect(
                running.simulator.record.requests(apnsID: RunningSimulator.id(number)).first?.badge
                    == Int64(number))
        }
    }

    @Test("Stops twice, and answers no orders afterwards") func stopping() throws {
        let running = try RunningSimulator()
        running.simulator.stop()
        running.simulator.stop()
        #expect(running.simulator.stats() == nil)
        #expect(throws: SimulatorFailure.self) { try running.simulator.setFaults("{}") }
    }

    @Test("A second simulator takes over port and credentials of the first") func restart() throws {
        let first = try RunningSimulator()
        let port = try #require(first.simulator.endpoints.apns)
        let credentials = first.simulator.credentials
        let client = try first.apns()
        #expect(client.send(path: RunningSimulator.path(1), body: RunningSimulator.body).status == 200)
        first.simulator.stop()
        #expect(client.run { client.pool.snapshot.open == 0 })
        var settings = SimulatorSettings()
        settings.apnsPort = port
        settings.adminPort = nil
        let second = try Simulator.start(settings, credentials: credentials)
        defer { second.stop() }
        #expect(client.send(path: RunningSimulator.path(2), body: RunningSimulator.body).status == 200)
        #expect(second.record.count == 1)
        settings.certificateDirectory = first.directory
        settings.apnsPort = 0
        let third = try Simulator.start(settings)
        defer { third.stop() }
        #expect(third.credentials.caPEM == credentials.caPEM)
        #expect(third.credentials.apnsKeyPEM == credentials.apnsKeyPEM)
    }

    @Test("A taken port is said so") func takenPort() throws {
        let running = try RunningSimulator()
        var settings = SimulatorSettings()
        settings.apnsPort = running.simulator.endpoints.apns
        #expect {
            _ = try Simulator.start(settings)
        } throws: { error in
            (error as? SimulatorFailure)?.code == .listen
        }
    }
}
