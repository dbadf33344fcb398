import Foundation
import Testing

@testable import Core

@Suite("Timestamp")
struct TimestampTests {
    private func parse(_ text: String) -> Int64? {
        Array(text.utf8).withUnsafeBytes { Timestamp.parseRFC3339($0) }
    }

    static let known: [(String, Int64)] = [
        ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59Z", -1000),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("2026-12-01T08:00:00+01:00", 1_796_108_400_000), ("2026-12-01t07:00:00z", 1_796_108_400_000),
        ("2026-12-01T02:30:00-04:30", 1_796_108_400_000), ("1970-01-01T00:00:00.5Z", 500),
        ("1970-01-01T00:00:00.123456789Z", 123), ("1970-01-01T00:00:00.000Z", 0),
        ("1972-06-30T23:59:60Z", 78_796_800_000), ("0000-03-01T00:00:00Z", -62_162_035_200_000 + 0),
        ("9999-12-31T23:59:59Z", 253_402_300_799_000),
    ]

    @Test("Known instants", arguments: known)
    func knownInstants(_ text: String, _ expected: Int64) {
        #expect(parse(text) == expected)
    }

    @Test("Every day of five centuries survives both ways")
    func everyDay() {
        var days = Timestamp.days(year: 1800, month: 1, day: 1)
        let end = Timestamp.days(year: 2300, month: 1, day: 1)
        #expect(end - days == 182_621)
        var last = (year: 1799, month: 12, day: 31)
        while days < end {
            let date = Timestamp.date(days: days)
            #expect(Timestamp.days(year: date.year, month: date.month, day: date.day) == days)
            #expect((date.year, date.month, date.day) > (last.year, last.month, last.day))
            last = date
            days += 1
        }
    }

    @Test("Leap years: 2000 and 2024 are, 1900 and 2100 and 2023 aren't")
    func leapYears() {
        for year in ["2000", "2024"] { #expect(parse("\(year)-02-29T00:00:00Z") != nil) }
        for year in ["1900", "2100", "2023"] { #expect(parse("\(year)-02-29T00:00:00Z") == nil) }
        for year in ["2000", "2024"] { #expect(parse("\(year)-02-30T00:00:00Z") == nil) }
    }

    @Test(
        "What isn't an RFC 3339 date-time is refused",
        arguments: [
            "", "2026-12-01", "2026-12-01T08:00:00", "2026-12-01 08:00:00Z", "2026-13-01T08:00:00Z",
            "2026-00-01T08:00:00Z", "2026-12-00T08:00:00Z", "2026-12-32T08:00:00Z", "2026-04-31T08:00:00Z",
            "2026-12-01T24:00:00Z", "2026-12-01T08:60:00Z", "2026-12-01T08:00:61Z", "2026-12-01T08:00:00.Z",
            "2026-12-01T08:00:00.5", "2026-12-01T08:00:00+1:00", "2026-12-01T08:00:00+01",
            "2026-12-01T08:00:00+0100",
            "2026-12-01T08:00:00+24:00", "2026-12-01T08:00:00+01:60", "2026-12-01T08:00:00Zx",
            "2026/12/01T08:00:00Z", "2026-12-01T08.00.00Z", "+026-12-01T08:00:00Z", "2026-12-01T08:00:00é",
            "2026-12-01T08:00:00+01:0é", "１２３4-12-01T08:00:00Z",
        ])
    func refused(_ text: String) {
        #expect(parse(text) == nil)
    }

    @Test("Every truncation is refused and no damaged byte traps")
    func damage() {
        let text = Array("2026-12-01T08:00:00.123+01:00".utf8)
        for count in 0..<text.count {
            #expect(Array(text[..<count]).withUnsafeBytes { Timestamp.parseRFC3339($0) } == nil)
        }
        for index in text.indices {
            for byte in UInt8.min...UInt8.max {
                var damaged = text
                damaged[index] = byte
                _ = damaged.withUnsafeBytes { Timestamp.parseRFC3339($0) }
            }
        }
    }

    @Test("Text made from an instant reads back as that instant, also before 1970")
    func roundTrip() {
        for ms: Int64 in [0, 1, -1, 999, -999, 951_782_400_000, -86_400_000, -86_399_999, 1_796_108_400_123] {
            #expect(parse(Timestamp.rfc3339(ms: ms)) == ms)
        }
        #expect(Timestamp.rfc3339(ms: 1_796_108_400_123) == "2026-12-01T07:00:00.123Z")
        #expect(Timestamp.rfc3339(ms: -1) == "1969-12-31T23:59:59.999Z")
    }

    @Test("Instants at the ends of the range are printed, not trapped on")
    func extremes() {
        #expect(Timestamp.rfc3339(ms: .max).hasSuffix("Z"))
        #expect(Timestamp.rfc3339(ms: .min).hasSuffix("Z"))
    }
}
