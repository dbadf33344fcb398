import Core
import EventLoop
import Foundation
import Testing

@testable import PealKit

@Suite("What the bench's parts compute")
struct BenchPartsTests {
    @Test("A line is found through points that lie on one, and the best one through others")
    func fit() {
        let line = LinearFit([(1, 5), (2, 7), (3, 9)])
        #expect(abs(line.slope - 2) < 1e-12)
        #expect(abs(line.intercept - 3) < 1e-12)
        // By hand: means 1 and 2, sums of products 2 and of squares 2.
        let rough = LinearFit([(0, 1), (1, 2), (2, 3), (1, 2)])
        #expect(abs(rough.slope - 1) < 1e-12)
        // Bytes against millions of jobs: the values are large, the slope is not.
        let large = LinearFit((0..<100).map { (Double($0) / 10, 120e6 + Double($0) * 50) })
        #expect(abs(large.slope - 500) < 1e-3)
    }

    @Test("Points that tell no slope give a level line")
    func levelFit() {
        #expect(LinearFit([]).slope == 0)
        #expect(LinearFit([(3, 4)]).slope == 0)
        #expect(LinearFit([(3, 4)]).intercept == 4)
        #expect(LinearFit([(3, 4), (3, 8)]).slope == 0)
        #expect(LinearFit([(3, 4), (3, 8)]).intercept == 6)
    }

    @Test("The jobs of an even pace are due in time, however late somebody asks")
    func pace() {
        let pace = SendingPace(perSecond: 1_000)
        #expect(pace.due(elapsedUs: 0) == 1)
        #expect(pace.due(elapsedUs: 999) == 1)
        #expect(pace.due(elapsedUs: 1_000) == 2)
        #expect(pace.due(elapsedUs: 2_000_000) == 2_001)
        #expect(SendingPace(perSecond: 0).due(elapsedUs: 5_000_000) == 0)
        #expect(SendingPace(perSecond: -1).due(elapsedUs: 5_000_000) == 0)
        #expect(SendingPace(perSecond: .infinity).due(elapsedUs: 1) == .max)
    }

    @Test("A rate is that between the marks within the times asked about")
    func rate() {
        var trace = RateTrace()
        for step in UInt64(0)...10 { trace.note(atMs: 1_000 + step * 100, count: Int(step) * 50) }
        trace.note(atMs: 1_500, count: 9_999)
        #expect(trace.marks.count == 11)
        #expect(trace.rate(fromMs: 1_000, toMs: 2_000) == 500)
        #expect(trace.rate(fromMs: 1_050, toMs: 1_950) == 500)
        #expect(trace.rate(fromMs: 2_000, toMs: 3_000) == 0)
        #expect(trace.rate(fromMs: 1_010, toMs: 1_090) == 0)
        #expect(RateTrace().rate(fromMs: 0, toMs: 10) == 0)
    }

    @Test("A recovery begins where the rate reaches the goal and keeps it")
    func recovery() {
        var trace = RateTrace()
        var count = 0
        for step in UInt64(0)...100 {
            trace.note(atMs: step * 100, count: count)
            // Slow for two seconds, a burst of one step, slow for another second, then quick.
            count += step < 20 || (21..<30).contains(step) ? 1 : 100
        }
        #expect(trace.recovery(sinceMs: 0, perSecond: 990, windowMs: 1_000) == 3_000)
        #expect(trace.recovery(sinceMs: 4_000, perSecond: 990, windowMs: 1_000) == 0)
        #expect(trace.recovery(sinceMs: 0, perSecond: 1_001, windowMs: 1_000) == nil)
        #expect(trace.recovery(sinceMs: 9_500, perSecond: 1, windowMs: 1_000) == nil)
    }

    @Test("A request finds its job by the id that follows from job and device")
    func stamps() {
        var stamps = RecordStamps()
        stamps.published(job: "J1", device: "phone", atUs: 10)
        stamps.published(job: "J2", device: "phone", atUs: 20)
        #expect(stamps.openCount == 2)
        let id = Self.id("J1")
        let page = """
            [{"index":0,"apns_id":"\(id)","status":200,"arrival_ms":77},
            {"index":1,"apns_id":"\(id)","status":200,"arrival_ms":78},
            {"index":2,"apns_id":"not-an-id","arrival_ms":79},
            {"index":3,"arrival_ms":80}]
            """
        var seen: [[UInt64]] = []
        #expect(stamps.match(page: Array(page.utf8)) { seen.append([$0, $1]) } == 4)
        #expect(seen == [[10, 77]])
        #expect(stamps.openCount == 1)
        #expect(RecordStamps.firstArrivalMs(page: Array(page.utf8)) == 77)
        #expect(stamps.match(page: Array("[]".utf8)) { seen.append([$0, $1]) } == 0)
        #expect(RecordStamps.firstArrivalMs(page: []) == nil)
        stamps.clear()
        #expect(stamps.openCount == 0)
    }

    private static func id(_ job: String) -> String {
        let (job, device) = (Array(job.utf8), Array("phone".utf8))
        return unsafe job.withUnsafeBytes { job in
            unsafe device.withUnsafeBytes { unsafe DerivedUUID(job: job, device: $0).text }
        }
    }

    @Test("The log of a worker tells when it ran and when its lane had partitions")
    func workerLog() {
        let log = """
            not a line of JSON
            {"ts":"1970-01-01T00:00:02.500Z","event":"worker.started"}
            {"ts":"1970-01-01T00:00:03.000Z","event":"kafka.assigned","lane":"urgent"}
            {"ts":"1970-01-01T00:00:04.250Z","event":"kafka.assigned","lane":"normal"}
            {"ts":"1970-01-01T00:00:09.000Z","event":"kafka.assigned","lane":"normal"}
            """
        #expect(WorkerLog.join(log, lane: "normal") == WorkerLog.Join(startedMs: 2_500, assignedMs: 4_250))
        #expect(WorkerLog.join(log, lane: "bulk") == nil)
        #expect(WorkerLog.join("", lane: "normal") == nil)
    }

    @Test("A sample of the metrics is found by its whole name")
    func metrics() {
        let text = "a_total 3\na{lane=\"x\"} 4\na 5\n"
        #expect(PartBench.value(of: "a", in: text) == 5)
        #expect(PartBench.value(of: "a{lane=\"x\"}", in: text) == 4)
        #expect(PartBench.value(of: "b", in: text) == nil)
    }

    @Test("Numbers in findings are JSON")
    func numbers() throws {
        let text = PartFindings.object([("a", 3), ("b", 1.5), ("c", .nan), ("d", -.infinity)])
        #expect(text == "{\"a\":3,\"b\":1.500,\"c\":null,\"d\":null}")
        #expect(PartFindings.change(1.031) == "+3.1 %")
        #expect(PartFindings.change(0.9) == "-10.0 %")
        #expect(PartFindings.array(["1", "{}"]) == "[1,{}]")
    }

    // MARK: - Targets

    @Test("Memory's targets are the peak and the slope after the warm-up")
    func memory() {
        var plan = MemoryPart.Plan()
        plan.warmUp = 200_000
        let samples = (1...10).map {
            MemoryPart.Sample(
                done: $0 * 100_000, residentBytes: $0 <= 2 ? 50e6 : 100e6 + Double($0) * 0.2e6,
                inFlight: 20_000)
        }
        #expect(abs((MemoryPart.slope(samples, warmUp: 200_000) ?? 0) - 2e6) < 1)
        #expect(MemoryPart.slope(samples, warmUp: 800_000) == nil)
        let found = MemoryPart.findings(samples, peakBytes: 150e6, plan: plan)
        #expect(found.targets.map(\.key) == ["memory_peak", "memory_slope"])
        #expect(found.targets.map(\.isMet) == [true, false])
        let worse = MemoryPart.findings(samples.map { level($0) }, peakBytes: 150_000_001, plan: plan)
        #expect(worse.targets.map(\.isMet) == [false, true])
    }

    private func level(_ sample: MemoryPart.Sample) -> MemoryPart.Sample {
        MemoryPart.Sample(done: sample.done, residentBytes: 90e6, inFlight: sample.inFlight)
    }

    @Test("Workers are as linear as the worst number of them")
    func workers() {
        func results(_ four: Double) -> [WorkersPart.Result] {
            [(1, 100.0), (2, 195), (4, four)].map { .init(workers: $0, perSecond: $1, cores: 0.1) }
        }
        #expect(abs(WorkersPart.worst(results(340)) - 0.85) < 1e-9)
        #expect(abs(WorkersPart.worst(results(500)) - 1.25) < 1e-9)
        #expect(WorkersPart.worst([]) == 0)
        #expect(WorkersPart.findings(results(380), .init()).targets.map(\.isMet) == [true])
        #expect(WorkersPart.findings(results(340), .init()).targets.map(\.isMet) == [false])
        #expect(WorkersPart.findings(results(500), .init()).targets.map(\.isMet) == [false])
        #expect(WorkersPart.findings([], .init()).targets.map(\.isMet) == [false])
    }

    @Test("Scale compares neighbours and is met up to a tenth more")
    func scale() {
        let same = ScalePart.Comparison(small: [10, 8, 12], large: [10.5, 8.4, 12.6])
        #expect(abs(same.ratio - 1.05) < 1e-9)
        let worse = ScalePart.Comparison(small: [10], large: [12])
        let found = ScalePart.findings(same, worse, .init())
        #expect(found.targets.map(\.key) == ["scale_recipients", "scale_backlog"])
        #expect(found.targets.map(\.isMet) == [true, false])
        #expect(ScalePart.findings(.init(), .init(), .init()).targets.map(\.isMet) == [false, false])
        let cheaper = ScalePart.Comparison(small: [10], large: [7])
        #expect(ScalePart.findings(cheaper, cheaper, .init()).targets.map(\.isMet) == [true, true])
        // No number is no success.
        let broken = ScalePart.Comparison(small: [.nan], large: [.nan])
        #expect(ScalePart.findings(broken, same, .init()).targets.map(\.isMet) == [false, true])
    }

    @Test("A slow provider's targets are the rate and the recovery")
    func slow() {
        func met(_ perSecond: Double, _ recoveryMs: UInt64?) -> [Bool] {
            let result = SlowPart.Result(
                perSecond: perSecond, rejectedPerSecond: 10, recoveryMs: recoveryMs)
            return SlowPart.findings(result, .init()).targets.map(\.isMet)
        }
        #expect(met(20_000, 10_000) == [true, true])
        #expect(met(19_999, 10_001) == [false, false])
        #expect(met(20_000, nil) == [true, false])
    }

    @Test("A start counts without the group join")
    func start() {
        let samples = [(900.0, 500.0), (3_000, 2_500), (4_000, 3_000)].map {
            StartPart.Sample(totalMs: $0, joinMs: $1)
        }
        #expect(StartPart.findings(samples).targets.map(\.isMet) == [true])
        #expect(StartPart.findings([samples[2]]).targets.map(\.isMet) == [false])
        #expect(StartPart.findings([]).targets.map(\.isMet) == [false])
    }

    @Test("Latency's targets are those of half the maximum")
    func latency() {
        func load(_ share: Double, _ us: UInt64) -> LatencyPart.Load {
            var times = Histogram(.fine)
            for _ in 0..<100 { times.record(us) }
            return .init(
                share: share, offered: share * 1_000, arrived: share * 990, workerUs: 9, times: times)
        }
        let found = LatencyPart.findings([load(0.1, 90_000), load(0.5, 5_000)], maximum: 1_000)
        #expect(found.targets.map(\.key) == ["latency_p50", "latency_p99"])
        #expect(found.targets.map(\.isMet) == [true, true])
        #expect(found.plots.map(\.name) == ["latency", "throughput"])
        let late = LatencyPart.findings([load(0.5, 26_000)], maximum: 1_000)
        #expect(late.targets.map(\.isMet) == [false, false])
        #expect(LatencyPart.findings([], maximum: 0).targets.isEmpty)
    }
}
