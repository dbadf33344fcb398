import Testing

@testable import HTTP2

/// Frame headers: what is written is read, and every bad one is named.
@Suite struct FrameHeaderTests {
    private func roundTrip(_ header: FrameHeader) -> FrameHeader {
        var bytes = [UInt8](repeating: 0xFF, count: FrameHeader.byteCount)
        return bytes.withUnsafeMutableBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return header }
            header.write(to: base)
            return FrameHeader(reading: base)
        }
    }

    @Test func everyFieldSurvivesWritingAndReading() {
        for length in [0, 1, 255, 256, 16_384, 0xFF_FFFF] {
            for type in [UInt8(0), 9, 255] {
                for flags in [UInt8(0), 0x2D, 255] {
                    for streamID in [Int32(0), 1, 0x0102_0304, .max] {
                        let header = FrameHeader(
                            length: length, type: type, flags: flags, streamID: streamID)
                        #expect(roundTrip(header) == header)
                    }
                }
            }
        }
    }

    @Test func theReservedBitOfTheStreamIsIgnored() {
        let bytes: [UInt8] = [0, 0, 0, 0, 0, 0x80, 0, 0, 5]
        bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            #expect(FrameHeader(reading: base).streamID == 5)
        }
    }

    /// For each type the lengths that are right, on which streams, as RFC 9113 section 6 has them.
    private static func isRight(_ type: UInt8, _ flags: UInt8, _ length: Int, _ streamID: Int32) -> Bool {
        guard length <= 16_384 else { return false }
        switch type {
        case 0: return streamID != 0 && (flags & 8 == 0 || length >= 1)
        case 1:
            return streamID != 0 && length >= (flags & 8 != 0 ? 1 : 0) + (flags & 0x20 != 0 ? 5 : 0)
        case 2: return streamID != 0 && length == 5
        case 3: return streamID != 0 && length == 4
        case 4: return streamID == 0 && (flags & 1 != 0 ? length == 0 : length % 6 == 0 && length <= 192)
        case 5: return false
        case 6: return streamID == 0 && length == 8
        case 7: return streamID == 0 && length >= 8
        case 8: return length == 4
        case 9: return streamID != 0
        default: return true
        }
    }

    @Test func everyTypeTakesItsLengthsAndStreamsOnly() {
        for type in UInt8(0)...12 {
            for flags in [UInt8(0), 1, 4, 8, 0x20, 0x28] {
                for length in [0, 1, 4, 5, 6, 7, 8, 9, 192, 198, 16_384, 16_385] {
                    for streamID in [Int32(0), 1, 2] {
                        let header = FrameHeader(
                            length: length, type: type, flags: flags, streamID: streamID)
                        #expect(
                            (header.fault == nil) == Self.isRight(type, flags, length, streamID),
                            "\(header) \(String(describing: header.fault))")
                    }
                }
            }
        }
    }

    @Test(arguments: [
        (17_000, UInt8(0), UInt8(0), Int32(1), HTTP2Code.frameSizeError), (4, 6, 0, 0, .frameSizeError),
        (8, 6, 0, 1, .protocolError), (6, 4, 0, 3, .protocolError), (5, 4, 0, 0, .frameSizeError),
        (6, 4, 1, 0, .frameSizeError), (198, 4, 0, 0, .enhanceYourCalm), (9, 5, 4, 1, .protocolError),
        (7, 7, 0, 0, .frameSizeError), (0, 0, 0, 0, .protocolError),
    ])
    func aFaultHasTheCodeOfTheRFC(
        _ length: Int, _ type: UInt8, _ flags: UInt8, _ streamID: Int32, _ code: HTTP2Code
    ) {
        let header = FrameHeader(length: length, type: type, flags: flags, streamID: streamID)
        #expect(header.fault?.code == code)
        #expect(header.fault?.reason.isEmpty == false)
    }

    @Test func contentLiesBetweenPriorityAndPadding() {
        func content(_ type: UInt8, _ flags: UInt8, _ length: Int, _ padding: UInt8) -> Range<Int>? {
            FrameHeader(length: length, type: type, flags: flags, streamID: 1).content(paddedBy: padding)
        }
        #expect(content(0, 0, 10, 0) == 0..<10)
        #expect(content(0, 8, 10, 3) == 1..<7)
        #expect(content(0, 8, 10, 9) == 1..<1)
        #expect(content(0, 8, 10, 10) == nil)
        #expect(content(1, 0x28, 10, 4) == 6..<6)
        #expect(content(1, 0x28, 10, 5) == nil)
        // DATA has no priority fields, whatever the flag.
        #expect(content(0, 0x20, 10, 0) == 0..<10)
    }
}

/// The arithmetic of flow control.
@Suite struct FlowWindowTests {
    @Test func aSendWindowSpendsGrowsAndGoesBelowZero() {
        var window = SendWindow()
        #expect(window.left == 65_535)
        window.spend(65_535)
        #expect(window.left == 0)
        let isTaken1 = window.add(-1_000)
        #expect(isTaken1)
        #expect(window.left == -1_000)
        let isTaken2 = window.add(.max)
        #expect(isTaken2)
        #expect(window.left == Int32.max - 1_000)
        let isTaken3 = window.add(1_001)
        #expect(!isTaken3)
        #expect(window.left == Int32.max - 1_000)
        let isTaken4 = window.add(1_000)
        #expect(isTaken4)
        let isTaken5 = window.add(1)
        #expect(!isTaken5)
    }

    @Test func aReceiveWindowIsGivenBackInHalves() {
        var window = ReceiveWindow(size: 100)
        #expect(window.take(0) == .ok)
        #expect(window.take(49) == .ok)
        #expect(window.take(1) == .give(50))
        #expect(window.take(100) == .give(100))
        #expect(window.take(40) == .ok)
        #expect(window.take(61) == .exceeded)
        #expect(window.take(60, isLast: true) == .ok)
        #expect(window.take(1) == .exceeded)
    }

    @Test func idleFramesAreBoundedBetweenAnswers() {
        var budget = IdleFrameBudget()
        for _ in 0..<IdleFrameBudget.most {
            let isWithin = budget.spend()
            #expect(isWithin)
        }
        let isTaken6 = budget.spend()
        #expect(!isTaken6)
        budget.refill()
        let isTaken7 = budget.spend()
        #expect(isTaken7)
    }
}

/// SETTINGS of a server.
@Suite struct PeerSettingsTests {
    private func payload(_ settings: [(UInt16, UInt32)]) -> [UInt8] {
        settings.flatMap { id, value in
            [UInt8(id >> 8), UInt8(id & 255)] + [24, 16, 8, 0].map { UInt8(value >> $0 & 255) }
        }
    }

    private func apply(
        _ list: [(UInt16, UInt32)], to settings: inout PeerSettings
    ) -> Result<PeerSettings.Change, ConnectionFault> {
        payload(list).withUnsafeBytes { bytes in
            do throws(ConnectionFault) {
                return .success(try settings.apply(bytes))
            } catch {
                return .failure(error)
            }
        }
    }

    @Test func theFirstFrameWithoutALimitMeansUnlimited() throws {
        var settings = PeerSettings()
        #expect(settings.streamLimit == 100)
        #expect(!settings.isKnown)
        #expect(try apply([], to: &settings).get() == PeerSettings.Change())
        #expect(settings.isKnown)
        #expect(settings.streamLimit == .max)
        _ = try apply([(3, 7)], to: &settings).get()
        _ = try apply([(99, 1)], to: &settings).get()
        #expect(settings.streamLimit == 7)
    }

    @Test func aWindowIsADifferenceAndTheLowestTableCounts() throws {
        var settings = PeerSettings()
        let first = try apply([(4, 10), (1, 0), (1, 4096)], to: &settings).get()
        #expect(first == PeerSettings.Change(windowDelta: 10 - 65_535, headerTableSize: 0))
        #expect(try apply([(4, 0x7FFF_FFFF)], to: &settings).get().windowDelta == Int32.max - 10)
        #expect(settings.initialWindow == .max)
        #expect(try apply([(4, 0)], to: &settings).get().windowDelta == -Int32.max)
    }

    @Test(arguments: [
        (UInt16(2), UInt32(1), HTTP2Code.protocolError), (2, 2, .protocolError),
        (4, 0x8000_0000, .flowControlError), (5, 16_383, .protocolError), (5, 16_777_216, .protocolError),
        (8, 2, .protocolError), (9, 2, .protocolError),
    ])
    func aValueOutOfBoundsIsAFault(_ id: UInt16, _ value: UInt32, _ code: HTTP2Code) {
        var settings = PeerSettings()
        guard case .failure(let fault) = apply([(id, value)], to: &settings) else {
            Issue.record("setting \(id) took \(value)")
            return
        }
        #expect(fault.code == code)
    }

    @Test(arguments: [
        (UInt16(1), UInt32.max), (2, 0), (3, 0), (3, .max), (4, 0x7FFF_FFFF), (5, 16_384), (5, 16_777_215),
        (6, .max), (8, 1), (9, 1), (0xABCD, .max),
    ])
    func aValueWithinBoundsIsTaken(_ id: UInt16, _ value: UInt32) {
        var settings = PeerSettings()
        #expect(throws: Never.self) { try apply([(id, value)], to: &settings).get() }
    }
}

/// The table of streams and the queue of requests, against the plainest models of them.
@Suite struct StreamTableTests {
    @Test func theTableIsADictionary() {
        var table = StreamTable(capacity: 16)
        var model: [Int32: Int32] = [:]
        var random = SessionFuzzTests.Random(state: 3)
        var next: Int32 = 1
        for _ in 0..<20_000 {
            if random.next(100) < 52 || model.isEmpty {
                var stream = ClientStream()
                stream.id = next
                stream.slot = Int32(random.next(1_000))
                table.insert(stream)
                model[next] = stream.slot
                // Now and then a leap, so that old streams meet new ones after a turn of the table.
                next += random.next(50) == 0 ? Int32(2 * random.next(2_000)) + 2 : 2
            } else if let id = model.keys.randomElement() {
                table.remove(id)
                model[id] = nil
            }
            let count = table.count
            #expect(count == model.count)
            let probe = 1 + 2 * Int32(random.next(Int(next / 2)))
            let found = table.find(probe)?.pointee.slot
            #expect(found == model[probe])
        }
        let ids = Set(table.ids)
        #expect(ids == Set(model.keys))
        for (id, slot) in model {
            let found = table.find(id)?.pointee.slot
            #expect(found == slot)
        }
        for id in model.keys { table.remove(id) }
        let isEmpty = table.isEmpty
        #expect(isEmpty)
        table.remove(1)
        let isStillEmpty = table.isEmpty
        #expect(isStillEmpty)
    }

    @Test func theQueueKeepsItsOrderAndForgetsWhatWasTaken() {
        var queue = SendQueue()
        var model: [SendQueue.Item] = []
        var random = SessionFuzzTests.Random(state: 5)
        for id in Int32(0)..<5_000 {
            let item = SendQueue.Item(streamID: id, slot: id * 2, template: id % 3)
            queue.append(item)
            model.append(item)
            if random.next(2) == 0, let chosen = model.randomElement() {
                let isTaken8 = queue.cancel(chosen.streamID)
                #expect(isTaken8)
                if let at = model.firstIndex(where: { $0.streamID == chosen.streamID }) {
                    model[at].slot = -1
                }
            }
            for _ in 0..<random.next(3) where !model.isEmpty {
                #expect(queue.first == model.first)
                queue.removeFirst()
                model.removeFirst()
            }
            #expect(queue.count == model.count)
        }
        let isTaken9 = queue.cancel(-5)
        #expect(!isTaken9)
    }
}
