internal import Core
internal import Decisions
internal import EventLoop

/// A shard's time zones: each is read once from the machine's files.
///
/// - Bounds: 700 zones, more than there are; a name that has no file counts as well. When it is full it
///   begins anew.
/// - Threading: one thread. The first question for a zone reads a file of some kilobytes.
struct TimeZones {
    private static let zonesMax = 700

    /// Where the files are.
    let folder: String
    private var zones: [String: TimeZoneTable?] = [:]

    /// `$TZDIR`, or the usual place.
    init(folder: String) { self.folder = folder }

    /// The zone; nil when there is none of this name, and whether that was found out just now.
    mutating func zone(_ name: String) -> (table: TimeZoneTable?, isNew: Bool) {
        if let known = zones[name] { return (known, false) }
        if zones.count >= Self.zonesMax { zones.removeAll() }
        let table = TimeZoneTable.isName(name) ? load(name) : nil
        zones[name] = .some(table)
        return (table, true)
    }

    private func load(_ name: String) -> TimeZoneTable? {
        guard
            let bytes = try? Files.read(path: "\(folder)/\(name)", maxBytes: TimeZoneTable.bytesMax)
        else { return nil }
        return TimeZoneTable(file: bytes)
    }
}
