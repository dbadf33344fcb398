import Core
import EventLoop
import Testing

@testable import Redis
@testable import TestSupport

/// A client on a loop with a recorder, driven by the test.
final class ClientRig {
    let loop: EventLoop
    let recorder = RedisRecorder()
    let client: RedisClient

    init(_ options: RedisClientOptions) throws {
        loop = try EventLoop()
        client = RedisClient(loop: loop, options: options, handler: recorder)
        client.start()
    }

    convenience init(
        _ endpoint: RedisEndpoint, _ change: (inout RedisClientOptions) -> Void = { _ in }
    ) throws {
        var options = RedisClientOptions(endpoint: endpoint)
        options.backoffFirstMs = 5
        options.backoffLastMs = 40
        change(&options)
        try self.init(options)
    }

    deinit { client.close() }

    @discardableResult
    func issue(_ words: String..., value: UInt64 = 0) -> RedisFailure.Code? {
        client.issue(RedisTag(kind: 7, value: value)) { $0.append(words) }
    }

    @discardableResult
    func call(_ script: RedisScript, keys: [String], value: UInt64 = 0) -> RedisFailure.Code? {
        client.issue(RedisTag(kind: 7, value: value)) { out in
            out.begin(script, keys: keys.count, arguments: 0)
            for key in keys { out.argument(text: key) }
        }
    }

    func ready() { #expect(loop.runUntil { client.isReady }) }

    func answers(_ count: Int) {
        #expect(loop.runUntil(withinMs: 30_000) { recorder.answers.count >= count })
    }

    /// Issues a command again and again, as a shard does with a job that it holds, until `isDone` holds of an
    /// answer; gives every failure on the way. Each must be an outage, or the job would be buried.
    @discardableResult
    func insist(
        _ words: String..., until isDone: (RedisRecorder.Answer) -> Bool = { $0.code == nil }
    ) -> [RedisFailure.Code] {
        var failures: [RedisFailure.Code] = []
        let isAnswered = loop.runUntil(withinMs: 30_000) {
            let before = recorder.answers.count
            if let refusal = client.issue(RedisTag(kind: 7, value: 0), { $0.append(words) }) {
                failures.append(refusal)
                return false
            }
            guard loop.runUntil(withinMs: 10_000, { recorder.answers.count > before }),
                let answer = recorder.answers.last
            else { return false }
            if let code = answer.code { failures.append(code) }
            return isDone(answer)
        }
        #expect(isAnswered, "\(words) was never done: \(Set(failures))")
        let others = failures.filter { !$0.isOutage }
        #expect(others.isEmpty)
        return failures
    }
}
