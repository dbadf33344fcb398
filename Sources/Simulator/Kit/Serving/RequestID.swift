import Core

/// Where the `apns-id` of an answer comes from.
enum AnswerID {
    /// The request's own bytes, during the call that hands them over; what has another length is replaced.
    case borrowed(Bytes)
    case kept(RequestID)
}

/// The `apns-id` of a request, kept for its answer in 16 bytes.
struct RequestID {
    private let high: UInt64
    private let low: UInt64
    let isPresent: Bool

    /// None.
    init() {
        high = 0
        low = 0
        isPresent = false
    }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
        isPresent = true
    }

    /// The canonical form's value; none when the text isn't canonical.
    init(_ text: Bytes) {
        guard APNsRules.isCanonicalUUID(text) else {
            self.init()
            return
        }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for index in 0..<36 {
            let byte = text[index]
            guard byte != UInt8(ascii: "-") else { continue }
            let digit = UInt64(
                byte <= UInt8(ascii: "9") ? byte - UInt8(ascii: "0") : byte - UInt8(ascii: "a") + 10)
            if digits < 16 { words.0 = words.0 << 4 | digit } else { words.1 = words.1 << 4 | digit }
            digits += 1
        }
        self.init(high: words.0, low: words.1)
    }

    /// Lends the 36 characters.
    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { buffer in
            var at = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    unsafe buffer[at] = UInt8(ascii: "-")
                    at += 1
                }
                let word = index < 16 ? high : low
                unsafe buffer[at] = Hex.digit(
                    UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15))))
                at += 1
            }
            unsafe body(UnsafeRawBufferPointer(buffer))
        }
    }
}
