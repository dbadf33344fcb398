import Core
import EventLoop
import Redis
import Registry
import Terminal
import Testing

@testable import PealKit

@Suite("The bench's Redis part")
struct RedisPartTests {
    @Test("The commands are those that the registry encodes, and both clients send the same bytes")
    func commands() throws {
        let all = RedisBenchCommand.all
        #expect(all.map(\.key) == ["get", "empty", "devices", "admit", "counter"])
        let admit = try #require(all.first { $0.key == "admit" })
        #expect(admit.words.prefix(3) == ["EVALSHA", RegistryScripts.admit.digest, "1"])
        #expect(admit.words.filter { $0.contains(RedisBenchCommand.placeholder) }.count == 2)
        for command in all {
            var mine = RedisCommandBuffer()
            var numbers = RedisBenchCommand.Numbers()
            command.encode(&numbers, into: &mine)
            numbers = RedisBenchCommand.Numbers()
            var other = RedisCommandBuffer()
            other.begin(command.words.count)
            for word in command.words {
                guard word.contains(RedisBenchCommand.placeholder) else {
                    other.argument(text: word)
                    continue
                }
                let digits = String(numbers.next())
                let number = String(repeating: "0", count: 12 - digits.count) + digits
                other.argument(text: word.replacing(RedisBenchCommand.placeholder, with: number))
            }
            let (encoded, expected) = (mine.encoded, other.encoded)
            #expect(encoded == expected)
            let isComplete = mine.isComplete
            #expect(isComplete)
        }
    }

    @Test("The part runs", .timeLimit(.minutes(3)))
    func run() throws {
        var plan = RedisPart.Plan()
        plan.rounds = 1
        plan.commands = 5_000
        plan.warmUp = 1_000
        plan.window = 3_000
        plan.rest = 500
        plan.recipients = 200
        plan.partitions = 4
        let found = try RedisPart.run(plan, try BenchPartsRunTests().options()) { _ in }
        #expect(
            found.targets.map(\.key) == ["redis_client_ratio", "redis_job_ratio", "redis_requests_per_job"])
        let members = Dictionary(uniqueKeysWithValues: found.members.map { ($0.key, $0.json) })
        let requests = try #require(members["redis_requests_per_job"].flatMap { Double($0) })
        // A script and a look-up; jobs under way at one look and not at the other make the difference.
        #expect(abs(requests - 2) < 0.8)
        let bytes = try #require(members["redis_bytes_in_per_job"].flatMap { Double($0) })
        #expect(bytes > 100 && bytes < 1_000)
        #expect(found.sections.allSatisfy { !$0.table.render().isEmpty })
    }

    @Test("INFO is read by whole names")
    func info() {
        let look = RedisPart.Look(
            serverUs: 0,
            info:
                "total_commands_processed:12\r\ncmdstat_hget:calls=7,usec=1\r\ncmdstat_hgetall:calls=9,usec=2"
        )
        #expect(look.value("total_commands_processed") == 12)
        #expect(look.calls("hget") == 7)
        #expect(look.calls("evalsha") == 0)
        #expect(look.value("commands_processed") == 0)
    }

    @Test("Targets are met at their bounds and not beyond")
    func targets() {
        func rows(_ pealUs: Double) -> [RedisPart.Row] {
            RedisBenchCommand.all.map {
                RedisPart.Row(
                    command: $0,
                    pairs: [(.init(serverUs: pealUs, clientUs: 1), .init(serverUs: 1, clientUs: 1))])
            }
        }
        let job = RedisPart.Job(serverUs: 3, commands: 4, scripts: 1, lookUps: 1, bytesIn: 1, bytesOut: 1)
        #expect(RedisPart.findings(rows(1.1), job).targets.map(\.isMet) == [true, true, true])
        let dear = RedisPart.Job(
            serverUs: 3.1, commands: 4, scripts: 1, lookUps: 1.2, bytesIn: 1, bytesOut: 1)
        #expect(RedisPart.findings(rows(1.2), dear).targets.map(\.isMet) == [false, false, false])
    }
}
