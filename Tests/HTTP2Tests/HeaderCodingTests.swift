import Testing

@testable import HTTP2

/// Our header compression, read back by nghttp2's decoder.
@Suite struct HeaderEncoderTests {
    struct Field: Equatable, CustomStringConvertible {
        var name: String
        var value: String
        var description: String { "\(name): \(value)" }
    }

    /// One block: the fields with their use.
    static func block(_ encoder: inout HeaderEncoder, _ fields: [(Field, HeaderUse)]) -> [UInt8] {
        var room = [UInt8](repeating: 0, count: 100_000)
        return room.withUnsafeMutableBufferPointer { room in
            guard let base = room.baseAddress else { return [] }
            var cursor = BlockCursor(base)
            encoder.writeUpdate(&cursor)
            for (field, use) in fields {
                let name = Array(field.name.utf8)
                let value = Array(field.value.utf8) + [0]
                name.withUnsafeBufferPointer { name in
                    value.withUnsafeBufferPointer { value in
                        guard let name0 = name.baseAddress, let value0 = value.baseAddress else { return }
                        encoder.write(name0, name.count, value0, value.count - 1, use, &cursor)
                    }
                }
            }
            return Array(UnsafeBufferPointer(start: base, count: cursor.at - base))
        }
    }

    static func decode(_ decoder: HeaderDecoder, _ block: [UInt8]) -> [Field]? {
        var fields: [Field] = []
        let isValid = block.withUnsafeBytes { bytes in
            decoder.decode(bytes) { name, nameCount, value, valueCount in
                fields.append(
                    Field(
                        name: String(
                            decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self),
                        value: String(
                            decoding: UnsafeBufferPointer(start: value, count: valueCount), as: UTF8.self)))
            }
        }
        return isValid ? fields : nil
    }

    static func randomField(_ random: inout SessionFuzzTests.Random) -> (Field, HeaderUse) {
        let names = [
            ":method", ":scheme", ":path", ":authority", "authorization", "apns-topic", "apns-id", "te-st",
            "content-type", "apns-priority", "content-length", "x",
        ]
        let values = ["POST", "GET", "https", "/", "10", "", "com.example.app"]
        let uses: [HeaderUse] = [.repeats, .changes, .secret]
        let value =
            random.next(2) == 0
            ? values[random.next(values.count)]
            : String(repeating: "v", count: random.next(random.next(8) == 0 ? 2_000 : 200))
        return (
            Field(name: names[random.next(names.count)], value: value), uses[random.next(uses.count)]
        )
    }

    @Test func whateverIsWrittenIsRead() throws {
        for seed in UInt64(0)..<300 {
            var random = SessionFuzzTests.Random(state: seed)
            var encoder = HeaderEncoder()
            let decoder = try HeaderDecoder()
            for _ in 0..<40 {
                var fields: [(Field, HeaderUse)] = []
                for _ in 0..<random.next(12) { fields.append(Self.randomField(&random)) }
                let block = Self.block(&encoder, fields)
                #expect(Self.decode(decoder, block) == fields.map(\.0), "seed \(seed)")
                let seen = encoder.used
                #expect(seen <= HeaderEncoder.tableMax)
            }
        }
    }

    @Test func theSecondTimeAHeaderIsOneByte() {
        var encoder = HeaderEncoder()
        let topic = (Field(name: "apns-topic", value: "com.example"), HeaderUse.repeats)
        #expect(Self.block(&encoder, [topic]).count == 3 + 10 + 11)
        let generation = encoder.generation
        #expect(Self.block(&encoder, [topic]) == [0x80 | 62])
        let seen = encoder.generation
        #expect(seen == generation)
        #expect(Self.block(&encoder, [(Field(name: ":method", value: "POST"), .repeats)]) == [0x83])
    }

    @Test func aChangingHeaderIsIndexedOnceAndASecretNever() {
        var encoder = HeaderEncoder()
        for (index, id) in ["one", "two", "six"].enumerated() {
            let block = Self.block(&encoder, [(Field(name: "apns-id", value: id), .changes)])
            #expect(block.first == (index == 0 ? 0x40 : 0x0F))
        }
        let used = encoder.used
        #expect(used == 32 + 7 + 3)
        for _ in 0..<2 {
            let block = Self.block(&encoder, [(Field(name: "authorization", value: "bearer x"), .secret)])
            #expect(Array(block.prefix(2)) == [0x1F, 23 - 15])
        }
        let seen = encoder.used
        #expect(seen == used)
    }

    @Test func nothingIsEvicted() {
        var encoder = HeaderEncoder()
        let big = (0..<10).map {
            (Field(name: "h\($0)", value: String(repeating: "x", count: 800)), HeaderUse.repeats)
        }
        _ = Self.block(&encoder, big)
        let seen = encoder.used
        #expect(seen == 4 * (32 + 2 + 800))
        let generation = encoder.generation
        let again = Self.block(&encoder, big)
        let after = encoder.generation
        #expect(after == generation)
        // Four numbers and six literals.
        #expect(again.count == 4 + 6 * (1 + 1 + 2 + 3 + 800))
    }

    @Test(arguments: [
        [UInt32(0)], [100], [0, 4096], [4096, 0], [65_536], [64, 65_536], [1_000, 2_000, 500],
    ])
    func aChangedTableStaysInStepWithTheServer(_ sizes: [UInt32]) throws {
        var encoder = HeaderEncoder()
        let decoder = try HeaderDecoder()
        let fields = (0..<8).map { (Field(name: "h\($0)", value: "value \($0)"), HeaderUse.repeats) }
        #expect(Self.decode(decoder, Self.block(&encoder, fields)) == fields.map(\.0))
        for size in sizes { encoder.setTable(size) }
        let isChanged = sizes != [65_536]
        let seen = encoder.needsUpdate
        #expect(seen == isChanged)
        for _ in 0..<3 {
            #expect(Self.decode(decoder, Self.block(&encoder, fields)) == fields.map(\.0))
            let isPending = encoder.needsUpdate
            #expect(!isPending)
            let seen = encoder.used
            #expect(seen <= Int(min(sizes.last ?? 0, 4096)))
        }
    }

    @Test func longIntegersAreReadBack() throws {
        for count in [0, 1, 14, 15, 126, 127, 128, 254, 255, 16_383, 16_510, 60_000] {
            var encoder = HeaderEncoder()
            let field = Field(name: "x", value: String(repeating: "y", count: count))
            let block = Self.block(&encoder, [(field, .repeats)])
            #expect(Self.decode(try HeaderDecoder(), block) == [field])
        }
    }

    @Test(arguments: [
        [UInt8(0x80)], [0xC0], [0x40, 0x85, 1], [0x3F, 0xE1, 0x7F], [0x0F], [0x41],
        [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    ])
    func brokenBlocksAreRefused(_ block: [UInt8]) throws {
        #expect(Self.decode(try HeaderDecoder(), block) == nil)
    }

    @Test func anEmptyBlockHasNoHeaders() throws {
        #expect(Self.decode(try HeaderDecoder(), []) == [])
    }
}

/// The rules for responses, one header and one piece of body at a time.
@Suite struct ResponseHeadTests {
    enum Step: Equatable {
        case header(String, String)
        case end(Bool)
        case data(Int, Bool)
    }

    /// Whether the response is malformed at the last step and at none before it.
    static func isMalformed(_ steps: [Step]) -> Bool {
        var head = ResponseHead()
        for (index, step) in steps.enumerated() {
            let isGood: Bool
            switch step {
            case .header(let name, let value):
                isGood = verdict(&head, name, value) != .malformed
            case .end(let endsStream): isGood = head.endOfBlock(endsStream: endsStream)
            case .data(let count, let endsStream): isGood = head.data(count, endsStream: endsStream)
            }
            if !isGood {
                #expect(index == steps.count - 1, "\(steps)")
                return true
            }
        }
        return false
    }

    static func verdict(_ head: inout ResponseHead, _ name: String, _ value: String) -> ResponseHead.Verdict {
        let nameBytes = Array(name.utf8) + [0]
        let valueBytes = Array(value.utf8) + [0]
        return nameBytes.withUnsafeBufferPointer { name in
            valueBytes.withUnsafeBufferPointer { value in
                guard let name0 = name.baseAddress, let value0 = value.baseAddress else { return .malformed }
                return head.header(name0, name.count - 1, value0, value.count - 1)
            }
        }
    }

    @Test(arguments: [
        [Step.header(":status", "200"), .end(true)],
        [.header(":status", "200"), .header("apns-id", "x"), .end(false), .data(0, false), .data(5, true)],
        [.header(":status", "100"), .end(false), .header(":status", "200"), .end(true)],
        [
            .header(":status", "103"), .header("link", "x"), .end(false), .header(":status", "404"),
            .end(true),
        ],
        [.header(":status", "200"), .header("content-length", "3"), .end(false), .data(3, true)],
        [
            .header(":status", "200"), .header("content-length", "3"), .end(false), .data(3, false),
            .header("x-trailer", "1"), .end(true),
        ],
        [.header(":status", "204"), .header("content-length", "0"), .end(true)],
        [.header(":status", "304"), .header("content-length", "10"), .end(true)],
        [.header(":status", "200"), .header("te", "trailers"), .end(true)],
    ])
    func goodResponses(_ steps: [Step]) { #expect(!Self.isMalformed(steps)) }

    @Test(arguments: [
        [Step.end(true)], [.header("apns-id", "x"), .end(true)], [.header(":status", "20")],
        [.header(":status", "2x0")], [.header(":status", "101")], [.header(":path", "/")],
        [.header(":status", "200"), .header(":status", "200")],
        [.header("apns-id", "x"), .header(":status", "200")],
        [.header(":status", "200"), .header("Apns-Id", "x")],
        [.header(":status", "200"), .header("apns id", "x")], [.header(":status", "200"), .header("", "x")],
        [.header(":status", "200"), .header("apns-id", "a\u{1}b")],
        [.header(":status", "200"), .header("apns-id", " x")],
        [.header(":status", "200"), .header("connection", "close")],
        [.header(":status", "200"), .header("keep-alive", "1")],
        [.header(":status", "200"), .header("upgrade", "x")],
        [.header(":status", "200"), .header("proxy-connection", "x")],
        [.header(":status", "200"), .header("transfer-encoding", "chunked")],
        [.header(":status", "200"), .header("te", "gzip")],
        [.header(":status", "200"), .header("content-length", "")],
        [.header(":status", "200"), .header("content-length", "-1")],
        [.header(":status", "200"), .header("content-length", "99999999999999999999")],
        [.header(":status", "200"), .header("content-length", "1"), .header("content-length", "1")],
        [.header(":status", "204"), .header("content-length", "1")],
        [.header(":status", "100"), .header("content-length", "1")], [.header(":status", "100"), .end(true)],
        [.header(":status", "100"), .end(false), .data(1, false)],
        [.header(":status", "100"), .end(false), .data(0, true)],
        [.header(":status", "200"), .header("content-length", "3"), .end(true)],
        [.header(":status", "200"), .header("content-length", "3"), .end(false), .data(4, false)],
        [.header(":status", "200"), .header("content-length", "3"), .end(false), .data(2, true)],
        [.header(":status", "204"), .end(false), .data(1, false)],
        [.header(":status", "200"), .end(false), .header("x", "trailer"), .end(false)],
        [.header(":status", "200"), .end(false), .header(":status", "200")],
    ])
    func malformedResponses(_ steps: [Step]) { #expect(Self.isMalformed(steps)) }
}
