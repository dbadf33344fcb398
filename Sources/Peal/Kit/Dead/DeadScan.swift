internal import Core
internal import Jobs
internal import Kafka

/// Reads dead letters: those that are meant, the newest of them, and how many there are of what.
final class DeadScan: KafkaRecordSink {
    /// What letters are counted by.
    struct Group: Hashable {
        var app: String
        var reason: String
    }

    /// What is known of a group.
    struct Count: Equatable {
        var letters = 0
        var firstMs = Int64.max
        var lastMs: Int64 = 0
    }

    /// The most groups that are counted by name; more are one group.
    static let groupsMax = 1_000
    /// The group of the rest.
    static let rest = Group(app: "*other", reason: "*other")

    private let filter: DeadFilter
    private let limit: Int
    private let parser: JobParser
    private var kept: [(deadMs: Int64, letter: DeadLetter)] = []
    /// Older letters than this are not kept any more.
    private var floorMs = Int64.min
    private(set) var counts: [Group: Count] = [:]
    /// Letters that are meant.
    private(set) var matched = 0
    /// Letters that were looked at.
    private(set) var seen = 0

    /// Keeps the newest `limit` letters of the filter.
    init(_ filter: DeadFilter, limit: Int, parser: JobParser) {
        self.filter = filter
        self.limit = limit
        self.parser = parser
    }

    func take(_ record: borrowing KafkaRecord) {
        seen += 1
        guard filter.matches(record) else { return }
        if filter.id == nil, limit == 0 { return count(record) }
        let letter = DeadLetter(CopiedRecord(record))
        guard filter.matchesID(letter, parser) else { return }
        count(record)
        let deadMs = letter.deadMs
        guard limit > 0, deadMs >= floorMs else { return }
        kept.append((deadMs, letter))
        if kept.count >= limit + Self.spare { cut() }
    }

    /// How many letters beyond the limit are gathered before the oldest go.
    private static let spare = 4_096

    private func count(_ record: borrowing KafkaRecord) {
        matched += 1
        var group = Group(app: "", reason: "unknown")
        if let key = unsafe record.key, let slash = unsafe key.firstIndex(of: UInt8(ascii: "/")) {
            group.app = unsafe String(decoding: key[..<slash].prefix(64), as: UTF8.self)
        }
        if let reason = unsafe record.header(PealHeader.reason) {
            group.reason = unsafe String(decoding: reason.prefix(64), as: UTF8.self)
        }
        if counts[group] == nil, counts.count >= Self.groupsMax { group = Self.rest }
        let time = DeadFilter.deadMs(record)
        var count = counts[group] ?? Count()
        count.letters += 1
        count.firstMs = min(count.firstMs, time)
        count.lastMs = max(count.lastMs, time)
        counts[group] = count
    }

    private func cut() {
        kept.sort { ($0.deadMs, $0.letter.place.offset) > ($1.deadMs, $1.letter.place.offset) }
        kept.removeLast(max(0, kept.count - limit))
        if kept.count == limit { floorMs = kept.last?.deadMs ?? .min }
    }

    /// The newest letters, newest first.
    func newest() -> [DeadLetter] {
        cut()
        return kept.map(\.letter)
    }
}
