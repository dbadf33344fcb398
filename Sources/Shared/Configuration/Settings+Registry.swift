extension Settings {
    /// Which devices count, and where recipients' clocks are known from.
    package struct Registry: Equatable, Sendable {
        /// How long after its last registration a device counts as gone, in ms.
        package var staleAfterMs: Int64 = 270 * 86_400_000
        /// The most devices of a recipient; the one registered longest ago makes room.
        package var devicesMax = 20
        /// The folder of the machine's time zones (TZif files by IANA name).
        package var zoneFolder = "/usr/share/zoneinfo"

        package init() {}

        init(_ section: SectionReader) {
            staleAfterMs = section.duration(
                "stale_after", staleAfterMs, in: 86_400_000...(3650 * 86_400_000))
            devicesMax = section.integer("devices_max", devicesMax, in: 1...100)
            zoneFolder = section.text("zone_folder", section.context.environment["TZDIR"] ?? zoneFolder)
            section.finish()
        }
    }
}
