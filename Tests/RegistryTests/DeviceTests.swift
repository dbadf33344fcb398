import Core
import EventLoop
import Redis
import TestSupport
import Testing

@testable import Registry

private let appleToken = String(repeating: "0a1b2c3d", count: 8)
private let googleToken =
    "cJx0-_aB1dE2fG3hI4jK5l:APA91b" + String(repeating: "Ab3-_x9Z", count: 17).prefix(134)

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
        DeviceRecord(platform: .android, token: "fCm:Ab3-_x", registeredAtMs: 5, kind: .widgets),
        DeviceRecord(platform: .android, token: "a:APA91b", registeredAtMs: 5, locale: "de"),
        DeviceRecord(
            platform: .web, token: String(repeating: "x", count: 4096), registeredAtMs: 5, appVersion: "1"),
    ])
    func survivesTheWayThroughRedis(record: DeviceRecord) throws {
        let bytes = try #require(record.encoded)
        let back = bytes.withUnsafeBytes { DeviceView($0).map { DeviceRecord($0) } }
        #expect(back == record)
    }

    @Test func storesAppleTokensAsRawBytes() throws {
        let bytes = try #require(phone().encoded)
        #expect(bytes.count == 9 + 32 + 1 + 5 + 1 + 13 + 1 + 6)
        #expect(phone(appleToken.uppercased()) == phone())
    }

    @Test func storesGoogleTokensInSixBitsACharacter() throws {
        #expect(googleToken.utf8.count == 163)
        let record = DeviceRecord(platform: .android, token: googleToken, registeredAtMs: 1)
        #expect(try #require(record.encoded).count == 9 + 1 + 117)
        // Every length, since the last bits of some stand for no character, and every character.
        let all = String(decoding: StoredToken.digits, as: UTF8.self)
        for length in 0..<70 {
            for token in ["x:APA91b\(all.suffix(length))", "\(all.prefix(length))y:APA91bzz"] {
                let stored = StoredToken(text: token, .android)
                #expect(stored.form == .firebase)
                var text = ByteBuffer()
                stored.bytes.withUnsafeBytes { StoredToken.append($0, stored.form, to: &text) }
                #expect(text.text == token)
            }
        }
        for token in [":APA91bx", "x:APA92bx", "x:APA91b.", "x:APA91b:", "x", "x:APA91", "ü:APA91bx"] {
            #expect(StoredToken(text: token, .android).form == .text)
        }
        #expect(StoredToken(text: "x:APA91bx", .web).form == .text)
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
        #expect(try shelf.directory.owner(of: appleToken.uppercased(), .ios) == "r")
        #expect(try shelf.directory.devices(of: "r").map(\.id) == ["d1"])
        // 32,669 is what `python3 -c "import zlib; print(zlib.crc32(b'r') % 32768)"` says.
        #expect(try shelf.session.command("HEXISTS", "peal:dev:{shop:32669}", "r").integer == 1)
    }

    @Test func movesATokenToItsNewRecipient() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: 1))
        try shelf.directory.register(recipient: "b", device: "d1", phone(at: 2))
        #expect(try shelf.directory.devices(of: "a").isEmpty)
        #expect(try shelf.directory.devices(of: "b").map(\.record.registeredAtMs) == [2])
        #expect(try shelf.directory.owner(of: appleToken, .ios) == "b")
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
        #expect(try shelf.directory.owner(of: newer, .ios) == "a")
    }

    @Test func refreshesARegistration() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: 1))
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: 2))
        #expect(try shelf.directory.devices(of: "a").map(\.record.registeredAtMs) == [2])
        #expect(try shelf.directory.owner(of: appleToken, .ios) == "a")
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

    @Test func removesATokenFromWhoeverHasIt() throws {
        let shelf = try Shelf()
        #expect(try shelf.directory.remove(token: appleToken, .ios) == nil)
        try shelf.directory.register(recipient: "a", device: "d1", phone())
        #expect(try shelf.directory.remove(token: appleToken, .ios) == "a")
        #expect(try shelf.session.command("DBSIZE").integer == 0)
    }

    @Test func manyRecipientsShareAHash() throws {
        let shelf = try Shelf()
        let shard = RecipientShard.of(text: "a")
        let names = (0..<400_000).lazy.map { "user-\($0)" }.filter { RecipientShard.of(text: $0) == shard }
        let few = Array(names.prefix(6))
        #expect(few.count == 6)
        for (number, name) in few.enumerated() {
            let token = String(repeating: "0\(number)", count: 32)
            try shelf.directory.register(recipient: name, device: "d", phone(token))
        }
        let everybody = try SubscriberIndex(session: shelf.session, app: "shop").members(
            "*", shards: shard..<shard + 1)
        #expect(
            everybody.first?.recipients.map { String(decoding: $0, as: UTF8.self) }.sorted() == few.sorted())
        for name in few {
            #expect(try shelf.directory.devices(of: name).count == 1)
            try shelf.directory.remove(recipient: name, device: "d")
        }
        #expect(try shelf.session.command("DBSIZE").integer == 0)
    }

    @Test func staleDevicesGoWhenSomebodyRegisters() throws {
        let shelf = try Shelf()
        let now = Clock.wallMs
        let day: Int64 = 86_400_000
        let directory = DeviceDirectory(session: shelf.session, app: "shop", staleAfterMs: 270 * day)
        let tokens = (0..<4).map { String(repeating: "0\($0)", count: 32) }
        try directory.register(recipient: "a", device: "old", phone(tokens[0], at: now - 271 * day))
        try directory.register(recipient: "a", device: "new", phone(tokens[1], at: now - 269 * day))
        // Its own stale device goes with the next registration, owner included.
        #expect(try directory.devices(of: "a").map(\.id) == ["new"])
        #expect(try directory.owner(of: tokens[0], .ios) == nil)
        // Somebody else's goes when chance picks it; two entries a registration are looked at.
        let shard = RecipientShard.of(text: "a")
        let other = try #require(
            (0..<400_000).lazy.map { "user-\($0)" }.first { RecipientShard.of(text: $0) == shard })
        try directory.register(recipient: other, device: "d", phone(tokens[2], at: now - 271 * day))
        try directory.register(recipient: "a", device: "new", phone(tokens[1], at: now))
        #expect(try directory.devices(of: other).isEmpty)
        #expect(try directory.devices(of: "a").count == 1)
    }

    @Test func staleOwnersGoWhenTheirHashIsWritten() throws {
        let shelf = try Shelf()
        let now = Clock.wallMs
        let directory = DeviceDirectory(session: shelf.session, app: "shop")
        let place = TokenOwnerPlace(StoredToken(text: appleToken, .ios))
        let key = RegistryKeys.owners(app: "shop", bucket: place.bucket)
        // An entry of the minute 0, which is 2020.
        try shelf.session.run { out in
            out.begin(4)
            out.argument("HSET")
            out.argument(text: key)
            out.argument("stale!")
            out.argument(array: [0, 0, 0, UInt8(ascii: "x")])
        }
        try directory.register(recipient: "a", device: "d", phone(at: now))
        #expect(try shelf.session.command("HLEN", key).integer == 1)
        #expect(try directory.owner(of: appleToken, .ios) == "a")
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
    private func remove(
        _ shelf: Shelf, token: String = appleToken, device: String = "d1", beforeMs: Int64
    ) throws -> Int64? {
        let stored = StoredToken(text: token, .ios).bytes
        return try RecipientReference.with(app: "shop", recipient: "a") { recipient in
            try stored.withUnsafeBytes { stored in
                try Array(device.utf8).withUnsafeBytes { id in
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

    @Test func removesAmongSeveralDevices() throws {
        let shelf = try Shelf()
        let tokens = (0..<3).map { String(repeating: "0\($0)", count: 32) }
        for (number, token) in tokens.enumerated() {
            try shelf.directory.register(recipient: "a", device: "d\(number)", phone(token, at: 5))
        }
        #expect(try remove(shelf, token: tokens[1], device: "d0", beforeMs: 0) == 0)
        #expect(try remove(shelf, token: tokens[1], device: "", beforeMs: 5) == -1)
        #expect(try remove(shelf, token: tokens[1], device: "", beforeMs: 6) == 1)
        #expect(try shelf.directory.devices(of: "a").map(\.id) == ["d0", "d2"])
    }

    @Test func releasesOnlyItsOwnOwnerOfThatRegistration() throws {
        let shelf = try Shelf()
        let now: Int64 = 1_790_000_000_123
        try shelf.directory.register(recipient: "a", device: "d1", phone(at: now))
        let release = { (recipient: String, latestMs: Int64) in
            let owned = OwnedToken(
                app: "shop", recipient: Array(recipient.utf8), token: StoredToken(text: appleToken, .ios),
                latestMs: latestMs)
            return try shelf.session.run { RegistryCommands.release(owned, into: &$0) }.integer
        }
        #expect(try release("b", now) == 0)
        #expect(try release("a", now - 60_000) == 0)
        #expect(try release("a", now) == 1)
        #expect(try release("a", now) == 0)
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
