/// Decimal numbers as text, written from their last digit to their first.
package enum DecimalDigits {
    /// The number of digits, 1 to 20.
    @inlinable package static func count(of value: UInt64) -> Int {
        var digits = 1
        var bound: UInt64 = 10
        while digits < 20, value >= bound {
            digits += 1
            if digits < 20 { bound &*= 10 }
        }
        return digits
    }

    /// Writes the number's ``count(of:)`` digits, the last one right before `end`.
    @inlinable package static func write(_ value: UInt64, endingAt end: UnsafeMutablePointer<UInt8>) {
        // Two at a time: half the divisions.
        let pairs: StaticString = """
            0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
            5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
            """
        var rest = value
        var at = unsafe end
        while rest >= 100 {
            let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
            unsafe at -= 2
            unsafe at.update(from: pairs.utf8Start + Int(pair) * 2, count: 2)
            rest = quotient
        }
        if rest >= 10 {
            unsafe at -= 2
            unsafe at.update(from: pairs.utf8Start + Int(rest) * 2, count: 2)
        } else {
            unsafe at -= 1
            unsafe at.pointee = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest)
        }
    }
}
