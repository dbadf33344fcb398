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
        bytes.append(byte: UInt8(ascii: "*"))
        bytes.append(decimal: Int64(arguments))
        endLine()
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
        beginBulk(text.utf8CodeUnitCount)
        bytes.append(text)
        endLine()
    }

    /// Appends an argument.
    @inlinable package mutating func argument(bytes argument: UnsafeRawBufferPointer) {
        beginBulk(argument.count)
        unsafe bytes.append(argument)
        endLine()
    }

    /// Appends an argument.
    @inlinable package mutating func argument(array: [UInt8]) {
        beginBulk(array.count)
        bytes.append(array: array)
        endLine()
    }

    /// Appends an argument; for cold paths.
    package mutating func argument(text: String) {
        beginBulk(text.utf8.count)
        bytes.append(text: text)
        endLine()
    }

    /// Appends a number as an argument.
    @inlinable package mutating func argument(decimal value: Int64) {
        scratch.clear()
        scratch.append(decimal: value)
        appendScratch()
    }

    /// Appends one argument that `build` puts together from pieces.
    @inlinable package mutating func argument(build: (inout ByteBuffer) -> Void) {
        scratch.clear()
        build(&scratch)
        appendScratch()
    }

    @inlinable mutating func appendScratch() {
        beginBulk(scratch.count)
        unsafe bytes.append(scratch.bytes)
        endLine()
    }

    @inlinable mutating func beginBulk(_ length: Int) {
        owed &-= 1
        bytes.append(byte: UInt8(ascii: "$"))
        bytes.append(decimal: Int64(length))
        endLine()
    }

    @inlinable mutating func endLine() {
        bytes.append(byte: 13)
        bytes.append(byte: 10)
    }
}
