/// Dates in the proleptic Gregorian calendar, as integers.
package enum Timestamp {
    /// Days from 1970-01-01 to the date.
    package static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The date that lies `days` after 1970-01-01.
    package static func date(days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let position = (5 * dayOfYear + 2) / 153
        let month = position < 10 ? position + 3 : position - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * position + 2) / 5 + 1)
    }

    /// Milliseconds since 1970 of an RFC 3339 date-time (section 5.6); nil when the text isn't one.
    package static func parseRFC3339(_ text: UnsafeRawBufferPointer) -> Int64? {
        guard text.count >= 20 else { return nil }
        func number(_ from: Int, _ count: Int) -> Int? {
            var value = 0
            for index in from..<from + count {
                let byte = unsafe text[index]
                guard byte >= 48, byte <= 57 else { return nil }
                value = value * 10 + Int(byte) - 48
            }
            return value
        }
        guard let year = number(0, 4), let month = number(5, 2), let day = number(8, 2),
            let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2),
            unsafe text[4] == UInt8(ascii: "-"), unsafe text[7] == UInt8(ascii: "-"),
            unsafe text[13] == UInt8(ascii: ":"), unsafe text[16] == UInt8(ascii: ":"),
            unsafe text[10] | 0x20 == UInt8(ascii: "t"),
            (1...12).contains(month), day >= 1, day <= daysIn(month: month, year: year), hour < 24,
            minute < 60,
            second <= 60
        else { return nil }
        var at = 19
        var fraction = 0
        if unsafe text[at] == UInt8(ascii: ".") {
            at += 1
            var scale = 100
            let first = at
            while at < text.count, let digit = number(at, 1) {
                fraction += digit * scale
                scale /= 10
                at += 1
            }
            guard at > first, at < text.count else { return nil }
        }
        var offsetMinutes = 0
        let sign = unsafe text[at]
        if sign | 0x20 == UInt8(ascii: "z") {
            guard at + 1 == text.count else { return nil }
        } else {
            guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), at + 6 == text.count,
                let hours = number(at + 1, 2), let minutes = number(at + 4, 2),
                unsafe text[at + 3] == UInt8(ascii: ":"), hours < 24, minutes < 60
            else { return nil }
            offsetMinutes = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
        }
        let dayCount = days(year: year, month: month, day: day)
        let seconds = dayCount * 86400 + hour * 3600 + minute * 60 + second - offsetMinutes * 60
        return Int64(seconds) * 1000 + Int64(fraction)
    }

    private static func daysIn(month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The instant in RFC 3339, UTC, with milliseconds.
    package static func rfc3339(ms: Int64) -> String {
        // Whole days, rounded down without leaving the range of the type.
        let (quotient, remainder) = ms.quotientAndRemainder(dividingBy: 86_400_000)
        let days = Int(remainder < 0 ? quotient - 1 : quotient)
        let rest = Int(remainder < 0 ? remainder + 86_400_000 : remainder)
        let (year, month, day) = date(days: days)
        func pad(_ value: Int, _ width: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(rest / 3_600_000, 2)):"
            + "\(pad(rest / 60_000 % 60, 2)):\(pad(rest / 1000 % 60, 2)).\(pad(rest % 1000, 3))Z"
    }
}
