import Core
import EventLoop
import Foundation
import Jobs
import Testing

@testable import PealKit

/// The repository's own demo files.
enum DemoData {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/Peal/Data").path()

    static func input() throws -> DemoInput {
        try DemoInput(
            jobsPath: directory + "/" + DemoFiles.jobs, devicesPath: directory + "/" + DemoFiles.devices)
    }
}

@Suite("The demo's data")
struct DemoDataTests {
    @Test("Every job of the file, and of a later round, is one that the pipeline takes")
    func jobsParse() throws {
        let plan = DemoPlan(input: try DemoData.input(), count: 1000)
        let parser = try #require(JobParser())
        var job = Job()
        for index in 0..<plan.jobCount {
            var text = ByteBuffer()
            plan.appendJob(index, to: &text)
            let count = text.count
            text.append(array: [UInt8](repeating: 0, count: 64))
            let fault = parser.parse(UnsafeRawBufferPointer(rebasing: text.bytes[..<count]), into: &job)
            #expect(fault == nil, "job \(index): \(text.text)")
            var key = ByteBuffer()
            var expected = ByteBuffer()
            plan.appendKey(index, to: &key)
            job.appendPartitionKey(to: &expected)
            #expect(key.text == expected.text)
        }
    }

    @Test(
        "It covers what it says: 200 jobs, four profiles, all device counts, both providers, every kind of trouble"
    )
    func coverage() throws {
        let input = try DemoData.input()
        #expect(input.templates.count >= 200)
        #expect(Set(input.templates.map(\.app)) == Set(StackApp.demo.map(\.name)))
        #expect(Set(input.recipients.map(\.devices.count)) == [1, 2, 3, 4])
        let devices = input.recipients.flatMap(\.devices)
        #expect(Set(devices.map(\.platform)) == ["ios", "android"])
        #expect(Set(devices.map(\.environment)).isSuperset(of: ["production", "sandbox"]))
        #expect(devices.contains { $0.token.hasPrefix("fa11fa114100") })
        #expect(devices.contains { $0.token.hasSuffix("~UNREGISTERED") })
        #expect(Set(devices.map(\.token)).count == devices.count)
        let expected = Set(input.templates.flatMap(\.expected))
        #expect(expected.isSuperset(of: ["expired", "duplicate", "no_device", "rejected"]))
        let text = try String(contentsOfFile: DemoData.directory + "/" + DemoFiles.jobs, encoding: .utf8)
        #expect(Set(text.split(separator: "\n")).count == input.templates.count)
        for needed in [
            "\"type\":\"background\"", "\"type\":\"encrypted\"", "\"type\":\"badge\"", "سارة", "שלום",
        ] {
            #expect(text.contains(needed))
        }
        #expect(text.unicodeScalars.contains { $0.properties.isEmojiPresentation })
    }

    @Test("Rounds have recipients, ids and tokens of their own, and keep what tokens ask for")
    func rounds() throws {
        let input = try DemoData.input()
        let plan = DemoPlan(input: input, count: input.templates.count * 3)
        var seen: Set<String> = []
        for round in 0..<3 {
            for device in input.recipients.flatMap(\.devices) {
                let token = DemoPlan.token(device.token, round: round)
                #expect(token.count == device.token.count)
                #expect(token.hasPrefix("fa11fa11") == device.token.hasPrefix("fa11fa11"))
                #expect(
                    token.firstIndex(of: "~").map { token[$0...] }
                        == device.token.firstIndex(of: "~").map { device.token[$0...] })
                seen.insert(token)
            }
        }
        #expect(seen.count == 3 * input.recipients.flatMap(\.devices).count)
        for index in 0..<plan.jobCount {
            let id = plan.template(ofJob: index).id + DemoPlan.suffix(round: plan.round(ofJob: index))
            #expect(plan.job(id: id) == index)
        }
        #expect(plan.job(id: "demo-0001~3") == nil)
        #expect(plan.job(id: "demo-9999") == nil)
        #expect(plan.job(id: "") == nil)
        #expect(plan.job(id: "demo-0001~x") == nil)
    }

    @Test("A file with a fault is refused with its line")
    func faults() {
        let device = #"{"app":"a","recipient":"r","devices":[]}"#
        for (jobs, devices, word) in [
            ("{", device, "jobs:1"), ("{}", device, "app and to"),
            ("{\"app\":\"a\",\"to\":{\"topic\":\"t\"}}", device, "recipients and tokens"),
            ("", device, "no job"),
            ("{\"id\":\"1\",\"app\":\"a\",\"to\":{\"recipient\":\"r\"}}\n", "{}", "devices:1"),
        ] {
            let failure = #expect(throws: StackFailure.self) { try DemoInput(jobs: jobs, devices: devices) }
            #expect(failure?.message.contains(word) == true)
        }
    }
}
