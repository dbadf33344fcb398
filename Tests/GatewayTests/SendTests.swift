import Core
import EventLoop
import GatewayKit
import HTTPClient
import Testing

@Suite struct SendTests {
    private func job(_ recipient: String, app: String = "shop", more: String = "") -> String {
        #"{"app":"\#(app)","to":{"recipient":"\#(recipient)"},"title":"Hello"\#(more)}"#
    }

    @Test func oneJobIsAcceptedOnceKafkaHasIt() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let answer = try rig.post(job("r1", more: #","id":"given""#))
        #expect(answer.status == 202)
        #expect(answer.text == #"{"jobs":[{"id":"given","scheduled":false}]}"# + "\n")
        #expect(answer.header("x-request-id")?.count == 16)
        #expect(try rig.records("normal", count: 1) == [job("r1", more: #","id":"given""#)])
        let made = try rig.post(job("r2"), path: "/v1/jobs?lane=urgent")
        #expect(made.status == 202 && made.ids.first?.count == 26)
        let records = try rig.records("urgent", count: 1)
        #expect(records.count == 1)
        #expect(try JSONValue.parse(text: records[0])["id"]?.string == made.ids.first)
    }

    @Test func anArrayAndLinesAreManyJobs() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let jobs = (0..<300).map { job("r\($0)", more: #","id":"j\#($0)""#) }
        let array = try rig.post(
            "[" + jobs.joined(separator: ",\n") + "]", path: "/v1/jobs?lane=bulk")
        #expect(array.status == 202)
        #expect(array.ids == (0..<300).map { "j\($0)" })
        #expect(Set(try rig.records("bulk", count: 300)) == Set(jobs))
        let lines = try rig.post(jobs.joined(separator: "\n") + "\n", type: "application/x-ndjson")
        #expect(lines.status == 202 && lines.ids.count == 300)
        #expect(Set(try rig.records("normal", count: 300)) == Set(jobs))
    }

    @Test func oneBadJobRefusesAllOfThem() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let good = job("r")
        let bad = try rig.post("[\(good),\(job("r", more: #","nonsense":1"#)),\(good)]")
        #expect(bad.status == 400)
        #expect(bad.header("content-type") == "application/problem+json")
        #expect(bad.problem == "invalid_job")
        #expect(bad.json?["index"]?.integer == 1)
        #expect(bad.json?["field"]?.string == "nonsense")
        let other = try rig.post("\(good)\n\(job("r", app: "bank"))\n", type: "application/x-ndjson")
        #expect(other.status == 403 && other.json?["index"]?.integer == 1)
        let alone = try rig.post(job("r", app: "bank"))
        #expect(alone.status == 403 && alone.json?["index"] == nil)
        #expect(try rig.post(good).status == 202)
        #expect(try rig.records("normal", count: 1).count == 1)
    }

    @Test func anAppThatIsNotConfiguredIsRefusedAtTheDoor() throws {
        let rig = try Self.shared.get()
        let alone = try rig.post(job("r", app: "shopp"), key: "all")
        #expect(alone.status == 400 && alone.problem == "unknown_app")
        #expect(alone.json?["field"]?.string == "app")
        let detail = alone.json?["detail"]?.string ?? ""
        #expect(detail.contains(#""shopp""#) && detail.contains("did you mean shop?"))
        let batch = try rig.post("[\(job("r")),\(job("r", app: "nowhere"))]", key: "all")
        #expect(batch.status == 400 && batch.json?["index"]?.integer == 1)
        // Who may not send for it is not told whether it exists.
        #expect(try rig.post(job("r", app: "shopp")).text.contains("forbidden"))
        #expect(try rig.post(job("r", app: "bank")).text.contains("forbidden"))
        for (method, path) in [
            ("GET", "/v1/apps/nowhere/scheduled"), ("DELETE", "/v1/apps/nowhere/scheduled/x"),
        ] {
            let answer = try rig.send(method, path, key: "all")
            #expect(answer.status == 404 && answer.json?["detail"]?.string?.contains("\"nowhere\"") == true)
        }
    }

    @Test(arguments: [
        ("", "application/json", 400), ("   ", "application/json", 400), ("{", "application/json", 400),
        ("[]", "application/json", 400), ("[1]", "application/json", 400), ("[{}", "application/json", 400),
        ("{}", "application/json", 400), ("null", "application/json", 400),
        ("\u{0}", "application/json", 400),
        ("{}{}", "application/json", 400), ("[{}]]", "application/json", 400),
        ("\n\n", "application/x-ndjson", 400),
        ("{}", "text/plain", 415), ("{}", "application/x-www-form-urlencoded", 415),
        (#"{"app":"shop","to":{"recipient":"\ud800"},"title":"x"}"#, "application/json", 400),
        (#"{"app":"shop","to":{"recipient":"r"},"title":"x","app":"shop"}"#, "application/json", 400),
        (#"{"app":"shop","to":{"recipient":"r"},"title":"x","send_at":"never"}"#, "application/json", 400),
        (
            #"{"app":"shop","to":{"recipient":"r"},"title":"x","send_at":"2999-01-01T00:00:00Z"}"#,
            "application/json", 400
        ),
    ])
    func whatCannotBeUsedIsRefusedWithAProblem(body: String, type: String, status: Int) throws {
        let rig = try Self.shared.get()
        let answer = try rig.post(body, type: type)
        #expect(answer.status == status)
        #expect(answer.header("content-type") == "application/problem+json")
        #expect(answer.json?["detail"]?.string?.isEmpty == false)
        #expect(answer.json?["request_id"]?.string == answer.header("x-request-id"))
    }

    /// One gateway for the cases that publish nothing; it lives as long as the process.
    static let shared = Rig.lasting { try Rig() }
}
