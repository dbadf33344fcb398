import Core
import Jobs

/// What happens to payloads that are too large.
extension Renderer {
    /// Brings the payload from `start` on under `limit`, or takes it back.
    ///
    /// First every escape that isn't needed and all white space goes: that changes nothing that the client
    /// sees. If that isn't enough and the app allows it, the body is shortened.
    /// `overhead` bytes don't count; `append` renders once more, with another body.
    func fit(
        _ job: Job, start: Int, limit: Int, overhead: Int, out: inout ByteBuffer,
        _ append: (JSONText?, inout ByteBuffer) -> Void
    ) -> RenderResult {
        Self.compact(from: start, &out)
        let full = out.count - start - overhead
        if full <= limit { return .ok }
        guard settings.oversize == .truncate, let body = job.body else {
            out.truncate(to: start)
            return .tooLarge(full)
        }
        out.truncate(to: start)
        unsafe append(JSONText(raw: UnsafeRawBufferPointer(start: nil, count: 0), isEscaped: false), &out)
        Self.compact(from: start, &out)
        let empty = out.count - start - overhead
        out.truncate(to: start)
        var whole = ByteBuffer(capacity: 1024)
        JSONCompact.append(string: body, to: &whole)
        // How often the body appears: twice or more where a profile repeats it in data, never when it was
        // replaced.
        let copies = whole.isEmpty ? 0 : (full - empty) / whole.count
        guard copies > 0, empty < limit else { return .tooLarge(full) }
        Self.shorten(body, to: (limit - empty) / copies, into: &shortened)
        guard !shortened.isEmpty else { return .tooLarge(full) }
        var short = ByteBuffer(capacity: 0)
        swap(&short, &shortened)
        let raw = unsafe short.bytes
        unsafe append(JSONText(raw: raw, isEscaped: raw.contains(UInt8(ascii: "\\"))), &out)
        swap(&short, &shortened)
        Self.compact(from: start, &out)
        let size = out.count - start - overhead
        if size <= limit { return .truncated }
        out.truncate(to: start)
        return .tooLarge(full)
    }

    private static func compact(from start: Int, _ out: inout ByteBuffer) {
        var copy = ByteBuffer(capacity: max(16, out.count - start))
        unsafe JSONCompact.append(UnsafeRawBufferPointer(rebasing: out.bytes[start...]), to: &copy)
        out.truncate(to: start)
        unsafe out.append(copy.bytes)
    }

    /// Writes as many whole characters (extended grapheme clusters) of the text as fit into `limit` bytes of
    /// JSON.
    static func shorten(_ text: JSONText, to limit: Int, into out: inout ByteBuffer) {
        out.clear()
        for character in text.string {
            let before = out.count
            var utf8 = String(character)
            utf8.withUTF8 { unsafe out.append(jsonEscaped: UnsafeRawBufferPointer($0)) }
            if out.count > limit { return out.truncate(to: before) }
        }
    }
}
