import Core
import EventLoop
import Foundation
import Redis
import TestSupport
import Testing

@testable import Registry

/// What a device and a subscriber cost in Redis.
///
/// `PEAL_TEST_DEVICES=1000000` measures with a million recipients, which the tests have no time for. With
/// fewer, only a part of the hashes is filled, as full as a million recipients make them.
@Suite(.serialized) struct MemoryTests {
    private let shelf: Shelf
    private let count: Int
    /// One in so many hashes is filled.
    private let share: Int

    init() throws {
        shelf = try Shelf()
        count = try #require(Int(ProcessInfo.processInfo.environment["PEAL_TEST_DEVICES"] ?? "10000"))
        share = max(1, 1_000_000 / count)
    }

    /// Names of twelve characters whose hashes are among those to fill.
    private func recipients() -> [String] {
        var names: [String] = []
        var name = Array("user-0000000".utf8)
        while names.count < count {
            if name.withUnsafeBytes({ RecipientShard.of($0) }) % share == 0 {
                names.append(String(decoding: name, as: UTF8.self))
            }
            var at = name.count - 1
            while name[at] == UInt8(ascii: "9") {
                name[at] = UInt8(ascii: "0")
                at -= 1
            }
            name[at] += 1
        }
        return names
    }

    private struct Random {
        private var state: UInt64 = 7

        mutating func next() -> UInt64 {
            state = Hash64.mix(state &+ 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F)
            return state >> 20
        }

        mutating func token(_ platform: DevicePlatform) -> String {
            guard platform == .android else {
                return Hex.encode((0..<32).map { _ in UInt8(truncatingIfNeeded: next()) })
            }
            let digits = StoredToken.digits
            let text = (0..<156).map { _ in digits[Int(next() & 63)] }
            return String(decoding: text[..<22] + StoredToken.firebaseMark + text[22...], as: UTF8.self)
        }
    }

    /// Writes what a registration writes, with the owner among the hashes to fill: which one a token has can't
    /// be chosen.
    private func write(_ name: String, _ record: DeviceRecord, _ random: inout Random) throws {
        let day: Int64 = 270 * 86_400_000
        let encoded = try #require(record.encoded)
        try RecipientReference.with(app: "shop", recipient: name) { reference in
            _ = try shelf.session.run { out in
                out.begin(RegistryScripts.putDevice, keys: 1, arguments: 5)
                out.argument { RegistryKeys.devices(reference, into: &$0) }
                out.argument(text: name)
                out.argument("d1")
                out.argument(array: encoded)
                out.argument(decimal: 20)
                out.argument(decimal: day)
            }
        }
        let field = (0..<6).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let bucket = Int(random.next()) % (TokenOwnerPlace.buckets / share + 1)
        _ = try shelf.session.run { out in
            out.begin(RegistryScripts.takeToken, keys: 1, arguments: 4)
            out.argument(text: RegistryKeys.owners(app: "shop", bucket: bucket))
            out.argument(array: field)
            out.argument(text: name)
            out.argument(decimal: TokenOwnerPlace.minute(ofMs: record.registeredAtMs))
            out.argument(decimal: day / 60_000)
        }
    }

    private func memory() throws -> Int64 {
        let info = try shelf.session.command("INFO", "memory").text ?? ""
        let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_memory:") }
        return try #require(line.flatMap { Int64($0.dropFirst("used_memory:".count)) })
    }

    private func report(_ what: String, _ bytes: Double) {
        if count > 10_000 { print("bytes a \(what): \(bytes)") }
    }

    @Test(arguments: [(DevicePlatform.android, 100.0...200.0), (DevicePlatform.ios, 60.0...120.0)])
    func aDeviceAndItsOwnerTakeFewBytes(platform: DevicePlatform, allowed: ClosedRange<Double>) throws {
        var random = Random()
        // What the server and its scripts need at first isn't the devices'.
        try shelf.directory.register(
            recipient: "warm", device: "d1",
            DeviceRecord(platform: platform, token: "aa", registeredAtMs: Clock.wallMs))
        try shelf.directory.remove(recipient: "warm", device: "d1")
        let before = try memory()
        for name in recipients() {
            let record = DeviceRecord(
                platform: platform, token: random.token(platform), registeredAtMs: Clock.wallMs)
            if share == 1 {
                try shelf.directory.register(recipient: name, device: "d1", record)
            } else {
                try write(name, record, &random)
            }
        }
        let bytes = Double(try memory() - before) / Double(count)
        report("\(platform.name) device", bytes)
        #expect(allowed.contains(bytes))
    }

    @Test func aSubscriberTakesFewBytes() throws {
        let index = SubscriberIndex(session: shelf.session, app: "shop")
        try index.subscribe("warm", "news")
        try index.unsubscribe("warm", "news")
        let names = recipients()
        for name in names { try shelf.directory.addUnread(1, of: name) }
        let before = try memory()
        for name in names { try index.subscribe(name, "news") }
        let bytes = Double(try memory() - before) / Double(count)
        report("subscriber", bytes)
        #expect(bytes > 10 && bytes < 80)
    }
}
