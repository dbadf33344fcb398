import Core
import EventLoop
import Testing

@testable import GatewayKit

@Suite struct ZoneNamesTests {
    private func makeFolder() throws -> String {
        try Files.makeTemporaryDirectory(prefix: "peal-zones-test")
    }

    private func write(_ folder: String, _ name: String) throws {
        // Two blocks with one type and no change, and an empty rule (RFC 9636).
        var block = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
        for count in [0, 0, 0, 0, 1, 4] as [UInt8] { block += [0, 0, 0, count] }
        block += [0, 0, 0, 0, 0, 0] + Array("UTC\0".utf8)
        try Files.write(path: "\(folder)/\(name)", bytes: block + block + Array("\n\n".utf8))
    }

    @Test func withFilesANameNeedsOne() throws {
        let folder = try makeFolder()
        defer { Files.removeTree(folder) }
        try write(folder, "UTC")
        try write(folder, "Somewhere")
        try Files.write(path: "\(folder)/leapseconds", text: "# no zone")
        let zones = ZoneNames(folder: folder)
        #expect(zones.contains("UTC") && zones.contains("Somewhere"))
        for name in ["Mars/Base", "leapseconds", "../UTC", "/UTC", "", "a b"] {
            #expect(!zones.contains(name), "\(name)")
        }
        // What was found out is remembered.
        try Files.write(path: "\(folder)/Somewhere", text: "")
        #expect(zones.contains("Somewhere") && !zones.contains("Mars/Base"))
    }

    @Test func withoutFilesTheFormIsEnough() throws {
        let folder = try makeFolder()
        defer { Files.removeTree(folder) }
        for zones in [ZoneNames(folder: folder), ZoneNames(folder: folder + "/none")] {
            #expect(zones.contains("Europe/Berlin") && zones.contains("Mars/Base"))
            #expect(!zones.contains("../UTC") && !zones.contains("a b"))
        }
    }

    @Test func theAPIRefusesAZoneThatThereIsNot() throws {
        let folder = try makeFolder()
        defer { Files.removeTree(folder) }
        try write(folder, "UTC")
        let rig = try HandlerRig(apps: HandlerRig.apps + "registry: {zone_folder: \(folder)}\n")
        let recipient = "/v1/apps/shop/recipients/r"
        func device(_ zone: String) throws -> HandlerRig.Outcome {
            try rig.call(
                "PUT", recipient + "/devices/d", #"{"platform":"android","token":"t","time_zone":"\#(zone)"}"#
            )
        }
        let bad = try device("Mars/Base")
        #expect(bad.status == 400 && bad.field == "time_zone")
        #expect(bad.detail == "There is no such time zone; write an IANA name such as Europe/Berlin.")
        #expect(try device("UTC").body["time_zone"]?.string == "UTC")
        func quiet(_ zone: String) throws -> HandlerRig.Outcome {
            try rig.call(
                "PUT", recipient + "/preferences",
                #"{"quiet_hours":{"from":"22:00","to":"07:00","time_zone":"\#(zone)"}}"#)
        }
        #expect(try quiet("Mars/Base").field == "quiet_hours.time_zone")
        #expect(try quiet("UTC").status == 200)
    }
}
