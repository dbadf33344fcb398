/// The 128 bits that name a trace.
package struct TraceID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The id of a job whose sender gave no trace: the same in every process that meets the job, so that all
    /// of them decide alike whether it is traced.
    package init(app: UnsafeRawBufferPointer, job: UnsafeRawBufferPointer) {
        let seed = unsafe Hash64.of(app, seed: 0x7472_6163)
        high = unsafe Hash64.of(job, seed: seed)
        low = unsafe Hash64.of(job, seed: ~seed) | 1
    }

    /// Appends the 32 digits.
    package func append(to out: inout ByteBuffer) {
        TraceContext.append(hex: high, to: &out)
        TraceContext.append(hex: low, to: &out)
    }

    /// The 32 digits.
    package var text: String {
        var out = ByteBuffer(capacity: 40)
        append(to: &out)
        return out.text
    }

    /// Whether a share of all traces, 0...1, holds this one. Of a smaller share's traces none is left out
    /// by a larger one.
    package func isWithin(share: Double) -> Bool {
        if share >= 1 { return true }
        return share > 0 && Double(low >> 11) < share * Double(UInt64(1) << 53)
    }
}

/// What a `traceparent` header says (W3C Trace Context): the trace, the span that is the parent, and whether
/// it is recorded.
package struct TraceContext: Equatable, Sendable {
    package var trace: TraceID
    /// The parent; 0 when there is none.
    package var span: UInt64
    package var isSampled: Bool

    /// The length of a header of version 00.
    package static let length = 55

    package init(trace: TraceID, span: UInt64, isSampled: Bool) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
    }

    /// Reads a header's value; nil when it isn't one: then there is no trace.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.length, unsafe bytes[2] == Self.dash, unsafe bytes[35] == Self.dash,
            unsafe bytes[52] == Self.dash,
            let version = unsafe Self.number(bytes, 0..<2), version != 0xFF,
            let high = unsafe Self.number(bytes, 3..<19), let low = unsafe Self.number(bytes, 19..<35),
            let span = unsafe Self.number(bytes, 36..<52), let flags = unsafe Self.number(bytes, 53..<55),
            high | low != 0, span != 0
        else { return nil }
        // A later version may say more, behind another dash.
        if bytes.count > Self.length, version == 0 { return nil }
        if bytes.count > Self.length, unsafe bytes[Self.length] != Self.dash { return nil }
        self.init(trace: TraceID(high: high, low: low), span: span, isSampled: flags & 1 == 1)
    }

    /// Reads a header's text.
    package init?(text: String) {
        var copy = text
        guard let found = copy.withUTF8({ unsafe TraceContext(UnsafeRawBufferPointer($0)) }) else {
            return nil
        }
        self = found
    }

    /// Appends the header's value.
    package func append(to out: inout ByteBuffer) {
        out.append("00-")
        trace.append(to: &out)
        out.append("-")
        Self.append(hex: span, to: &out)
        out.append(isSampled ? "-01" : "-00")
    }

    /// Appends 16 digits.
    package static func append(hex value: UInt64, to out: inout ByteBuffer) {
        for shift in stride(from: 60, through: 0, by: -4) {
            out.append(byte: Hex.digit(UInt8(truncatingIfNeeded: value >> UInt64(shift))))
        }
    }

    private static let dash = UInt8(ascii: "-")

    /// Lower-case digits only, as the specification asks.
    private static func number(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> UInt64? {
        var value: UInt64 = 0
        for index in range {
            let byte = unsafe bytes[index]
            guard !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte), let digit = Hex.value(byte) else {
                return nil
            }
            value = value << 4 | UInt64(digit)
        }
        return value
    }
}
