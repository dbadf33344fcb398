internal import Decisions
internal import EventLoop

/// Which time zones there are, by the machine's files.
///
/// Workers read the same kind of files; a name that has none would count as UTC there, so it is refused
/// where it is given. A machine without such files can't tell, and then a name's form is enough.
/// - Threading: any. The first question for a name reads a file of some kilobytes.
/// - Bounds: 1000 names are remembered; when it is full it begins anew.
final class ZoneNames: Sendable {
    private static let namesMax = 1000
    /// Names of which every machine with zones has one.
    private static let usual = ["UTC", "Etc/UTC", "Europe/Berlin"]

    private let folder: String
    private let hasFiles: Bool
    private let known = Locked<[String: Bool]>([:])

    /// Looks into the folder.
    init(folder: String) {
        self.folder = folder
        hasFiles = Self.usual.contains { Self.isZone(folder, $0) }
    }

    /// Whether there is a zone of this name.
    func contains(_ name: String) -> Bool {
        guard TimeZoneTable.isName(name) else { return false }
        guard hasFiles else { return true }
        if let answer = known.withLock({ $0[name] }) { return answer }
        let answer = Self.isZone(folder, name)
        known.withLock { known in
            if known.count >= Self.namesMax { known.removeAll() }
            known[name] = answer
        }
        return answer
    }

    private static func isZone(_ folder: String, _ name: String) -> Bool {
        guard let bytes = try? Files.read(path: "\(folder)/\(name)", maxBytes: TimeZoneTable.bytesMax)
        else { return false }
        return TimeZoneTable(file: bytes) != nil
    }

    /// The member as a zone's name; nil when it is missing.
    func zone(_ body: JSONBody, _ name: String) throws(Problem) -> String? {
        guard let text = try body.text(name, bytes: 64) else { return nil }
        guard contains(text) else {
            throw body.wrong(
                name, "There is no such time zone; write an IANA name such as Europe/Berlin.")
        }
        return text
    }
}
