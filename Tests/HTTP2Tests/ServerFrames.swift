@testable import HTTP2

/// Frames as servers send them, and as they must not.
struct ServerFrames {
    typealias Random = SessionFuzzTests.Random
    private var encoder = [HeaderEncoder.Box()]
    /// What the last frames were, for a failure's message.
    var last: [String] = []
    private var goAway = Int32.max
    private var bodies: [Int32: Int] = [:]
    /// Whether the connection's window is left to run out.
    var isTight = false
    /// What the client may send on the connection in all.
    private(set) var granted = Int(SendWindow.initial)

    static func frame(_ type: UInt8, _ flags: UInt8, _ stream: Int32, _ payload: [UInt8]) -> [UInt8] {
        let length = payload.count
        let id = UInt32(bitPattern: stream)
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags]
            + word(id) + payload
    }

    static func word(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 255) } }

    mutating func settings(_ random: inout Random) -> [UInt8] {
        var payload: [UInt8] = []
        func add(_ id: UInt8, _ value: Int) { payload += [0, id] + Self.word(UInt32(value)) }
        if random.next(3) == 0 { add(1, [0, 100, 4_096, 65_536][random.next(4)]) }
        if random.next(3) == 0 { add(3, [0, 1, 5, 100][random.next(4)]) }
        if random.next(3) == 0 { add(4, [0, 10, 1_000, 65_535, 1 << 20][random.next(5)]) }
        if random.next(6) == 0 { add(5, 16_384 + random.next(100_000)) }
        if random.next(6) == 0 { add(6, random.next(10_000)) }
        if random.next(6) == 0 { add(UInt8(20 + random.next(100)), random.next(1 << 30)) }
        return Self.frame(4, 0, 0, payload)
    }

    mutating func windowUpdate(_ stream: Int32, _ count: Int) -> [UInt8] {
        if stream == 0 { granted += count }
        return Self.frame(8, 0, stream, Self.word(UInt32(count)))
    }

    /// One frame or header block, about the stream when there is one.
    mutating func frame(_ random: inout Random, _ stream: Int32?, mayLeave: Bool) -> [UInt8] {
        let kind = random.next(stream == nil ? 8 : 40)
        if last.count > 6 { last.removeFirst() }
        last.append("kind \(kind) on \(stream ?? 0)")
        guard let stream, kind >= 8 else {
            return connectionFrame(&random, kind, mayLeave ? stream ?? 0 : nil)
        }
        switch kind {
        case 8: return Self.frame(3, 0, stream, Self.word(UInt32([0, 2, 7, 8, 11][random.next(5)])))
        case 9, 10: return windowUpdate(stream, 1 + random.next(100_000))
        // Twice, so that it is too much for any window. Left at its most, a window could pass it by SETTINGS,
        // which ends the connection (RFC 9113 section 6.9.2) but only the stream with nghttp2.
        case 11:
            let most = windowUpdate(stream, 0x7FFF_FFFF)
            return random.next(8) == 0 ? most + most : windowUpdate(stream, 9)
        case 12: return headers(&random, stream, [(":status", "103"), ("link", "x")], ends: false)
        case 13: return malformed(&random, stream)
        case 14:
            let many = (0..<40).map { ("x-\($0)", String(repeating: "h", count: 500)) }
            return random.next(3) == 0
                ? headers(&random, stream, [(":status", "200")] + many, ends: true) : []
        case 15: return Self.frame(2, 0, stream, [0, 0, 0, 0, 1])
        case 16..<22: return wholeAnswer(&random, stream)
        case 22..<26 where bodies[stream] == nil: return startAnswer(&random, stream)
        default:
            guard bodies[stream] != nil else { return wholeAnswer(&random, stream) }
            return data(&random, stream, ends: random.next(3) == 0)
        }
    }

    private mutating func connectionFrame(
        _ random: inout Random, _ kind: Int, _ mayLeaveAt: Int32?
    ) -> [UInt8] {
        switch kind {
        case 0: return settings(&random)
        case 1: return Self.frame(6, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])
        case 2: return Self.frame(6, 1, 0, [UInt8](repeating: 0, count: 8))
        case 3:
            return windowUpdate(0, 1 + random.next([1_000, 20_000, 100_000][isTight ? random.next(3) : 0]))
        case 4: return Self.frame(UInt8(16 + random.next(200)), 0xFF, Int32(random.next(9)), [1, 2, 3])
        case 5:
            guard let mayLeaveAt, random.next(2) == 0 else { return [] }
            return leave(&random, mayLeaveAt)
        // After GOAWAY nghttp2 overlooks some faults.
        case 6: return goAway == .max && random.next(10) == 0 ? fault(&random) : []
        default: return []
        }
    }

    private mutating func leave(_ random: inout Random, _ stream: Int32) -> [UInt8] {
        let choice = [Int32.max, stream, stream, 0][random.next(4)]
        goAway = min(goAway, choice)
        return Self.frame(7, 0, 0, Self.word(UInt32(goAway)) + Self.word(0) + Array("bye".utf8))
    }

    /// What ends the connection. PUSH_PROMISE is not among them: nghttp2 only looks at it on an open stream.
    private func fault(_ random: inout Random) -> [UInt8] {
        let faults: [[UInt8]] = [
            Self.frame(0, 0, 0, [1]), Self.frame(0, 0, 9_999, [1]), Self.frame(1, 4, 9_999, [0x88]),
            Self.frame(1, 4, 2, [0x88]), Self.frame(3, 0, 9_999, Self.word(0)), Self.frame(3, 0, 1, [1]),
            Self.frame(4, 0, 1, []), Self.frame(4, 0, 0, [1]), Self.frame(4, 1, 0, [1]),
            Self.frame(4, 0, 0, [0, 2] + Self.word(1)), Self.frame(4, 0, 0, [0, 4] + Self.word(1 << 31)),
            Self.frame(4, 0, 0, [0, 5] + Self.word(100)),
            Self.frame(6, 0, 0, [1]), Self.frame(6, 0, 1, [UInt8](repeating: 0, count: 8)),
            Self.frame(7, 0, 0, Self.word(0)), Self.frame(7, 0, 1, Self.word(0) + Self.word(0)),
            Self.frame(7, 0, 0, Self.word(2) + Self.word(0)), Self.frame(8, 0, 0, Self.word(0)),
            Self.frame(8, 0, 0, Self.word(0x7FFF_FFFF)), Self.frame(8, 0, 9_999, Self.word(1)),
            Self.frame(9, 4, 1, [0x88]), Self.frame(1, 4, 0, [0x88]),
            Self.frame(0, 0, 0, [UInt8](repeating: 0, count: 16_385)),
            Self.frame(4, 0, 0, [UInt8](repeating: 9, count: 6 * 40)),
        ]
        let fault = faults[random.next(faults.count)]
        // How much of a used-up window is left depends on whose body was sent first, and so does whether this
        // is too much.
        return isTight && fault == Self.frame(8, 0, 0, Self.word(0x7FFF_FFFF))
            ? Self.frame(8, 0, 0, Self.word(0)) : fault
    }

    // MARK: Answers

    private mutating func wholeAnswer(_ random: inout Random, _ stream: Int32) -> [UInt8] {
        if bodies[stream] != nil { return data(&random, stream, ends: true) }
        guard random.next(2) == 0 else {
            return headers(
                &random, stream, [(":status", "200"), ("apns-id", "id-\(random.next(1 << 20))")], ends: true)
        }
        return startAnswer(&random, stream) + data(&random, stream, ends: true)
    }

    private mutating func startAnswer(_ random: inout Random, _ stream: Int32) -> [UInt8] {
        let status = ["200", "400", "410", "429", "503"][random.next(5)]
        var fields = [(":status", status), ("apns-id", "id-\(random.next(1 << 20))")]
        if random.next(3) == 0 { fields.append(("retry-after", "\(random.next(100))")) }
        if random.next(8) == 0 { fields.append(("content-length", "\(random.next(50))")) }
        bodies[stream] = 0
        return headers(&random, stream, fields, ends: false)
    }

    private mutating func data(_ random: inout Random, _ stream: Int32, ends: Bool) -> [UInt8] {
        let size = [0, 3, 40, 5_000, 16_000][random.next(5)]
        var payload = [UInt8](repeating: UInt8(random.next(256)), count: size)
        var flags: UInt8 = ends ? 1 : 0
        if random.next(4) == 0 {
            let padding = random.next(200)
            payload = [UInt8(padding)] + payload + [UInt8](repeating: 0, count: padding)
            flags |= 8
        }
        if ends, random.next(4) == 0 {
            let trailers = headers(&random, stream, [("x-trailer", "1")], ends: true)
            bodies[stream] = nil
            return Self.frame(0, flags & 8, stream, payload) + trailers
        }
        if ends { bodies[stream] = nil }
        return Self.frame(0, flags, stream, payload)
    }

    private mutating func malformed(_ random: inout Random, _ stream: Int32) -> [UInt8] {
        let blocks: [[(String, String)]] = [
            [("apns-id", "x")], [(":status", "20")], [(":status", "101")], [(":status", "abc")],
            [(":status", "200"), ("Upper", "x")], [("x", "y"), (":status", "200")],
            [(":status", "200"), (":status", "200")], [(":status", "200"), ("connection", "close")],
            [(":status", "200"), (":path", "/")], [(":status", "204"), ("content-length", "5")],
            [(":status", "200"), ("content-length", "x")], [(":status", "200"), ("te", "gzip")],
            [(":status", "200"), ("content-length", "5")], [(":status", "100")],
            [(":status", "200"), ("transfer-encoding", "chunked")], [(":status", "200"), ("b d", "x")],
        ]
        guard bodies[stream] == nil else { return [] }
        let chosen = blocks[random.next(blocks.count)]
        last.append("\(chosen)")
        return headers(&random, stream, chosen, ends: true)
    }

    private mutating func headers(
        _ random: inout Random, _ stream: Int32, _ fields: [(String, String)], ends: Bool
    ) -> [UInt8] {
        let uses: [HeaderUse] = [.repeats, .changes, .secret]
        var block = HeaderEncoderTests.block(
            &encoder[0].encoder,
            fields.map { (.init(name: $0.0, value: $0.1), uses[random.next(3)]) })
        var flags: UInt8 = ends ? 1 : 0
        if random.next(5) == 0 {
            // Cut into CONTINUATION frames, an empty one among them now and then.
            let cut = random.next(block.count + 1)
            let middle = cut + random.next(block.count - cut + 1)
            return Self.frame(1, flags, stream, Array(block[..<cut]))
                + Self.frame(9, 0, stream, Array(block[cut..<middle]))
                + Self.frame(9, 4, stream, Array(block[middle...]))
        }
        flags |= 4
        if random.next(5) == 0 {
            block = [0, 0, 0, 0, 16] + block
            flags |= 0x20
        }
        if random.next(5) == 0, block.count < 16_000 {
            block = [3] + block + [0, 0, 0]
            flags |= 8
        }
        guard block.count > FrameHeader.payloadMax else { return Self.frame(1, flags, stream, block) }
        return Self.frame(1, flags & ~4, stream, Array(block[..<16_000]))
            + Self.frame(9, 4, stream, Array(block[16_000...]))
    }
}

extension HeaderEncoder {
    /// An encoder that a copyable value can hold.
    final class Box {
        var encoder = HeaderEncoder()
    }
}
