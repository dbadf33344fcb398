import Configuration
import Core
import Decisions
import EventLoop
import Jobs
import Kafka
import Logging
import Providers
import Redis
import Testing

@testable import WorkerKit

/// One shard without its thread: the test makes its steps.
@Suite(.serialized) struct ShardTests {
    private func makeShard(_ rig: Rig) throws -> Shard {
        var builder = DirectoryBuilder(rig.settings, keeper: nil)
        let directory = try builder.build()
        let loop = try EventLoop()
        let producer = KafkaConfiguration.producer(brokers: rig.broker.bootstrapServers)
        let options = ShardSettings(
            redis: RedisClientOptions(endpoint: rig.redis.endpoint),
            producer: producer,
            topics: TopicNames(prefix: "peal"), schedule: rig.settings.retrySchedule, maxAgeMs: 86_400_000,
            urgentEarly: false, invalidation: rig.settings.providers.invalidation, deliveriesMax: 64,
            urgentReserve: 0, podName: "test", printer: PushPrinter())
        let parser = try #require(JobParser())
        return try Shard(
            index: 0, loop: loop, mailbox: ShardMailbox(waker: loop.waker),
            lanes: [LaneControl(name: "normal", topic: "peal.jobs.normal", waker: nil)],
            directory: directory, settings: options, parser: parser,
            logger: Logger(
                "test", sink: LogSink(descriptor: 2, format: .json), levels: LogLevels(standard: .critical)))
    }

    private func makeBatch(
        _ json: String, timestampMs: Int64 = Clock.wallMs, headers: [(String, [UInt8])] = []
    ) -> RecordBatch {
        let batch = RecordBatch(lane: 0, epoch: 0, capacity: 4096)
        var entry = RecordEntry()
        entry.offset = 7
        entry.timestampMs = timestampMs
        Array("bare/t".utf8).withUnsafeBytes { key in
            Array(json.utf8).withUnsafeBytes { value in
                batch.add(entry, key: key, value: value) { memory in
                    for (name, value) in headers {
                        Array(name.utf8).withUnsafeBytes { name in
                            value.withUnsafeBytes { RecordHeaders.pack(name, $0, into: &memory) }
                        }
                    }
                }
            }
        }
        batch.seal()
        return batch
    }

    private let json = #"{"id":"j","app":"bare","to":{"token":"t","platform":"android"},"title":"x"}"#

    @Test func aJobThatIsGivenUpLingersUntilItsRecordsAreAcknowledgedAndItsOffsetStaysOpen() throws {
        let rig = try Rig(startsWorker: false)
        defer { rig.stop() }
        let shard = try makeShard(rig)
        shard.begin(makeBatch(json))
        let index = try #require(shard.ready.first)
        // Of two devices one was accepted, the other belongs to the partition's new owner.
        shard.jobs[index].stage = .sending
        shard.jobs[index].openDeliveries = 1
        shard.note(index, .accepted, .accepted, delivery: nil)
        shard.jobs[index].isAbandoned = true
        shard.closeDelivery(of: index)
        #expect(shard.jobs.count == 1)
        #expect(shard.jobs[index].openRecords == 1)
        #expect(shard.batches.first.flatMap { $0 } != nil)
        let isDone = rig.wait {
            shard.drainReports()
            return shard.jobs.count == 0
        }
        #expect(isDone)
        #expect(shard.jobs[index].openRecords == 0)
        #expect(shard.batches.first.flatMap { $0 } == nil)
        #expect(shard.completions[0].isEmpty)
    }

    @Test func heldJobsOfAnAssignmentThatIsGoneAreLetGoWithoutRedis() throws {
        let rig = try Rig(startsWorker: false)
        defer { rig.stop() }
        let shard = try makeShard(rig)
        for _ in 0..<3 { shard.begin(makeBatch(json)) }
        shard.advance()
        #expect(shard.heldCount == 1)
        #expect(shard.jobs.count == 3)
        _ = shard.lanes[0].startEpoch()
        shard.advance()
        #expect(shard.heldCount == 0)
        #expect(shard.jobs.count == 0)
        #expect(shard.completions[0].isEmpty)
    }

    @Test func aJobOfTheLastYearIsReadWithoutOverflow() throws {
        let rig = try Rig(startsWorker: false)
        defer { rig.stop() }
        let shard = try makeShard(rig)
        shard.begin(makeBatch(json, timestampMs: RecordEntry.latestMs))
        let index = try #require(shard.ready.first)
        #expect(shard.jobs[index].deadlineMs == RecordEntry.latestMs + 86_400_000)
    }

    @Test(arguments: [
        ("1", "1", "duplicate", true), ("2", "2", "duplicate", true), ("2", "1", "duplicate", false),
        ("1", "1", "credential_paused", false), ("1", "0", "fcm_unavailable", false),
    ])
    func onlyAHandOverThatWaitedForADedupKeyIsStillToBeCounted(
        attempt: String, waits: String, reason: String, isUncounted: Bool
    ) throws {
        let rig = try Rig(startsWorker: false)
        defer { rig.stop() }
        let shard = try makeShard(rig)
        let headers = [
            ("peal-attempt", attempt), ("peal-waits", waits), ("peal-reason", reason),
            ("peal-origin", "peal.jobs.normal/0/3"),
        ]
        shard.begin(makeBatch(json, headers: headers.map { ($0.0, Array($0.1.utf8)) }))
        let index = try #require(shard.ready.first)
        #expect(shard.isUncounted(index) == isUncounted)
    }

    /// Its copy would find the claim of its hop taken, and be dropped; or it would be counted once more.
    @Test(arguments: [false, true])
    func aJobThatRedisWasAskedAboutDoesNotLeaveAsIfNothingHadHappened(wasAsked: Bool) throws {
        let rig = try Rig(startsWorker: false)
        defer { rig.stop() }
        let shard = try makeShard(rig)
        let headers = [("peal-attempt", "1"), ("peal-origin", "peal.jobs.normal/0/3")]
        shard.begin(makeBatch(json, headers: headers.map { ($0.0, Array($0.1.utf8)) }))
        let index = try #require(shard.ready.first)
        shard.jobs[index].wasAsked = wasAsked
        // Redis failed then, and now the app is paused.
        let state = ControlState(version: 1, entries: [ControlEntry(.app("bare"), .pause)])
        shard.control.gate = ControlGate(state, apps: shard.directory.apps.map(\.name), nowMs: shard.nowMs)
        shard.advance()
        #expect(shard.jobs[index].stage == (wasAsked ? .held : .settling))
        #expect(shard.jobs[index].openRecords == (wasAsked ? 0 : 1))
    }
}
