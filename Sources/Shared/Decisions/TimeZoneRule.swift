internal import Core

/// The rule at the end of a time zone file: a standard offset and, in some zones, when summer time begins and
/// ends each year.
///
/// - Source: POSIX 2024, 8.3 (`TZ`), and RFC 9636, section 3.3.1, which lets hours reach from -167 to 167.
package struct TimeZoneRule: Sendable, Equatable {
    /// A day of the year and a time on it.
    private struct Day: Sendable, Equatable {
        enum Form: Sendable, Equatable {
            /// `Jn`: 1...365, February 29 is never counted.
            case julian(Int)
            /// `n`: 0...365.
            case zeroBased(Int)
            /// `Mm.w.d`: the `week`th `weekday` (0 is Sunday) of the month; week 5 is the last one.
            case weekday(month: Int, week: Int, weekday: Int)
        }

        var form: Form
        /// Seconds after midnight.
        var time: Int64

        /// Seconds from 1970 on the zone's own clock.
        func seconds(year: Int64) -> Int64 {
            let first = Calendar.days(year: year, month: 1, day: 1)
            let day: Int64
            switch form {
            case .julian(let number):
                let skips = number >= 60 && Calendar.isLeap(year) ? 1 : 0
                day = first + Int64(number - 1 + skips)
            case .zeroBased(let number): day = first + Int64(number)
            case .weekday(let month, let week, let weekday):
                let start = Calendar.days(year: year, month: month, day: 1)
                // 1970-01-01 was a Thursday.
                let startWeekday = ((start + 4) % 7 + 7) % 7
                var found = start + (Int64(weekday) - startWeekday + 7) % 7 + Int64(week - 1) * 7
                while found >= start + Int64(Calendar.length(year: year, month: month)) { found -= 7 }
                day = found
            }
            return day * 86_400 + time
        }
    }

    /// Seconds that standard and summer time are ahead of UTC.
    private let standard: Int64
    private let summer: Int64
    private let start: Day?
    private let end: Day?

    /// Reads `CET-1CEST,M3.5.0,M10.5.0/3`; nil when it can't be one.
    package init?(_ text: some Sequence<UInt8>) {
        var reader = RuleReader(text)
        guard reader.name(), let west = reader.offset() else { return nil }
        standard = -west
        guard !reader.isAtEnd else {
            summer = standard
            start = nil
            end = nil
            return
        }
        guard reader.name() else { return nil }
        if reader.next == UInt8(ascii: ",") {
            summer = standard + 3600
        } else {
            guard let west = reader.offset() else { return nil }
            summer = -west
        }
        guard let start = Self.day(&reader), let end = Self.day(&reader), reader.isAtEnd else { return nil }
        self.start = start
        self.end = end
    }

    private static func day(_ reader: inout RuleReader) -> Day? {
        guard reader.take(UInt8(ascii: ",")) else { return nil }
        let form: Day.Form
        if reader.take(UInt8(ascii: "J")) {
            guard let number = reader.number(1...365) else { return nil }
            form = .julian(number)
        } else if reader.take(UInt8(ascii: "M")) {
            guard let month = reader.number(1...12), reader.take(UInt8(ascii: ".")),
                let week = reader.number(1...5), reader.take(UInt8(ascii: ".")),
                let weekday = reader.number(0...6)
            else { return nil }
            form = .weekday(month: month, week: week, weekday: weekday)
        } else {
            guard let number = reader.number(0...365) else { return nil }
            form = .zeroBased(number)
        }
        guard reader.take(UInt8(ascii: "/")) else { return Day(form: form, time: 7200) }
        guard let time = reader.offset() else { return nil }
        return Day(form: form, time: time)
    }

    /// Seconds ahead of UTC at a time, seconds since 1970.
    package func offset(at seconds: Int64) -> Int64 {
        guard start != nil else { return standard }
        var found: (at: Int64, offset: Int64) = (.min, standard)
        for change in changes(around: seconds) where change.at <= seconds {
            // Where both fall together, as in summer time all year, it is summer.
            if change.at > found.at || change.at == found.at && change.offset == summer { found = change }
        }
        return found.offset
    }

    /// When the offset may change next after a time, seconds since 1970; nil for never.
    package func nextChange(after seconds: Int64) -> Int64? {
        changes(around: seconds).map(\.at).filter { $0 > seconds }.min()
    }

    private func changes(around seconds: Int64) -> [(at: Int64, offset: Int64)] {
        guard let start, let end else { return [] }
        let year = Calendar.year(ofDays: (seconds + standard).flooredDivision(by: 86_400))
        return (year - 1...year + 1).flatMap { year in
            [(start.seconds(year: year) - standard, summer), (end.seconds(year: year) - summer, standard)]
        }
    }
}

/// Reads a rule byte by byte.
private struct RuleReader {
    private let bytes: [UInt8]
    private var at = 0

    init(_ text: some Sequence<UInt8>) { bytes = Array(text) }

    var isAtEnd: Bool { at == bytes.count }
    var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        at += 1
        return true
    }

    /// Steps over `CET` or `<+1030>`.
    mutating func name() -> Bool {
        if take(UInt8(ascii: "<")) {
            guard let end = bytes[at...].firstIndex(of: UInt8(ascii: ">")), end - at >= 3 else {
                return false
            }
            at = end + 1
            return true
        }
        let start = at
        while let byte = next, (0x41...0x5A).contains(byte & 0xDF) { at += 1 }
        return at - start >= 3
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int? {
        let start = at
        var value = 0
        while let byte = next, (0x30...0x39).contains(byte), at - start < 4 {
            value = value * 10 + Int(byte - 0x30)
            at += 1
        }
        return at > start && range.contains(value) ? value : nil
    }

    /// Reads `[+-]hh[:mm[:ss]]` as seconds.
    mutating func offset() -> Int64? {
        let isNegative = take(UInt8(ascii: "-"))
        if !isNegative { _ = take(UInt8(ascii: "+")) }
        guard let hours = number(0...167) else { return nil }
        var seconds = Int64(hours) * 3600
        for unit in [60, 1] as [Int64] {
            guard take(UInt8(ascii: ":")) else { break }
            guard let value = number(0...59) else { return nil }
            seconds += Int64(value) * unit
        }
        return isNegative ? -seconds : seconds
    }
}

/// The Gregorian calendar in days since 1970.
private enum Calendar {
    static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    static func length(year: Int64, month: Int) -> Int {
        month == 2 ? isLeap(year) ? 29 : 28 : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    static func days(year: Int64, month: Int, day: Int) -> Int64 {
        Int64(Timestamp.days(year: Int(year), month: month, day: day))
    }

    static func year(ofDays days: Int64) -> Int64 { Int64(Timestamp.date(days: Int(days)).year) }
}

extension Int64 {
    /// The quotient, rounded down.
    func flooredDivision(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
