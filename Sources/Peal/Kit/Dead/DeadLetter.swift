internal import Core
internal import Decisions
internal import Jobs

/// One record of the dead-letter topic.
struct DeadLetter: Equatable {
    /// Where it lies.
    struct Place: Hashable, CustomStringConvertible {
        var partition: Int32
        var offset: Int64

        var description: String { "\(partition)/\(offset)" }

        init(partition: Int32, offset: Int64) {
            self.partition = partition
            self.offset = offset
        }

        /// Reads `3/1742`; nil for anything else.
        init?(_ text: String) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, let partition = Int32(parts[0]), let offset = Int64(parts[1]),
                partition >= 0, offset >= 0
            else { return nil }
            self.init(partition: partition, offset: offset)
        }
    }

    let record: CopiedRecord

    init(_ record: CopiedRecord) { self.record = record }

    var place: Place { Place(partition: record.partition, offset: record.offset) }
    /// Why it is dead: the label of a `Reason`.
    var reason: String { record.text(PealHeader.reason) ?? "unknown" }
    /// The sentence that says what is wrong.
    var detail: String { record.text(PealHeader.detail) ?? "" }
    /// When it was found dead, in ms since 1970.
    var deadMs: Int64 { record.number(PealHeader.deadMs) ?? max(0, record.timestampMs) }
    /// When its job was first published, in ms since 1970.
    var firstMs: Int64 { record.number(PealHeader.firstMs) ?? max(0, record.timestampMs) }
    /// Where its job was first published.
    var origin: String { record.text(PealHeader.origin) ?? "" }
    /// Hand-overs between topics before.
    var attempt: Int64 { record.number(PealHeader.attempt) ?? 0 }
    /// The devices that it is about, as the header has them; nil when it is about the whole job.
    var devices: String? { record.text(PealHeader.devices).flatMap { $0.isEmpty ? nil : $0 } }
    /// The app, by its key; empty without one.
    var app: String {
        let key = record.keyText
        return String(key[..<(key.firstIndex(of: "/") ?? key.startIndex)])
    }

    /// The lane's topic that its job came by; nil when nothing says which.
    func lane(_ names: TopicNames) -> String? {
        let candidates = [
            record.text(PealHeader.replayTo) ?? "", String(origin.prefix { $0 != "/" }),
        ]
        return candidates.first { topic in TopicNames.lanes.contains { names.jobs(lane: $0) == topic } }
    }

    /// Whether the job was counted as unread, charged to its cap and so on before it died: those are things
    /// that a replay must not do again.
    var wasAdmitted: Bool {
        if attempt > 0 { return true }
        switch Reason(label: reason) {
        case .malformedJob, .contradictoryJob, .malformedHeaders, .unknownApp: return false
        default: return true
        }
    }
}

/// Shows texts that may hold device tokens.
enum TokenMask {
    /// Runs of token characters that are at least this long are shortened.
    private static let longMin = 48

    /// The text with every long run of the characters that tokens are made of cut to its two ends.
    static func mask(_ text: String) -> String {
        var out = ""
        var run: [Character] = []
        func flush() {
            out += run.count < longMin ? String(run) : shorten(String(run))
            run.removeAll(keepingCapacity: true)
        }
        for character in text {
            if character.isASCII, character.isLetter || character.isNumber || "_-:".contains(character) {
                run.append(character)
            } else {
                flush()
                out.append(character)
            }
        }
        flush()
        return out
    }

    /// A token's two ends.
    static func shorten(_ token: String) -> String {
        token.count < 12 ? "…" : "\(token.prefix(6))…\(token.suffix(4))"
    }
}
