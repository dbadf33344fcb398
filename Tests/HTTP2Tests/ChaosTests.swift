import Core
import HTTP2
import Testing

@testable import HTTP2

/// A server that misbehaves in every way at once, from a fixed seed.
final class ChaosScript {
    private var random: SessionFuzzTests.Random
    private var lastStreams: [UInt64: Int32] = [:]
    /// How often the server acted on each id.
    var processed: [String: Int] = [:]
    var faults = 0

    init(seed: UInt64) { random = SessionFuzzTests.Random(state: seed) }

    func handle(_ request: HTTP2ServerRequest, _ connection: HTTP2ServerConnection, _ server: ScriptedServer)
    {
        let streamID = request.streamID
        // Streams above the last one of a GOAWAY are not processed, whenever they arrive.
        if let last = lastStreams[connection.number], streamID > last { return }
        let dice = random.next(1_000)
        if dice >= 900 { faults += 1 }
        switch dice {
        case 900..<920: return connection.reset(streamID, .refusedStream)
        case 920..<930:
            // Everything received so far was processed; this request and later ones are not.
            lastStreams[connection.number] = streamID - 2
            return connection.goAway(lastStreamID: streamID - 2, .noError)
        default: processed[ScriptedServer.text(request[.apnsID]), default: 0] += 1
        }
        switch dice {
        case 930..<950: connection.reset(streamID, .internalError)
        case 950..<970: break
        case 970..<975: connection.kill()
        case 975..<980: connection.close()
        case 980..<982: connection.sendRaw([UInt8](repeating: 0xFF, count: 64))
        case 982..<990:
            connection.setMaxConcurrentStreams(UInt32(1 + random.next(100)))
            server.answer(request, connection)
        case 990..<1_000:
            connection.goAway(lastStreamID: .max, .noError)
            server.answer(request, connection)
        default: server.answer(request, connection)
        }
    }
}

@Suite(.bothSessions) struct ChaosTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyRequestHasOneTrueOutcomeWhateverTheServerDoes(seed: UInt64) throws {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = 100
        var limits = PoolFaultTests.quick()
        limits.connectionsMax = 3
        limits.growAfterMs = 1
        limits.connectEveryMs = 0
        limits.failWaitingAfterConnects = 1_000
        let rig = try Rig(options: options, limits: limits)
        defer { rig.end() }
        let script = ChaosScript(seed: seed)
        rig.scripted.handler = { script.handle($0, $1, $2) }
        let total: UInt64 = 1_500
        var next: UInt64 = 0
        let submitNext = {
            guard next < total else { return }
            #expect(rig.submit(next, bodyBytes: Int(next % 2_000), deadlineMs: 1_000))
            next += 1
        }
        rig.outcomes.onOutcome = { _ in submitNext() }
        for _ in 0..<500 { submitNext() }
        #expect(rig.turn(untilOutcomes: Int(total)))

        #expect(rig.outcomes.repeated == 0)
        #expect(rig.outcomes.count == Int(total))
        #expect(rig.pool.unfinished == 0)
        #expect(script.faults > 20)
        #expect(rig.outcomes.answers.count > Int(total) / 10)
        #expect(script.processed.values.allSatisfy { $0 == 1 })
        for (tag, answer) in rig.outcomes.answers {
            guard script.processed[Rig.id(tag)] == 1, answer.id == Rig.id(tag),
                answer.body == Rig.body(tag, Int(tag % 2_000))
            else {
                Issue.record("tag \(tag) was answered wrongly: \(answer.status) \(answer.id)")
                break
            }
        }
        for (tag, failure) in rig.outcomes.failures where failure.isSafeToResend {
            if script.processed[Rig.id(tag)] != nil { Issue.record("tag \(tag) was processed: \(failure)") }
        }
    }

    @Test func anAnswerBeforeTheBodyIsSentIsTakenAndTheStreamGivenUp() throws {
        let slab = RequestSlab(capacity: 4)
        let client = try SessionUnderTest.kind.make(slab: slab, connection: 1)
        let server = try HTTP2ServerSession(options: HTTP2ServerOptions())
        let template = try CompiledTemplate(HeaderTemplate(authority: "a", fields: []))
        // Larger than the stream's window, so that its end can't have been sent.
        let body = [UInt8](repeating: 1, count: 100_000)
        try body.withUnsafeBytes { body in
            try Array("/".utf8).withUnsafeBytes { path in
                let request = OutgoingRequest(
                    template: TemplateID(index: 0), tag: 0, deadlineMs: 0, path: path, body: body)
                let slot = try #require(slab.take(request))
                #expect(client.submit(slot, template) == .ok)
                var bytes: [UInt8] = []
                _ = client.produce(budget: 1 << 20) { bytes += Array($0) }
                #expect(bytes.withUnsafeBytes { server.receive($0) })
                let headers = ResponseHeaders()
                let responded = server.respond(
                    1, status: 413, headers: headers, body: UnsafeRawBufferPointer(start: nil, count: 0))
                #expect(responded)
                bytes = []
                _ = server.produce(budget: 1 << 20) { bytes += Array($0) }
                #expect(bytes.withUnsafeBytes { client.receive($0) } == nil)
                let ended = client.notes.pointee.ended
                #expect(ended.map(\.streamIsOpen) == [true])
                #expect(slab.slots[Int(slot)].isComplete)
                #expect(slab.slots[Int(slot)].status == 413)
            }
        }
    }
}
