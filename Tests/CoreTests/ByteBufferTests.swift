import Testing

@testable import Core

@Suite("ByteBuffer")
struct ByteBufferTests {
    @Test("Growth keeps what was appended, whatever the first capacity")
    func growth() {
        for capacity in [0, 1, 16, 17, 255] {
            var buffer = ByteBuffer(capacity: capacity)
            var expected: [UInt8] = []
            for value in 0..<1000 {
                buffer.append(byte: UInt8(truncatingIfNeeded: value))
                expected.append(UInt8(truncatingIfNeeded: value))
            }
            #expect(buffer.array == expected)
        }
    }

    @Test("Consuming all of it starts again at the front")
    func consumeAll() {
        var buffer = ByteBuffer(capacity: 16)
        for round in 0..<100 {
            buffer.append(text: "0123456789")
            #expect(buffer.count == 10)
            buffer.consume(10)
            let (isEmpty, capacity) = (buffer.isEmpty, buffer.capacity)
            #expect(isEmpty, "round \(round)")
            #expect(capacity == 16, "it never needed to grow")
        }
    }

    @Test("A buffer that is filled at one end and drained at the other doesn't grow for ever")
    func slidingWindow() {
        var buffer = ByteBuffer(capacity: 64)
        var next: UInt8 = 0
        var expected: UInt8 = 0
        for _ in 0..<10_000 {
            for _ in 0..<7 {
                buffer.append(byte: next)
                next &+= 1
            }
            while buffer.count > 20 {
                let first = buffer.bytes[0]
                #expect(first == expected)
                expected &+= 1
                buffer.consume(1)
            }
        }
        let capacity = buffer.capacity
        #expect(capacity <= 128)
    }

    @Test("Truncating cuts at the end, also after some was consumed")
    func truncate() {
        var buffer = ByteBuffer()
        buffer.append("abcdef")
        buffer.consume(2)
        buffer.truncate(to: 3)
        #expect(buffer.text == "cde")
        buffer.append("X")
        #expect(buffer.text == "cdeX")
        buffer.truncate(to: 0)
        let isEmpty = buffer.isEmpty
        #expect(isEmpty)
        buffer.append("again")
        #expect(buffer.text == "again")
    }

    @Test("Lent space takes what was filled and no more")
    func appendWith() {
        var buffer = ByteBuffer(capacity: 16)
        buffer.append("ab")
        buffer.appendWith(minimum: 100) { free in
            #expect(free.count >= 100)
            free[0] = UInt8(ascii: "c")
            free[1] = UInt8(ascii: "d")
            return 1
        }
        #expect(buffer.text == "abc")
        buffer.appendWith(minimum: 0) { _ in 0 }
        #expect(buffer.text == "abc")
    }

    @Test("Decimal numbers come out as Swift prints them")
    func decimals() {
        var numbers: [Int64] = [0, 1, -1, 9, 10, 99, 100, .max, .min, .min + 1]
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            numbers += [power - 1, power, power + 1, -power]
        }
        for number in numbers {
            var buffer = ByteBuffer(capacity: 1)
            buffer.append(decimal: number)
            #expect(buffer.text == String(number))
        }
        let large: [UInt64] = [.max, .max - 1, 10_000_000_000_000_000_000, 9_999_999_999_999_999_999]
        for number in large {
            var buffer = ByteBuffer(capacity: 1)
            buffer.append(unsigned: number)
            #expect(buffer.text == String(number))
        }
    }

    @Test("Clearing keeps the memory up to the limit that was asked for")
    func clear() {
        var buffer = ByteBuffer(capacity: 16)
        buffer.append(array: [UInt8](repeating: 1, count: 100_000))
        buffer.clear()
        var capacity = buffer.capacity
        #expect(capacity >= 100_000)
        buffer.append("x")
        buffer.clear(keepingAtMost: 4096)
        capacity = buffer.capacity
        #expect(capacity == 4096)
        #expect(buffer.text == "")
        buffer.append("y")
        buffer.clear(keepingAtMost: 8192)
        capacity = buffer.capacity
        #expect(capacity == 4096)
    }

    @Test("Empty appends change nothing")
    func emptyAppends() {
        var buffer = ByteBuffer()
        buffer.append(UnsafeRawBufferPointer(start: nil, count: 0))
        buffer.append(array: [])
        buffer.append(text: "")
        buffer.append("")
        #expect(buffer.array == [])
    }
}
