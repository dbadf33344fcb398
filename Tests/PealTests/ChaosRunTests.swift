import EventLoop
import Foundation
import Testing

@testable import PealKit

@Suite("A short run under faults", .serialized)
struct ChaosRunTests {
    /// The directory of the programs that were built beside this test bundle.
    private static func programs() throws -> String {
        var folder = URL(fileURLWithPath: StackOptions.ownDirectory)
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent("peal-worker")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return folder.path }
            folder.deleteLastPathComponent()
        }
        throw CocoaError(.fileNoSuchFile)
    }

    @Test("Two thousand jobs and fifteen faults: every promise is kept", .timeLimit(.minutes(5)))
    func short() throws {
        var options = ChaosOptions()
        options.seed = 21
        options.jobs = 2_000
        options.faults = 15
        options.faultStepMs = 900
        options.secondsMax = 200
        options.isVerbose = false
        options.programDirectory = try Self.programs()
        let report = try ChaosRun(options).run()
        #expect(report.isGood, "\(report.text())")
        #expect(report.faultCount == 15)
        #expect(report.history.copies.count >= 2_000)
    }
}
