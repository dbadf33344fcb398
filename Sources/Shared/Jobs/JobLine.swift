package import Core

/// Writes jobs for publishing.
package enum JobLine {
    /// Appends the job as it is or, when it has no id, with `id` as its first member.
    ///
    /// - Parameters:
    ///   - job: a parsed job; its bytes must still be where they were.
    ///   - id: the text of the id to add; it must need no escapes (a ULID does not).
    ///   - buffer: what to append to.
    package static func append(
        _ job: borrowing Job, withID id: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
    ) {
        let bytes = unsafe job.bytes
        let brace = Int(job.openBrace) + 1
        guard job.id == nil, brace <= bytes.count else { return unsafe buffer.append(bytes) }
        unsafe buffer.append(UnsafeRawBufferPointer(rebasing: bytes[..<brace]))
        buffer.append("\"id\":\"")
        unsafe buffer.append(id)
        buffer.append("\",")
        unsafe buffer.append(UnsafeRawBufferPointer(rebasing: bytes[brace...]))
    }
}
