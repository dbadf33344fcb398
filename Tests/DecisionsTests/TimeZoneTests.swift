import Core
import EventLoop
import Testing

@testable import Decisions

/// Milliseconds since 1970 of an RFC 3339 text.
private func ms(_ text: String) throws -> Int64 {
    try #require(Array(text.utf8).withUnsafeBytes { Timestamp.parseRFC3339($0) })
}

private func seconds(_ text: String) throws -> Int64 { try ms(text) / 1000 }

private func file(_ name: String) throws -> [UInt8] {
    try Files.read(path: "/usr/share/zoneinfo/\(name)")
}

private func zone(_ name: String) throws -> TimeZoneTable {
    try #require(TimeZoneTable(file: try file(name)))
}

@Suite struct TimeZoneTests {
    /// Offsets in seconds just before and from a change on. The last ones lie beyond the tables of the files.
    @Test(arguments: [
        ("Europe/Berlin", "2026-03-29T01:00:00Z", 3600, 7200),
        ("Europe/Berlin", "2026-10-25T01:00:00Z", 7200, 3600),
        ("Europe/Berlin", "1980-04-06T01:00:00Z", 3600, 7200),
        ("Europe/Berlin", "2075-03-31T01:00:00Z", 3600, 7200),
        ("Europe/Berlin", "2075-10-27T01:00:00Z", 7200, 3600),
        ("America/New_York", "2026-03-08T07:00:00Z", -18000, -14400),
        ("America/New_York", "2026-11-01T06:00:00Z", -14400, -18000),
        ("America/New_York", "2099-03-08T07:00:00Z", -18000, -14400),
        ("Australia/Lord_Howe", "2026-04-04T15:00:00Z", 39600, 37800),
        ("Australia/Lord_Howe", "2026-10-03T15:30:00Z", 37800, 39600),
        ("Australia/Lord_Howe", "2090-09-30T15:30:00Z", 37800, 39600),
        ("Asia/Kolkata", "1945-10-14T17:30:00Z", 23400, 19800),
    ])
    func clocksChangeWhenTheyShould(name: String, at: String, before: Int64, after: Int64) throws {
        let zone = try zone(name)
        let change = try seconds(at)
        #expect(zone.offset(at: change - 1) == before)
        #expect(zone.offset(at: change) == after)
        #expect(zone.nextChange(after: change - 1) == change)
    }

    @Test func zonesWithoutSummerTimeStay() throws {
        let kolkata = try zone("Asia/Kolkata")
        for year in [1970, 2026, 2100] {
            #expect(kolkata.offset(at: try seconds("\(year)-07-01T00:00:00Z")) == 19_800)
        }
        #expect(kolkata.nextChange(after: try seconds("2026-01-01T00:00:00Z")) == nil)
        #expect(TimeZoneTable.utc.offset(at: 5) == 0)
        #expect(TimeZoneTable.utc.nextChange(after: 5) == nil)
        #expect(try zone("UTC").offset(at: 1) == 0)
    }

    @Test func everyZoneOfThisMachineIsReadAndItsRuleAgreesWithItsTable() throws {
        let names = try Files.readText(path: "/usr/share/zoneinfo/tzdata.zi").split(separator: "\n")
            .filter { $0.hasPrefix("Z ") }.map { String($0.split(separator: " ")[1]) }
        #expect(names.count > 200)
        for name in names {
            #expect(TimeZoneTable.isName(name))
            let zone = try zone(name)
            // Whatever a change's new offset is, the clock shows it until the next one.
            var at = try seconds("2020-01-01T00:00:00Z")
            for _ in 0..<60 {
                guard let next = zone.nextChange(after: at) else { break }
                #expect(next > at)
                #expect(zone.offset(at: next - 1) == zone.offset(at: at), "\(name) at \(next)")
                at = next
            }
        }
    }

    @Test func namesLeadNowhereElse() {
        for name in ["Europe/Berlin", "UTC", "Etc/GMT+5", "America/Argentina/Buenos_Aires"] {
            #expect(TimeZoneTable.isName(name))
        }
        let wrong = [
            "", "/etc/passwd", "../x", "a/../b", "a.b", "a b", "ä", String(repeating: "a", count: 65),
        ]
        for name in wrong { #expect(!TimeZoneTable.isName(name)) }
    }

    @Test func cutAndBrokenFilesAreRefusedWithoutHarm() throws {
        let whole = try file("Europe/Berlin")
        for length in 0..<whole.count { #expect(TimeZoneTable(file: Array(whole[..<length])) == nil) }
        var seed: UInt64 = 5
        for _ in 0..<4000 {
            var broken = whole
            seed = Hash64.mix(seed &+ 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F)
            broken[Int(seed % UInt64(broken.count))] = UInt8(truncatingIfNeeded: seed >> 40)
            if let zone = TimeZoneTable(file: broken) {
                for time in [Int64.min / 2, -1, 0, 1_790_000_000, 1 << 40] {
                    _ = zone.offset(at: time)
                    _ = zone.nextChange(after: time)
                }
            }
        }
        #expect(TimeZoneTable(file: [UInt8](repeating: 0x54, count: TimeZoneTable.bytesMax + 1)) == nil)
    }
}

@Suite struct TimeZoneRuleTests {
    private func offsets(_ rule: String, _ times: [String]) throws -> [Int64] {
        let rule = try #require(TimeZoneRule(rule.utf8))
        return try times.map { rule.offset(at: try seconds($0)) }
    }

    @Test func readsEveryFormOfDay() throws {
        let times = ["2024-02-29T12:00:00Z", "2024-03-01T12:00:00Z", "2023-03-01T12:00:00Z"]
        // Day 60 without leap days is March 1; day 59 counted from 0 is February 29 in a leap year.
        #expect(try offsets("AAA0BBB,J60/0,J300/0", times) == [0, 3600, 3600])
        #expect(try offsets("AAA0BBB,59/0,300/0", times) == [3600, 3600, 3600])
        #expect(try offsets("AAA0BBB-2,M2.5.4/0,M10.1.0", times) == [7200, 7200, 7200])
    }

    @Test func timesReachBeyondADay() throws {
        // Greenland's of RFC 9636: an hour before the last Sunday of March begins.
        let rule = "<-02>2<-01>,M3.5.0/-1,M10.5.0/0"
        #expect(
            try offsets(rule, ["2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"])
                == [-7200, -3600, -7200])
        #expect(
            try offsets("AAA0BBB,J1/167,J200", ["2026-01-07T22:59:59Z", "2026-01-07T23:00:00Z"]) == [0, 3600])
    }

    @Test func summerTimeMayLastAllYear() throws {
        let times = [
            "2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2026-01-01T04:00:00Z", "2026-07-01T00:00:00Z",
        ]
        #expect(try offsets("XXX3EDT4,0/0,J365/23", times) == [-14400, -14400, -14400, -14400])
    }

    @Test func southernSummersCrossTheYear() throws {
        let times = ["2026-01-15T00:00:00Z", "2026-07-15T00:00:00Z", "2026-12-15T00:00:00Z"]
        #expect(try offsets("AEST-10AEDT,M10.1.0,M4.1.0/3", times) == [39600, 36000, 39600])
    }

    @Test(arguments: [
        "", "A", "AB1", "ABC", "ABC25x", "ABC168", "ABC1DEF", "ABC1DEF,", "ABC1DEF,M3.5.0",
        "ABC1DEF,M13.1.0,J1",
        "ABC1DEF,M1.6.0,J1", "ABC1DEF,M1.1.7,J1", "ABC1DEF,J0,J1", "ABC1DEF,J366,J1", "ABC1DEF,366,J1",
        "<+1>1", "<+01", "ABC1:60", "ABC1DEF,J1,J2x", "ABC1DEF,J1/x,J2",
    ])
    func refusesWhatIsNoRule(text: String) { #expect(TimeZoneRule(text.utf8) == nil) }
}

@Suite struct QuietHoursTests {
    private func end(_ hours: String, _ name: String, _ at: String) throws -> String? {
        let quiet = try #require(QuietHours(hours.utf8))
        return quiet.end(atMs: try ms(at), try zone(name)).map { Timestamp.rfc3339(ms: $0) }
    }

    private func same(_ found: String?, _ expected: String?) throws -> Bool {
        try found.map { try ms($0) } == expected.map { try ms($0) }
    }

    @Test(arguments: [
        ("22:00-07:00", "Europe/Berlin", "2026-07-01T19:59:59+00:00", nil),
        ("22:00-07:00", "Europe/Berlin", "2026-07-01T20:00:00+00:00", "2026-07-02T05:00:00Z"),
        ("22:00-07:00", "Europe/Berlin", "2026-07-02T04:59:59.999Z", "2026-07-02T05:00:00Z"),
        ("22:00-07:00", "Europe/Berlin", "2026-07-02T05:00:00Z", nil),
        ("12:00-13:30", "Asia/Kolkata", "2026-07-02T06:30:00Z", "2026-07-02T08:00:00Z"),
        ("12:00-13:30", "Asia/Kolkata", "2026-07-02T08:00:00Z", nil),
        ("00:00-23:59", "UTC", "2026-07-02T00:00:00Z", "2026-07-02T23:59:00Z"),
        ("23:59-00:00", "UTC", "2026-07-02T23:59:30Z", "2026-07-03T00:00:00Z"),
        // The night is an hour shorter, then an hour longer.
        ("22:00-07:00", "Europe/Berlin", "2026-03-28T21:00:00Z", "2026-03-29T05:00:00Z"),
        ("22:00-07:00", "Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"),
        // An end that the clock skips comes with the change.
        ("22:00-02:30", "Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T01:00:00Z"),
        // An end that it shows twice comes first, and once more for what comes between the two.
        ("22:00-02:30", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T00:30:00Z"),
        ("22:00-02:30", "Europe/Berlin", "2026-10-25T00:45:00Z", nil),
        ("22:00-02:30", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-25T01:30:00Z"),
        // At 3:00 the clock goes back to 2:00: the end at 3:00 isn't there yet.
        ("22:00-03:00", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T02:00:00Z"),
        // A beginning that is skipped.
        ("02:30-05:00", "Europe/Berlin", "2026-03-29T00:59:59Z", nil),
        ("02:30-05:00", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00Z"),
        // Half an hour's change.
        ("01:00-02:15", "Australia/Lord_Howe", "2026-10-03T15:00:00Z", "2026-10-03T15:30:00Z"),
        ("01:00-02:15", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-04T15:45:00Z"),
    ])
    func endAtTheRecipientsOwnTime(hours: String, name: String, at: String, expected: String?) throws {
        let found = try end(hours, name, at)
        #expect(try same(found, expected), "\(found ?? "none")")
    }

    @Test func nothingIsQuietAtTheirEnd() throws {
        let zones = try ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"].map {
            try zone($0)
        }
        var at = try ms("2026-03-01T00:00:00Z")
        for step in 0..<3000 {
            at += 7_777_777
            let quiet = try #require(
                QuietHours(fromMinute: step * 37 % 1440, toMinute: (step * 101 + 1) % 1440))
            for zone in zones {
                guard let end = quiet.end(atMs: at, zone) else { continue }
                #expect(end > at && end <= at + 25 * 3_600_000)
                #expect(quiet.end(atMs: end, zone) == nil)
                #expect(quiet.end(atMs: end - 1, zone) == end)
            }
        }
    }

    @Test(arguments: [
        "", "22-07", "22:00-7:00", "24:00-07:00", "22:60-07:00", "22:00-22:00", "22:00_07:00", "22:0a-07:00",
        "22:00-07:000", "-1:00-07:00",
    ])
    func refuseWhatIsNone(text: String) { #expect(QuietHours(text.utf8) == nil) }

    @Test func everyRuling() {
        for bits in 0..<64 {
            let flag = { (bit: Int) in bits >> bit & 1 == 1 }
            let end: Int64? = flag(4) ? 100 : nil
            let ruling = PreferenceRuling.of(
                isSilent: flag(0), isShown: flag(1), isUrgent: flag(2), isMuted: flag(3), quietEndMs: end,
                deadlineMs: flag(5) ? 100 : 101)
            let expected: PreferenceRuling =
                if flag(0) {
                    .send
                } else if flag(3) {
                    .mute
                } else if !flag(4) || !flag(1) || flag(2) {
                    .send
                } else {
                    flag(5) ? .expire : .wait(untilMs: 100)
                }
            #expect(ruling == expected)
        }
    }
}
