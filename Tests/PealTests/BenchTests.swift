import Core
import Jobs
import Testing

@testable import PealKit

@Suite("The bench")
struct BenchTests {
    private static let output = """
        starting benchmark...
        Application protocol: h2

        finished in 1.79s, 167597.77 req/s, 12.10MB/s
        requests: 300000 total, 300000 started, 300000 done, 299999 succeeded, 1 failed, 0 errored, 0 timeout
        status codes: 299999 2xx, 0 3xx, 1 4xx, 0 5xx
        """

    @Test("What h2load prints is understood")
    func readsLoadGenerator() {
        #expect(LoadGenerator.rate(Self.output) == 167597.77)
        #expect(LoadGenerator.succeeded(Self.output) == 299_999)
        #expect(LoadGenerator.rate("finished in 1.79s") == nil)
        #expect(LoadGenerator.succeeded("") == nil)
    }

    @Test("The median is the middle, or the mean of the two in the middle")
    func median() {
        #expect(Statistics.median([3, 1, 2]) == 2)
        #expect(Statistics.median([4, 1, 2, 3]) == 2.5)
        #expect(Statistics.median([]) == 0)
    }

    @Test("The jobs are valid, keyed by recipient or token, and distinct", arguments: BenchJobKind.allCases)
    func jobs(kind: BenchJobKind) throws {
        let parser = try #require(JobParser())
        var writer = JobWriter(kind: kind, recipients: 7, run: 1)
        var seen: Set<String> = []
        var keys: Set<String> = []
        for number in 0..<20 {
            writer.write(number)
            var job = Job()
            let fault = parser.parse(writer.job.bytes, into: &job)
            #expect(fault == nil)
            seen.insert(writer.job.text)
            keys.insert(writer.key.text)
        }
        #expect(seen.count == 20)
        #expect(keys.count == (kind == .recipient ? 7 : 20))
    }

    @Test("A token has 64 digits and never asks the simulator for an answer")
    func tokens() {
        for number in UInt64(0)..<1_000 {
            var token = ByteBuffer()
            BenchJobs.append(token: number, to: &token)
            let text = token.text
            #expect(text.count == 64)
            #expect(text.hasPrefix("0"))
        }
    }

    @Test("The report's headline figures are those of the first shape and kind")
    func json() throws {
        var report = BenchReport(machine: "2 cores", load: 0.25)
        let load = TransportSample(requestsPerSecond: 100_000, cpuUs: 4)
        report.transports = [
            TransportResult(
                shape: .init(connections: 1, streams: 100),
                peal: TransportSample(requestsPerSecond: 120_000, cpuUs: 3), h2load: load, rateRatio: 1.2,
                cpuRatio: 0.75)
        ]
        report.pipelines = [
            PipelineResult(
                kind: .recipient,
                samples: [
                    PipelineSample(
                        perSecond: 30_000, workerUs: 9.5, redisUs: 4, brokerUs: 3, simulatorUs: 3,
                        othersShare: 0.1,
                        workerBytes: 1 << 26, publishUs: 2, h2load: load)
                ])
        ]
        let value = try JSONValue.parse(text: report.json)
        #expect(value["load_average"] == .number("0.25"))
        #expect(value["transport_rps_ratio"] == .number("1.200"))
        #expect(value["transport_cpu_ratio"] == .number("0.750"))
        #expect(value["pipeline_rps_ratio"] == .number("0.300"))
        #expect(value["worker_cpu_us"] == .number("9.50"))
        #expect(value["transport"]?.array?.count == 1)
        #expect(value["pipeline"]?.array?.first?["jobs_to"]?.string == "recipient")
    }
}
