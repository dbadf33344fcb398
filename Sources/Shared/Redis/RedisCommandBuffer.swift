package import Core

/// Redis commands encoded as RESP2, one behind the other.
///
/// - Threading: none of its own; it belongs to whoever holds it.
/// - Cost: no allocation once it has grown.
/// - Source: https://redis.io/docs/latest/develop/reference/protocol-spec/
package struct RedisCommandBuffer: ~Copyable {
    @usableFromInline var bytes: ByteBuffer
    @usableFromInline var scratch = ByteBuffer(capacity: 256)
    @usableFromInline var begun = 0
    @usableFromInline var owed = 0

    /// Makes an empty buffer.
    package init(capacity: Int = 4096) { bytes = ByteBuffer(capacity: capacity) }

    /// The number of encoded bytes.
    @inlinable package var count: Int { bytes.count }

    /// The encoded bytes, for tests and tools.
    package var encoded: [UInt8] { bytes.array }

    /// The number of commands begun since `init` or `clear`.
    @inlinable package var commands: Int { begun }

    /// Whether the command begun last has all the arguments that it announced.
    @inlinable package var isComplete: Bool { owed == 0 }

    /// Drops everything, keeps the memory.
    package mutating func clear() {
        bytes.clear()
        begun = 0
        owed = 0
    }

    /// Begins a command of `arguments` arguments, its name included.
    @inlinable package mutating func begin(_ arguments: Int) {
        appendLine(UInt8(ascii: "*"), arguments)
        begun &+= 1
        owed = arguments
    }

    /// Begins a script call with `keys` keys and `arguments` further arguments, both still to be appended.
    @inlinable package mutating func begin(_ script: RedisScript, keys: Int, arguments: Int) {
        begin(3 + keys + arguments)
        bytes.append(array: script.callPrefix)
        owed &-= 2
        argument(decimal: Int64(keys))
    }

    /// Appends an argument known at compile time.
    @inlinable package mutating func argument(_ text: StaticString) {
        unsafe appendBulk(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends an argument.
    @inlinable package mutating func argument(bytes argument: UnsafeRawBufferPointer) {
        unsafe appendBulk(argument)
    }

    /// Appends an argument.
    @inlinable package mutating func argument(array: [UInt8]) {
        unsafe array.withUnsafeBytes { unsafe appendBulk($0) }
    }

    /// Appends an argument; for cold paths.
    package mutating func argument(text: String) {
        var copy = text
        copy.withUTF8 { unsafe appendBulk(UnsafeRawBufferPointer($0)) }
    }

    /// Appends a number as an argument.
    @inlinable package mutating func argument(decimal value: Int64) {
        owed &-= 1
        let digits = DecimalDigits.count(of: value.magnitude)
        let count = value < 0 ? digits + 1 : digits
        unsafe bytes.appendWith(minimum: 48) { room in
            let at = unsafe Self.writeLine(UInt8(ascii: "$"), count, room)
            guard let start = room.baseAddress else { return 0 }
            let base = unsafe start.assumingMemoryBound(to: UInt8.self) + at
            if value < 0 { unsafe base.pointee = UInt8(ascii: "-") }
            unsafe DecimalDigits.write(value.magnitude, endingAt: base + count)
            unsafe base[count] = 13
            unsafe base[count + 1] = 10
            return at + count + 2
        }
    }

    /// Appends one argument that `build` puts together from pieces.
    @inlinable package mutating func argument(build: (inout ByteBuffer) -> Void) {
        scratch.clear()
        build(&scratch)
        unsafe appendBulk(scratch.bytes)
    }

    /// Appends `$<length>`, the bytes, and their line ends in one go.
    @usableFromInline mutating func appendBulk(_ payload: UnsafeRawBufferPointer) {
        owed &-= 1
        unsafe bytes.appendWith(minimum: payload.count + 26) { room in
            let at = unsafe Self.writeLine(UInt8(ascii: "$"), payload.count, room)
            unsafe UnsafeMutableRawBufferPointer(rebasing: room[at...]).copyMemory(from: payload)
            unsafe room[at + payload.count] = 13
            unsafe room[at + payload.count + 1] = 10
            return at + payload.count + 2
        }
    }

    @usableFromInline mutating func appendLine(_ mark: UInt8, _ number: Int) {
        unsafe bytes.appendWith(minimum: 24) { unsafe Self.writeLine(mark, number, $0) }
    }

    /// Writes the mark, the number, which isn't negative, and the line's end; gives the bytes written.
    @usableFromInline
    static func writeLine(_ mark: UInt8, _ number: Int, _ room: UnsafeMutableRawBufferPointer) -> Int {
        let digits = DecimalDigits.count(of: UInt64(truncatingIfNeeded: number))
        unsafe room[0] = mark
        if let base = room.baseAddress {
            unsafe DecimalDigits.write(
                UInt64(truncatingIfNeeded: number),
                endingAt: base.assumingMemoryBound(to: UInt8.self) + digits + 1)
        }
        unsafe room[digits + 1] = 13
        unsafe room[digits + 2] = 10
        return digits + 3
    }
}
