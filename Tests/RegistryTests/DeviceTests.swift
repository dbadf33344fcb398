import Core
import Redis
import TestSupport
import Testing

@testable import Registry

private let appleToken = String(repeating: "0a1b2c3d", count: 8)
private let googleToken = "fCm:" + String(repeating: "Ab3-_x", count: 26)

private func phone(_ token: String = appleToken, at ms: Int64 = 1_790_000_000_000) -> DeviceRecord {
    DeviceRecord(
        platform: .ios, token: token, registeredAtMs: ms, isSandbox: true, locale: "en-GB",
        timeZone: "Europe/London", appVersion: "4.12.0")
}

@Suite struct DeviceRecordTests {
    @Test(arguments: [
        phone(), DeviceRecord(platform: .android, token: googleToken, registeredAtMs: 1),
        DeviceRecord(platform: .web, token: "https://push.example/abc", registeredAtMs: (1 << 48) - 1),
        DeviceRecord(platform: .ios, token: "abc", registeredAtMs: 5, kind: .voip, isSilenced: true),
        DeviceRecord(platform: .android, token: appleToken, registeredAtMs: 5),
    ])
    func survivesTheWayThroughRedis(record: DeviceRecord) throws {
        let bytes = try #require(record.encoded)
        let back = bytes.withUnsafeBytes { DeviceView($0).map { DeviceRecord($0) } }
        #expect(back == record)
    }

    @Test func storesAppleTokensAsRawBytes() throws {
        let bytes = try #require(phone().encoded)
        #expect(bytes.count == 12 + 32 + 1 + 5 + 1 + 13 + 1 + 6)
        #expect(phone(appleToken.uppercased()) == phone())
    }

    @Test func refusesTokensThatAreEmptyOrTooLong() {
        #expect(phone("").encoded == nil)
        let long = DeviceRecord(
            platform: .web, token: String(repeating: "x", count: 4097), registeredAtMs: 0)
        #expect(long.encoded == nil)
    }

    @Test func readsCutOrBrokenRecordsWithoutHarm() throws {
        let whole = try #require(phone().encoded)
        for length in 0..<whole.count {
            Array(whole[..<length]).withUnsafeBytes { bytes in
                if let view = DeviceView(bytes) { _ = DeviceRecord(view) }
            }
        }
        var seed: UInt64 = 3
        for _ in 0..<5_000 {
            var broken = whole
            for _ in 0..<3 {
                seed = Hash64.mix(seed, 0x9E37_79B9_7F4A_7C15)
                broken[Int(seed % UInt64(broken.count))] = UInt8(truncatingIfNeeded: seed >> 40)
            }
            broken.withUnsafeBytes { bytes in
                if let view = DeviceView(bytes) { _ = DeviceRecord(view) }
            }
        }
    }
}

@Suite struct RegistrationTests {
    @Test func registersAndFindsADevice() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "r", device: "d1", phone())
        #expect(try shelf.directory.devices(of: "r").map(\.record) == [phone()])
        #expect(
            try shelf.directory.owner(of: appleToken.uppercased(), .ios)
                == TokenOwner(device: "d1", recipient: "r"))
        #expect(try shelf.directory.devices(of: "r").map(\.id) == ["d1"])
        let ttl = try shelf.session.command("PTTL", "peal:dev:{shop:r}").integer ?? 0
        #expect(ttl > DeviceDirectory.keepMs - 60_000)
    }

    @Test func movesATokenToItsNewRecipient() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: 1))
        try shelf.directory.register(recipient: "b", device: "d1", phone(at: 2))
        #expect(try shelf.directory.devices(of: "a").isEmpty)
        #expect(try shelf.directory.devices(of: "b").map(\.record.registeredAtMs) == [2])
        #expect(try shelf.directory.owner(of: appleToken, .ios)?.recipient == "b")
    }

    @Test func movesATokenToItsNewDevice() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: 1))
        try shelf.directory.register(recipient: "a", device: "d2", phone(at: 2))
        #expect(try shelf.directory.devices(of: "a").map(\.id) == ["d2"])
    }

    @Test func leavesAFormerOwnerItsNewerToken() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: 1))
        let newer = String(repeating: "ff", count: 32)
        try shelf.directory.register(recipient: "a", device: "d1", phone(newer, at: 2))
        #expect(try shelf.directory.owner(of: appleToken, .ios) == nil)
        try shelf.directory.register(recipient: "b", device: "d9", phone(at: 3))
        #expect(try shelf.directory.devices(of: "a").map(\.record.token) == [newer])
        #expect(try shelf.directory.owner(of: newer, .ios)?.recipient == "a")
    }

    @Test func refreshesARegistration() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: 1))
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: 2))
        #expect(try shelf.directory.devices(of: "a").map(\.record.registeredAtMs) == [2])
        #expect(try shelf.directory.owner(of: appleToken, .ios)?.device == "d1")
    }

    @Test func letsTheOldestDeviceMakeRoom() throws {
        let shelf = try Shelf()
        for (index, ms) in [20, 10, 30, 5].enumerated() {
            let token = String(repeating: "0\(index)", count: 32)
            try shelf.directory.register(recipient: "a", device: "d\(index)", phone(token, at: Int64(ms)))
        }
        #expect(try shelf.directory.devices(of: "a").map(\.id).sorted() == ["d0", "d2", "d3"])
        #expect(try shelf.directory.owner(of: String(repeating: "01", count: 32), .ios) == nil)
    }

    @Test func refusesWhatItCantUse() throws {
        let shelf = try Shelf()
        for id in ["", "a/b", "a b", String(repeating: "x", count: 65), "ä"] {
            #expect(throws: RedisFailure.self) {
                try shelf.directory.register(recipient: "a", device: id, phone())
            }
        }
        #expect(throws: RedisFailure.self) {
            try shelf.directory.register(recipient: "a", device: "d", phone(""))
        }
        #expect(try shelf.session.command("DBSIZE").integer == 0)
    }

    @Test func removesADeviceOnDemand() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "a", device: "d1", phone())
        #expect(try shelf.directory.remove(recipient: "a", device: "d1"))
        #expect(try !shelf.directory.remove(recipient: "a", device: "d1"))
        #expect(try shelf.session.command("DBSIZE").integer == 0)
    }
}

@Suite struct TokenRemovalTests {
    private func remove(_ shelf: Shelf, token: String = appleToken, beforeMs: Int64) throws -> Int64? {
        let stored = DeviceRecord.stored(token, .ios).bytes
        return try RecipientReference.with(app: "shop", recipient: "a") { recipient in
            try stored.withUnsafeBytes { stored in
                try Array("d1".utf8).withUnsafeBytes { id in
                    try shelf.session.run {
                        RegistryCommands.removeDevice(
                            of: recipient, id: id, storedToken: stored, beforeMs: beforeMs, into: &$0)
                    }
                }
            }
        }.integer
    }

    @Test func removesOnlyTheSameTokenRegisteredBefore() throws {
        let shelf = try Shelf()
        let now: Int64 = 1_790_000_000_123
        #expect(try remove(shelf, beforeMs: 0) == 0)
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: now))
        #expect(try remove(shelf, token: String(repeating: "ff", count: 32), beforeMs: 0) == 0)
        #expect(try remove(shelf, token: "0a1b2c3d", beforeMs: 0) == 0)
        #expect(try remove(shelf, beforeMs: now) == -1)
        #expect(try remove(shelf, beforeMs: now - 1) == -1)
        #expect(try remove(shelf, beforeMs: now + 1) == 1)
        #expect(try remove(shelf, beforeMs: now + 1) == 0)
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: now))
        #expect(try remove(shelf, beforeMs: 0) == 1)
    }

    @Test func releasesOnlyItsOwnOwner() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "a", device: "d1", phone())
        let release = { (owner: TokenOwner) in
            try shelf.session.run {
                RegistryCommands.releaseOwner(
                    app: "shop", platform: .ios, token: appleToken, owner: owner, into: &$0)
            }.integer
        }
        #expect(try release(TokenOwner(device: "d2", recipient: "a")) == 0)
        #expect(try release(TokenOwner(device: "d1", recipient: "a")) == 1)
        #expect(try release(TokenOwner(device: "d1", recipient: "a")) == 0)
    }

    @Test func claimsAHopForOneRecord() throws {
        let shelf = try Shelf()
        let claim = { (attempt: UInt32, offset: Int64) in
            try RecipientReference.with(app: "shop", recipient: "a") { recipient in
                try Array("peal.jobs.normal/3/17".utf8).withUnsafeBytes { origin in
                    try shelf.session.run {
                        RegistryCommands.claimHop(
                            of: recipient, origin: origin, attempt: attempt,
                            position: Shelf.position(offset, at: 9), milliseconds: 60_000, into: &$0)
                    }
                }
            }.integer
        }
        #expect(try claim(1, 100) == 1)
        #expect(try claim(1, 100) == 1)
        #expect(try claim(1, 101) == 0)
        #expect(try claim(2, 101) == 1)
        #expect(try shelf.session.command("EXISTS", "peal:hop:{shop:a}:peal.jobs.normal/3/17:1").integer == 1)
    }
}

@Suite struct PreferencesTests {
    @Test(arguments: [
        Preferences(), Preferences(mutedUntilMs: .max), Preferences(mutedUntilMs: 1_790_000_000_000),
        Preferences(
            mutedUntilMs: 5, mutedKinds: ["trade", "news:eu"], quietHours: "22:00-07:00",
            timeZone: "Europe/Berlin"),
        Preferences(timeZone: "UTC"),
    ])
    func surviveTheWayThroughRedis(preferences: Preferences) throws {
        let shelf = try Shelf()
        try shelf.directory.setPreferences(preferences, of: "r")
        #expect(try shelf.directory.preferences(of: "r") == preferences)
    }

    @Test func muteWholeNamesOnly() {
        let view = { (text: String, kind: String) in
            Array(text.utf8).withUnsafeBytes { text in
                Array(kind.utf8).withUnsafeBytes { PreferencesView(text).mutes($0) }
            }
        }
        for kind in ["a", "bc", "d"] { #expect(view("kinds=a,bc,d", kind)) }
        for kind in ["", "b", "c", "bc,d", "e", "kinds"] { #expect(!view("kinds=a,bc,d", kind)) }
        #expect(!view("", "a"))
        #expect(!view("xkinds=a", "a"))
        #expect(view("zone=kinds;kinds=z", "z"))
        #expect(!view("kinds=", ""))
    }

    @Test func areCleanedOfWhatWouldBreakTheirFormat() {
        let preferences = Preferences(mutedKinds: ["a;b", "c,d", ";"], quietHours: "x;muted=-1")
        #expect(preferences.text == "kinds=ab,cd;quiet=xmuted-1")
    }
}
