import Core
import Testing

@testable import HTTP2

/// One session under the same treatment as the other: what a connection and its pool do, without sockets.
final class SessionDriver {
    /// What became of a request.
    struct Outcome: Equatable {
        var isAnswered: Bool
        var status: UInt16
        var code: UInt32
        var apnsID: [UInt8]
        var body: [UInt8]
    }

    let session: any ClientSession
    let slab = RequestSlab(capacity: 256)
    var outcomes: [UInt64: Outcome] = [:]
    var open: [UInt64: (slot: Int32, streamID: Int32)] = [:]
    var repeated = 0
    var closed = 0
    var settings = 0
    var pingAcks = 0
    var goAways: [String] = []
    var output: [UInt8] = []
    var isBroken = false
    var fault = ""

    init(_ kind: HTTP2SessionKind) throws {
        session = try kind.make(slab: slab, connection: 1)
    }

    func submit(_ request: OutgoingRequest, _ template: CompiledTemplate) -> Submitted? {
        guard let slot = slab.take(request) else { return nil }
        slab.slots[Int(slot)].phase = .sending
        let result = session.submit(slot, template)
        if result == .ok {
            open[request.tag] = (slot, slab.slots[Int(slot)].streamID)
        } else {
            slab.release(slot)
        }
        return result
    }

    /// As a deadline does: the slot is free before the stream is reset.
    func giveUp(_ tag: UInt64) {
        guard let request = open.removeValue(forKey: tag) else { return }
        slab.release(request.slot)
        session.cancel(request.streamID)
    }

    func receive(_ bytes: ArraySlice<UInt8>) {
        guard !isBroken else { return }
        if let fault = bytes.withUnsafeBytes({ session.receive($0) }) {
            isBroken = true
            self.fault = fault
        }
        drain()
    }

    /// Serialises everything, `budget` bytes at a time.
    func produce(budget: Int) {
        var out = ByteBuffer()
        var isDone = false
        for _ in 0..<100_000 where !isDone {
            guard let done = session.produce(budget: budget, into: &out) else {
                isBroken = true
                break
            }
            isDone = done
        }
        #expect(isDone || isBroken)
        output += out.array
        drain()
    }

    private func drain() {
        let notes = session.notes
        settings += notes.pointee.settingsChanged ? 1 : 0
        notes.pointee.settingsChanged = false
        pingAcks += notes.pointee.pingAcks
        notes.pointee.pingAcks = 0
        closed += notes.pointee.closedStreams
        notes.pointee.closedStreams = 0
        if let goAway = notes.pointee.goAway {
            goAways.append("\(goAway.lastStreamID) \(goAway.code) \(goAway.debugData)")
            notes.pointee.goAway = nil
        }
        let ended = notes.pointee.ended
        notes.pointee.ended = []
        for item in ended { finish(item) }
    }

    private func finish(_ item: ClientNotes.Ended) {
        let slot = slab.slots + Int(item.slot)
        guard slot.pointee.streamID == item.streamID, slot.pointee.connection == 1 else { return }
        let isAnswered = slot.pointee.isComplete && slot.pointee.status >= 200
        if isAnswered, item.streamIsOpen { session.cancel(item.streamID) }
        let tag = slot.pointee.request.tag
        let view = ResponseView(slab: slab, index: Int(item.slot))
        if outcomes[tag] != nil { repeated += 1 }
        outcomes[tag] = Outcome(
            isAnswered: isAnswered, status: isAnswered ? view.status : 0, code: isAnswered ? 0 : item.code,
            apnsID: isAnswered ? Array(view.apnsID) : [], body: isAnswered ? Array(view.body) : [])
        open[tag] = nil
        slab.release(item.slot)
    }

    /// What both drivers must agree on even while the connection's window keeps them from serialising: which
    /// of the bodies that wait is sent first is left to the client.
    var narrowSummary: String {
        let ids = open.map { "\($0.key):\($0.value.streamID)" }.sorted()
        return "open \(ids) settings \(settings) pings \(pingAcks) goaways \(goAways) limit"
            + " \(session.streamLimit) oversized \(session.notes.pointee.oversizedHeaders) repeated \(repeated)"
    }

    /// What both drivers must agree on once everything is serialised.
    var summary: String {
        // With each body as far as the windows have let it.
        let ids = open.map {
            "\($0.key):\($0.value.streamID):\(slab.slots[Int($0.value.slot)].bodySent)"
        }.sorted()
        return "open \(ids) closed \(closed) settings \(settings) pings \(pingAcks) goaways \(goAways)"
            + " over \(session.isOver) limit \(session.streamLimit) oversized"
            + " \(session.notes.pointee.oversizedHeaders) repeated \(repeated)"
    }
}

/// Our session and nghttp2's get the same requests and the same bytes, good and bad, and must agree; what ours
/// writes is read by an nghttp2 server.
@Suite struct DifferentialTests {
    @Test(arguments: 0..<20)
    func bothSessionsAgree(_ part: Int) throws {
        for seed in 0..<25 {
            let script = try DifferentialScript(seed: UInt64(part * 1_000 + seed))
            try script.run()
        }
    }

    @Test(arguments: 0..<5)
    func bothSessionsAgreeWhenTheConnectionsWindowRunsOut(_ part: Int) throws {
        var exhausted = 0
        for seed in 0..<20 {
            let script = try DifferentialScript(seed: UInt64(part * 1_000 + seed), isTight: true)
            try script.run()
            exhausted += script.exhausted
        }
        #expect(exhausted > 20)
    }
}

/// A random conversation.
final class DifferentialScript {
    // The rest of the suite lets windows of streams run out, never the connection's.
    private let isTight: Bool
    /// Steps at whose end a session had something to send and no window of the connection.
    private(set) var exhausted = 0
    /// Bytes of DATA among the first bytes of our output, behind the preface.
    private var spent = 0
    private var counted = 24

    static let pattern = Rig.body(1, 71_000)
    let seed: UInt64
    var random: SessionFuzzTests.Random
    let ours: SessionDriver
    let oracle: SessionDriver
    var server = ServerFrames()
    var templates: [CompiledTemplate] = []
    // nghttp2 borrows a template's bytes until a request's HEADERS are serialised, as the pool knows.
    private var replaced: [CompiledTemplate] = []
    var sent: [UInt64: SentRequest] = [:]
    var tag: UInt64 = 0
    private var memory: [UnsafeMutableRawBufferPointer] = []

    init(seed: UInt64, isTight: Bool = false) throws {
        self.seed = seed
        self.isTight = isTight
        server.isTight = isTight
        random = SessionFuzzTests.Random(state: seed)
        ours = try SessionDriver(.framed)
        oracle = try SessionDriver(.nghttp2)
        for place in 0..<3 { templates.append(try template(place, 0)) }
    }

    deinit { for piece in memory { piece.deallocate() } }

    private func template(_ place: Int, _ version: Int) throws -> CompiledTemplate {
        var fields: [HeaderTemplate.Field] = [
            .init("authorization", "bearer token-\(place)-\(version)"),
            .init("apns-topic", "com.example.\(place)"),
        ]
        // The third is more than the compression table holds.
        if place == 2 {
            for index in 0..<6 {
                fields.append(.init("user-agent", String(repeating: "\(index)", count: 900)))
            }
        }
        return try CompiledTemplate(HeaderTemplate(authority: "host-\(place)", fields: fields), place: place)
    }

    func bytes(_ text: [UInt8]) -> UnsafeRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, text.count), alignment: 1)
        copy.copyBytes(from: text)
        memory.append(copy)
        return UnsafeRawBufferPointer(rebasing: copy[..<text.count])
    }

    func run() throws {
        feed(server.settings(&random) + (isTight ? [] : server.windowUpdate(0, 1 << 29)))
        for step in 0..<40 where !ours.isBroken && !ours.session.isOver {
            switch random.next(10) {
            // No connection submits once its server has said GOAWAY.
            case 0..<4 where ours.goAways.isEmpty: for _ in 0...random.next(4) { submit() }
            case 4: giveUp()
            case 5 where random.next(4) == 0:
                let place = random.next(3)
                replaced.append(templates[place])
                templates[place] = try template(place, step)
            default: speak()
            }
            settle()
            compare("step \(step)")
        }
        if isTight, !ours.isBroken, !ours.session.isOver {
            // Then whatever waited goes out, and nothing may be left that tells the two apart. The stream
            // limit may have fallen since nghttp2 opened a stream for which ours had no window.
            feed(ServerFrames.frame(4, 0, 0, [0, 3] + ServerFrames.word(1_000)))
            feed(server.windowUpdate(0, 1 << 29))
            settle()
            compare("the end")
            #expect(isAtRest || ours.isBroken, "seed \(seed)")
        }
        try checkOutput()
    }

    private func submit() {
        tag += 1
        var request = SentRequest()
        request.path = "/3/device/\(tag)"
        if random.next(40) == 0 { request.path = "/" + String(repeating: "p", count: 20_000) }
        if random.next(60) == 0 { request.path = "bad" }
        if random.next(60) == 0 { request.path = "/\u{1}" }
        let sizes = [0, 1, 228, 5_000, 20_000, 70_000]
        let size = sizes[random.next(random.next(isTight ? 2 : 5) == 0 ? sizes.count : 4)]
        request.body = Array(Self.pattern[Int(tag)..<(Int(tag) + size)])
        request.place = random.next(3)
        var outgoing = OutgoingRequest(
            template: TemplateID(index: 0), tag: tag, deadlineMs: 0, path: bytes(Array(request.path.utf8)),
            body: bytes(request.body))
        for header in [VariableHeader.apnsID, .apnsPriority, .apnsCollapseID, .apnsExpiration] {
            guard random.next(3) > 0 else { continue }
            let value = header == .apnsPriority ? "\(5 * random.next(3))" : "value-\(random.next(1 << 20))"
            outgoing.add(header, bytes(Array(value.utf8)))
            request.headers[header.name.description] = value
        }
        let results = [ours, oracle].map { $0.submit(outgoing, templates[request.place]) }
        #expect(results[0] == results[1], "seed \(seed)")
        if results[0] == .ok { sent[tag] = request }
    }

    private func giveUp() {
        guard let tag = ours.open.keys.sorted().randomElement(using: &random) else { return }
        ours.giveUp(tag)
        oracle.giveUp(tag)
    }

    /// A few frames of the server, each about another stream.
    private func speak() {
        var streams = ours.open.values.map(\.streamID).filter {
            $0 <= (ours.session as? FramedSession)?.lastSentID ?? 0
        }
        streams.sort()
        // Requests that wait for the stream limit when GOAWAY comes are handed back at once by ours. nghttp2
        // keeps them until the connection ends, which proves them unwritten, too.
        // And alone, as nghttp2 only resets a stream once it serialises.
        let mayLeave = random.next(2) == 0 && (ours.session as? FramedSession)?.pending.isEmpty == true
        var frames: [UInt8] = []
        for _ in 0...(mayLeave ? 0 : random.next(3)) {
            let at = streams.isEmpty ? nil : random.next(streams.count)
            frames += server.frame(&random, at.map { streams.remove(at: $0) }, mayLeave: mayLeave)
        }
        feed(frames)
    }

    private func feed(_ frames: [UInt8]) {
        var at = 0
        while at < frames.count, !ours.isBroken || !oracle.isBroken {
            let end = min(frames.count, at + 1 + random.next(random.next(3) == 0 ? 5 : 4_000))
            ours.receive(frames[at..<end])
            oracle.receive(frames[at..<end])
            at = end
        }
    }

    private func settle() {
        let budget = [1, 100, 16_384][random.next(3)]
        ours.produce(budget: budget)
        oracle.produce(budget: 16_384)
        // nghttp2 takes a fault in silence and is over once it has said GOAWAY.
        if oracle.session.isOver && !ours.session.isOver { oracle.isBroken = true }
        if ours.isBroken, oracle.session.isOver { oracle.isBroken = true }
    }

    /// Whether neither session waits for the connection's window, nor has waited with what waits now.
    private var isAtRest: Bool {
        guard let mine = ours.session as? FramedSession, let other = oracle.session as? HTTP2ClientSession
        else { return false }
        return mine.window.left > 0 && mine.pending.isEmpty && other.windowLeft > 0
    }

    /// Window and something to send never stand beside each other, and no more is sent than was allowed.
    private func checkWindow(_ context: String) {
        guard let mine = ours.session as? FramedSession else { return }
        let waits =
            !mine.started.isEmpty
            || (!mine.pending.isEmpty && mine.streams.count < Int(mine.settings.streamLimit))
        #expect(mine.window.left <= 0 || !waits, "\(context)")
        countData()
        #expect(spent <= server.granted, "\(context)")
        #expect(Int(mine.window.left) == server.granted - spent, "\(context)")
        if mine.window.left <= 0, waits { exhausted += 1 }
    }

    /// Adds the payloads of the DATA frames that were written since the last call.
    private func countData() {
        ours.output.withUnsafeBufferPointer { output in
            while counted + 9 <= output.count {
                let length =
                    Int(output[counted]) << 16 | Int(output[counted + 1]) << 8 | Int(output[counted + 2])
                if output[counted + 3] == 0 { spent += length }
                counted += 9 + length
            }
        }
    }

    private func compare(_ step: String) {
        let context = "seed \(seed), \(step), last \(server.last), \(ours.fault) \(oracle.fault)"
        #expect(ours.isBroken == oracle.isBroken, "\(context)")
        #expect(ours.repeated == 0, "\(context)")
        guard !ours.isBroken, !oracle.isBroken else {
            // What follows a fault differs: nghttp2 ends streams that we leave to the connection.
            ours.isBroken = true
            return
        }
        if isTight { checkWindow(context) }
        let isWhole = !isTight || isAtRest
        let mine = isWhole ? ours.summary : ours.narrowSummary
        let other = isWhole ? oracle.summary : oracle.narrowSummary
        #expect(mine == other, "\(context)")
        if mine != other { ours.isBroken = true }
        let differing = Set(ours.outcomes.keys).union(oracle.outcomes.keys).filter {
            ours.outcomes[$0] != oracle.outcomes[$0]
        }
        let difference = differing.sorted().map {
            "\($0): \(String(describing: ours.outcomes[$0])), \(String(describing: oracle.outcomes[$0]))"
        }
        #expect(difference == [], "\(context)")
        if !difference.isEmpty { ours.isBroken = true }
    }

    /// Reads what we wrote with an nghttp2 server: every request that is whole is the one that was submitted.
    private func checkOutput() throws {
        let reader = try HTTP2ServerSession(options: HTTP2ServerOptions())
        let isGood = Self.withoutAcks(ours.output).withUnsafeBytes { reader.receive($0) }
        #expect(isGood && !reader.isOver, "seed \(seed)")
        var tags: Set<UInt64> = []
        for event in reader.streams.events {
            guard case .complete(let slot, let streamID) = event,
                reader.streams.slots[Int(slot)].streamID == streamID
            else { continue }
            let request = HTTP2ServerRequest(stream: reader.streams.slots + Int(slot))
            // Streams have the tags' order, so the path names the tag or the order does.
            guard let match = sent.first(where: { $0.value.matches(request) }) else {
                Issue.record("seed \(seed): stream \(streamID) is no request that was submitted")
                continue
            }
            tags.insert(match.key)
        }
        for (tag, outcome) in ours.outcomes where outcome.isAnswered && outcome.status == 200 {
            #expect(sent[tag] != nil, "seed \(seed)")
        }
        #expect(tags.isSubset(of: sent.keys))
    }

    /// The output without acknowledgements of the SETTINGS that the script made up.
    static func withoutAcks(_ output: [UInt8]) -> [UInt8] {
        var kept = Array(output.prefix(24))
        var at = 24
        while at + 9 <= output.count {
            let length = Int(output[at]) << 16 | Int(output[at + 1]) << 8 | Int(output[at + 2])
            if output[at + 3] != 4 || output[at + 4] & 1 == 0 { kept += output[at..<(at + 9 + length)] }
            at += 9 + length
        }
        return kept
    }
}

/// What a request carried.
struct SentRequest {
    var path = ""
    var place = 0
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    func matches(_ request: HTTP2ServerRequest) -> Bool {
        func text(_ header: RequestHeader) -> String { ScriptedServer.text(request[header]) }
        guard text(.path) == path, Array(request.body) == Array(body.prefix(65_536)),
            text(.method) == "POST", text(.scheme) == "https", text(.authority) == "host-\(place)",
            text(.authorization).hasPrefix("bearer token-\(place)-"),
            text(.apnsTopic) == "com.example.\(place)",
            text(.contentLength) == (body.isEmpty ? "" : "\(body.count)")
        else { return false }
        var others = 0
        request.forEachOther { _, _ in others += 1 }
        return text(.apnsID) == headers["apns-id", default: ""]
            && text(.apnsPriority) == headers["apns-priority", default: ""]
            && text(.apnsCollapseID) == headers["apns-collapse-id", default: ""]
            && text(.apnsExpiration) == headers["apns-expiration", default: ""]
            && others == (place == 2 ? 5 : 0)
    }
}

extension SessionFuzzTests.Random: RandomNumberGenerator {
    mutating func next() -> UInt64 { UInt64(next(1 << 31)) << 33 | UInt64(next(1 << 31)) << 2 }
}
