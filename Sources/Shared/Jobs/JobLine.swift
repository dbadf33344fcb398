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

    /// Appends the job for one recipient instead of whom it was for: how a broadcast becomes recipient jobs.
    ///
    /// Everything but `to` and `id` stays byte for byte.
    /// - Parameters:
    ///   - job: a parsed job; its bytes must still be where they were.
    ///   - recipient: the recipient's text, valid UTF-8.
    ///   - id: the text of the new id; it must need no escapes.
    ///   - buffer: what to append to.
    package static func append(
        _ job: borrowing Job, forRecipient recipient: UnsafeRawBufferPointer,
        withID id: UnsafeRawBufferPointer,
        to buffer: inout ByteBuffer
    ) {
        let bytes = unsafe job.bytes
        let target = job.targetSpan
        let old = job.idSpan
        func copy(_ from: Int, _ end: Int, to buffer: inout ByteBuffer) {
            guard from >= 0, from <= end, end <= bytes.count else { return }
            unsafe buffer.append(UnsafeRawBufferPointer(rebasing: bytes[from..<end]))
        }
        func newTarget(to buffer: inout ByteBuffer) {
            buffer.append("{\"recipient\":")
            unsafe buffer.append(jsonString: recipient)
            buffer.append("}")
        }
        let targetStart = Int(target.offset)
        let targetEnd = targetStart + Int(target.length)
        guard old.length > 0 else {
            let brace = Int(job.openBrace) + 1
            copy(0, brace, to: &buffer)
            buffer.append("\"id\":\"")
            unsafe buffer.append(id)
            buffer.append("\",")
            copy(brace, targetStart, to: &buffer)
            newTarget(to: &buffer)
            return copy(targetEnd, bytes.count, to: &buffer)
        }
        let idStart = Int(old.offset)
        let idEnd = idStart + Int(old.length)
        if idStart < targetStart {
            copy(0, idStart, to: &buffer)
            unsafe buffer.append(id)
            copy(idEnd, targetStart, to: &buffer)
            newTarget(to: &buffer)
            copy(targetEnd, bytes.count, to: &buffer)
        } else {
            copy(0, targetStart, to: &buffer)
            newTarget(to: &buffer)
            copy(targetEnd, idStart, to: &buffer)
            unsafe buffer.append(id)
            copy(idEnd, bytes.count, to: &buffer)
        }
    }
}
