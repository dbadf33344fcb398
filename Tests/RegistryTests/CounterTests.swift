import Core
import Redis
import TestSupport
import Testing

@testable import Registry

@Suite struct CounterTests {
    private func flush(_ batch: inout CounterBatch, _ shelf: Shelf, minute: Int64) throws {
        var failure: RedisFailure?
        batch.flush(minute: minute) { _, encode in
            do throws(RedisFailure) {
                try shelf.session.run(encode)
                return true
            } catch {
                failure = error
                return false
            }
        }
        #expect(failure == nil)
    }

    private func hash(_ shelf: Shelf, _ key: String) throws -> [String: Int64] {
        Dictionary(
            uniqueKeysWithValues: try shelf.session.command("HGETALL", key).pairs.map {
                ($0.key, $0.value.integer ?? -1)
            })
    }

    @Test func addsUpByMinuteInTotalAndOverAllApps() throws {
        let shelf = try Shelf()
        var batch = CounterBatch(apps: ["shop", "bank"], fields: ["accepted", "dead"])
        batch.add(app: 0, field: 0, 3)
        batch.add(app: 0, field: 1)
        batch.add(app: 1, field: 0)
        try flush(&batch, shelf, minute: 100)
        #expect(batch.isEmpty)
        batch.add(app: 1, field: 0, 4)
        batch.add(app: 9, field: 0)
        batch.add(app: 0, field: -1)
        try flush(&batch, shelf, minute: 101)
        #expect(try hash(shelf, "peal:stat:{shop}:100") == ["accepted": 3, "dead": 1])
        #expect(try hash(shelf, "peal:stat:{bank}:100") == ["accepted": 1])
        #expect(try hash(shelf, "peal:stat:{bank}:101") == ["accepted": 4])
        #expect(try hash(shelf, "peal:stat:{*}:100") == ["accepted": 4, "dead": 1])
        #expect(try hash(shelf, "peal:total:{bank}") == ["accepted": 5])
        #expect(try hash(shelf, "peal:total:{*}") == ["accepted": 8, "dead": 1])
        for key in ["peal:stat:{shop}:100", "peal:stat:{*}:101"] {
            let ttl = try shelf.session.command("TTL", key).integer ?? 0
            #expect(ttl > 172_000 && ttl <= 172_800)
        }
    }

    @Test func keepsWhatWasNotTaken() throws {
        let shelf = try Shelf()
        var batch = CounterBatch(apps: ["shop"], fields: ["accepted", "dead"])
        batch.add(app: 0, field: 0, 2)
        batch.flush(minute: 1) { _, _ in false }
        #expect(!batch.isEmpty)
        batch.add(app: 0, field: 0, 1)
        try flush(&batch, shelf, minute: 1)
        #expect(try hash(shelf, "peal:total:{shop}") == ["accepted": 3])
        #expect(try hash(shelf, "peal:total:{*}") == ["accepted": 3])
    }

    @Test func anAppWhoseCountersAreRefusedHoldsNoOthersUp() throws {
        let shelf = try Shelf()
        var batch = CounterBatch(apps: ["away", "shop"], fields: ["accepted"])
        batch.add(app: 0, field: 0, 2)
        batch.add(app: 1, field: 0, 3)
        batch.flush(minute: 1) { _, encode in
            var command = RedisCommandBuffer()
            encode(&command)
            if String(decoding: command.encoded, as: UTF8.self).contains("{away}") { return false }
            return (try? shelf.session.run(encode)) != nil
        }
        #expect(try hash(shelf, "peal:total:{shop}") == ["accepted": 3])
        #expect(!batch.isEmpty)
        try flush(&batch, shelf, minute: 1)
        #expect(try hash(shelf, "peal:total:{away}") == ["accepted": 2])
        #expect(try hash(shelf, "peal:total:{*}") == ["accepted": 5])
    }

    @Test func appendsAnEntryOncePerInterval() throws {
        let shelf = try Shelf()
        let tick = { (interval: Int64) in
            try shelf.session.run {
                RegistryCommands.tickTimeSeries(
                    app: "shop", intervalMs: interval, entries: 100, fields: ["accepted", "dead"], into: &$0)
            }.integer
        }
        try shelf.session.command("HSET", "peal:total:{shop}", "accepted", "10")
        #expect(try tick(60_000) == 1)
        #expect(try tick(60_000) == 0)
        try shelf.session.command("HSET", "peal:total:{shop}", "accepted", "17", "dead", "2")
        var ticked: Int64? = 0
        // An interval of a millisecond passes by itself.
        for _ in 0..<1_000 where ticked == 0 { ticked = try tick(1) }
        #expect(ticked == 1)
        let entries = try shelf.session.command("XRANGE", "peal:ts:{shop}", "-", "+").array
        #expect(entries.count == 2)
        let fields = entries.map { entry in
            Dictionary(
                uniqueKeysWithValues: entry.array.last?.pairs.map { ($0.key, $0.value.integer ?? -1) } ?? [])
        }
        #expect(fields.first == ["accepted": 0, "accepted_total": 10, "dead": 0, "dead_total": 0])
        #expect(fields.last == ["accepted": 7, "accepted_total": 17, "dead": 2, "dead_total": 2])
    }

    @Test func showsLivingPods() throws {
        let shelf = try Shelf()
        let session = shelf.session
        let json = Array(#"{"role":"worker","rate":12}"#.utf8)
        try session.run { RegistryCommands.beat(pod: "w-1", json: json, into: &$0) }
        #expect(try session.command("HGET", "peal:pods", "w-1") == .string(json))
        try session.run { RegistryCommands.goodbye(pod: "w-1", into: &$0) }
        #expect(try session.command("EXISTS", "peal:pods").integer == 0)
        try session.command("HSET", "peal:control", "app:shop", "paused")
        #expect(try session.run { RegistryCommands.control(into: &$0) }.pairs.map(\.key) == ["app:shop"])
    }
}

@Suite struct RegistryKeyTests {
    /// The cluster slot of a key: CRC16 (XMODEM) of the text between the first braces.
    private func slot(_ key: [UInt8]) throws -> UInt16 {
        let open = try #require(key.firstIndex(of: UInt8(ascii: "{")))
        let close = try #require(key[open...].firstIndex(of: UInt8(ascii: "}")))
        #expect(close > open + 1)
        var crc: UInt16 = 0
        for byte in key[(open + 1)..<close] {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 != 0 ? crc << 1 ^ 0x1021 : crc << 1 }
        }
        return crc % 16_384
    }

    @Test(arguments: ["user-1", "", "}", "a}b{c}", "{", "ü/:"])
    func keysOfOneRecipientShareASlot(recipient: String) throws {
        let builders: [(RecipientReference, inout ByteBuffer) -> Void] = [
            { RegistryKeys.user($0, into: &$1) },
            { RegistryKeys.cap($0, class: $0.app, into: &$1) },
            { RegistryKeys.dedup($0, key: $0.app, into: &$1) },
            { RegistryKeys.hop($0, origin: $0.app, attempt: 3, into: &$1) },
        ]
        let slots = try RecipientReference.with(app: "shop", recipient: recipient) { reference in
            try builders.map { build in
                var key = ByteBuffer()
                build(reference, &key)
                return try slot(key.array)
            }
        }
        #expect(Set(slots).count == 1)
    }

    @Test func keysOfOneAppsCountersShareASlot() throws {
        let keys = [RegistryKeys.timeSeries(app: "shop"), RegistryKeys.totals(app: "shop")]
        #expect(Set(try keys.map { try slot(Array($0.utf8)) }).count == 1)
    }

    @Test func keysAreTheDocumentedOnes() {
        var key = ByteBuffer()
        RecipientReference.with(app: "shop", recipient: "u:1") {
            RegistryKeys.hop($0, origin: $0.recipient, attempt: 12, into: &key)
        }
        let text = key.text
        #expect(text == "peal:hop:{shop:u:1}:u:1:12")
        #expect(RegistryKeys.statistics(app: "*", minute: 5) == "peal:stat:{*}:5")
        #expect(RegistryKeys.owners(app: "shop", bucket: 17) == "peal:own:{shop:17}")
        #expect(RegistryKeys.rate(app: "shop", provider: "fcm") == "peal:rate:{shop}:fcm")
        #expect(RegistryKeys.credential(kind: "apns", id: "K1") == "peal:cred:apns:K1")
        #expect(RegistryKeys.subscribers(app: "shop", topic: "news", shard: 3) == "peal:sub:{shop:3}:news")
        #expect(RegistryKeys.subscribers(app: "shop", topic: "*", shard: 3) == "peal:dev:{shop:3}")
    }
}

@Suite struct ServerSettingsTests {
    @Test func sayWhatToChange() throws {
        let shelf = try Shelf()
        #expect(try ServerSettings.complaints(shelf.session).isEmpty)
        try shelf.session.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        try shelf.session.command("CONFIG", "SET", "hash-max-listpack-value", "64")
        let complaints = try ServerSettings.complaints(shelf.session)
        #expect(complaints.count == 2)
        #expect(complaints.first?.contains("CONFIG SET maxmemory-policy noeviction") == true)
        #expect(complaints.last?.contains("CONFIG SET hash-max-listpack-value 4096") == true)
    }

    @Test func admitThatTheyCantBeRead() throws {
        let shelf = try Shelf()
        try shelf.session.command("ACL", "SETUSER", "default", "-config")
        let complaints = try ServerSettings.complaints(shelf.session)
        #expect(complaints.count == 1)
    }
}
