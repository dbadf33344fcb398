import Core
import Testing

@testable import HTTP2

/// Each bound on what a server may make a connection do or keep, at its last good number and beyond it.
@Suite struct SessionLimitTests {
    /// A session that has the server's SETTINGS and `requests` requests on their way.
    private final class Client {
        let slab: RequestSlab
        let session: FramedSession
        private let text = Array("/3/device/00".utf8)

        init(requests: Int = 1) throws {
            slab = RequestSlab(capacity: requests)
            session = try FramedSession(slab: slab, connection: 1)
            let template = try CompiledTemplate(
                HeaderTemplate(authority: "a", fields: [.init("apns-topic", "t")]))
            #expect(receive(ServerFrames.frame(4, 0, 0, [])))
            text.withUnsafeBytes { path in
                for tag in 0..<requests {
                    let request = OutgoingRequest(
                        template: TemplateID(index: 0), tag: UInt64(tag), deadlineMs: 0, path: path,
                        body: UnsafeRawBufferPointer(rebasing: path[..<0]))
                    guard let slot = slab.take(request) else { continue }
                    #expect(session.submit(slot, template) == .ok)
                }
                _ = session.produce(budget: .max) { _ in }
            }
        }

        /// False once the connection is over.
        func receive(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { session.receive($0) } == nil }
    }

    private static let ping = ServerFrames.frame(6, 0, 0, [UInt8](repeating: 7, count: 8))

    @Test func acknowledgements() throws {
        let client = try Client()
        for _ in 0..<FramedSession.acksMax { #expect(client.receive(Self.ping)) }
        // What is sent counts no more.
        _ = client.session.produce(budget: .max) { _ in }
        for _ in 0..<FramedSession.acksMax { #expect(client.receive(Self.ping)) }
        #expect(client.session.limitPassed == nil)
        #expect(!client.receive(Self.ping))
        #expect(client.session.limitPassed == .acknowledgements)
    }

    @Test func continuations() throws {
        let empty = ServerFrames.frame(9, 0, 1, [])
        let client = try Client()
        #expect(client.receive(ServerFrames.frame(1, 0, 1, [0x88])))
        for _ in 0..<FramedSession.continuationsMax { #expect(client.receive(empty)) }
        #expect(client.session.limitPassed == nil)
        #expect(!client.receive(empty))
        #expect(client.session.limitPassed == .continuations)
    }

    @Test func idleFrames() throws {
        // PRIORITY.
        let frame = ServerFrames.frame(2, 0, 1, [0, 0, 0, 0, 1])
        let client = try Client()
        for _ in 0..<IdleFrameBudget.most { #expect(client.receive(frame)) }
        #expect(client.session.limitPassed == nil)
        #expect(!client.receive(frame))
        #expect(client.session.limitPassed == .idleFrames)
    }

    /// Only a client with more streams than any pool has can be made to gather so much.
    @Test func controlBytes() throws {
        // A RST_STREAM answers a header block that no response has (`:method`).
        let resetBytes = FrameHeader.byteCount + 4
        let most = FramedSession.controlMax / resetBytes
        let client = try Client(requests: most + 1)
        var sent = 0
        while client.receive(ServerFrames.frame(1, 5, Int32(2 * sent + 1), [0x82])) { sent += 1 }
        #expect(sent == most)
        #expect(client.session.limitPassed == .controlBytes)
    }

    @Test func headerBytes() throws {
        let client = try Client(requests: 2)
        // One field of 4,000 bytes into the table, and then again and again by its number, 62.
        let first: [UInt8] = [0x88, 0x40, 1, UInt8(ascii: "x"), 0x7F, 0xA0, 0x1E]
        let block = first + [UInt8](repeating: 97, count: 3_999)
        let fits = ClientNotes.blockBytesMax / 4_000 - 1
        let good = block + [UInt8](repeating: 0xBE, count: fits)
        #expect(client.receive(ServerFrames.frame(1, 5, 1, good)))
        #expect(client.session.limitPassed == nil)
        #expect(!client.receive(ServerFrames.frame(1, 5, 3, good + [0xBE, 0xBE])))
        #expect(client.session.limitPassed == .headerBytes)
    }

    @Test func settings() throws {
        let setting: [UInt8] = [0, 99, 0, 0, 0, 0]
        func frame(_ count: Int) -> [UInt8] {
            ServerFrames.frame(4, 0, 0, (0..<count).flatMap { _ in setting })
        }
        let client = try Client()
        #expect(client.receive(frame(FrameHeader.settingsMax)))
        #expect(client.session.limitPassed == nil)
        #expect(!client.receive(frame(FrameHeader.settingsMax + 1)))
        #expect(client.session.limitPassed == .settings)
    }

    @Test func aBrokenRuleIsNoLimit() throws {
        let client = try Client()
        #expect(!client.receive(ServerFrames.frame(8, 0, 0, [0, 0, 0, 0])))
        #expect(client.session.limitPassed == nil)
    }

    @Test func labelsDiffer() {
        #expect(Set(SessionLimit.allCases.map(\.label)).count == SessionLimit.allCases.count)
        #expect(PoolMetrics().limits.count == SessionLimit.allCases.count)
    }

    /// Those of the bounds that hold however the bytes come in pieces, over real sockets.
    @Test(arguments: [SessionLimit.continuations, .idleFrames, .settings])
    func thePoolCountsConnectionsByTheirLimit(_ limit: SessionLimit) throws {
        let rig = try Rig(limits: PoolFaultTests.quick())
        defer { rig.end() }
        rig.scripted.handler = { request, connection, server in
            if server.opened > 1 { return server.answer(request, connection) }
            switch limit {
            case .continuations:
                let more = ServerFrames.frame(9, 0, request.streamID, [])
                connection.sendRaw(
                    ServerFrames.frame(1, 0, request.streamID, [0x88])
                        + (0...FramedSession.continuationsMax).flatMap { _ in more })
            case .idleFrames:
                let frame = ServerFrames.frame(2, 0, request.streamID, [0, 0, 0, 0, 1])
                connection.sendRaw((0...IdleFrameBudget.most).flatMap { _ in frame })
            default:
                connection.sendRaw(ServerFrames.frame(4, 0, 0, [UInt8](repeating: 9, count: 6 * 40)))
            }
        }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[1]?.code == .ambiguous)
        rig.submit(2)
        #expect(rig.turn(untilOutcomes: 2))
        #expect(rig.outcomes.answers[2]?.status == 200)
        var expected = PoolMetrics().limits
        expected[limit.rawValue] = 1
        #expect(rig.pool.snapshot.limits == expected)
    }
}
