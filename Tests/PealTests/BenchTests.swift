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

    @Test("The peer's line is understood, and anything less than all accepted is not")
    func readsPeer() {
        let line =
            #"{"succeeded": 1000, "us": 500000, "cpu_us": 400000, "version": "4.0", "python": "3.11", "connections": 2}"#
        #expect(
            PeerClient.sample("warning: x\n\(line)\n", requests: 1_000)
                == PeersPart.Sample(
                    requestsPerSecond: 2_000, cpuUs: 400, connections: 2, version: "4.0", python: "3.11"))
        for (output, requests) in [(line, 1_001), ("", 1), ("{}", 0), ("{", 1), ("Traceback", 1)] {
            #expect(PeerClient.sample(output, requests: requests) == nil)
        }
    }

    @Test("Versions are found in what programs and the system print")
    func versions() {
        #expect(BenchConditions.loadGenerator("h2load nghttp2/1.52.0\n") == "1.52.0")
        #expect(
            BenchConditions.redis("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc bits=64\n")
                == "7.0.15")
        let system = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"
        #expect(BenchConditions.distribution(system) == "Debian GNU/Linux 12 (bookworm)")
        for text in ["", "\n", "no version here"] {
            #expect(BenchConditions.loadGenerator(text) == "")
            #expect(BenchConditions.redis(text) == "")
            #expect(BenchConditions.distribution(text) == "")
        }
    }

    @Test("The conditions name this machine and the libraries that the process runs with")
    func conditions() {
        let found = BenchConditions.read(isQuick: true)
        #expect(found.machine.contains("cores"))
        #expect(found.isQuick)
        for name in ["nghttp2", "OpenSSL", "librdkafka"] {
            let version = found.versions.first { $0.name == name }?.version ?? ""
            #expect(version.first?.isNumber == true && version.contains("."), "\(name)")
        }
    }

    @Test("Turns: one run of each doesn't count, and who goes first changes")
    func turns() throws {
        var order: [String] = []
        var told: [Int] = []
        let pairs = try Turns.run(
            pairs: 3,
            { (isWarmUp) throws(StackFailure) in
                order.append(isWarmUp ? "(a)" : "a")
                return order.count
            },
            { (isWarmUp) throws(StackFailure) in
                order.append(isWarmUp ? "(b)" : "b")
                return -order.count
            }, tell: { number, _ in told.append(number) })
        #expect(order == ["(a)", "(b)", "a", "b", "b", "a", "a", "b"])
        #expect(pairs.map(\.0) == [3, 6, 7])
        #expect(pairs.map(\.1) == [-4, -5, -8])
        #expect(told == [1, 2, 3])
    }

    @Test("A run that fails ends the turns")
    func turnsFail() {
        var runs = 0
        #expect(throws: StackFailure(.program, "no")) {
            try Turns.run(
                pairs: 5,
                { (_) throws(StackFailure) in
                    runs += 1
                    if runs == 3 { throw StackFailure(.program, "no") }
                    return 0
                }, { (_) throws(StackFailure) in 0 }, tell: { _, _ in })
        }
        #expect(runs == 3)
    }

    @Test("The ratio is the median of the pairs' ratios, not the ratio of the medians")
    func ratios() {
        let pairs = [(10.0, 1.0), (1.0, 1.0), (6.0, 3.0)]
        #expect(Statistics.median(Statistics.ratios(pairs) { $0 }) == 2)
        #expect(Statistics.ratios([(1.0, 0.0)]) { $0 }.allSatisfy { $0 > 1e6 })
        #expect(Statistics.text(Statistics.ratios(pairs) { $0 }) == "2.00 (1.00 to 10.00)")
        #expect(Statistics.text([1.5]) == "1.50")
    }
}
