/// Which shards of the subscriber index a part of a broadcast covers. Pure.
package struct PartRange: Equatable, Sendable {
    /// The part's number, from 0.
    package let part: Int
    /// How many parts the broadcast has.
    package let parts: Int

    /// One of `parts`; nil for a number outside of them.
    package init?(part: Int, of parts: Int) {
        guard parts > 0, parts <= Self.partsMax, part >= 0, part < parts else { return nil }
        self.part = part
        self.parts = parts
    }

    /// Reads `part/parts` in decimal; nil for anything else.
    package init?(text: String) {
        let words = text.split(separator: "/", omittingEmptySubsequences: false)
        guard words.count == 2, let part = Int(words[0]), let parts = Int(words[1]),
            "\(part)/\(parts)" == text
        else { return nil }
        self.init(part: part, of: parts)
    }

    /// The most parts of a broadcast.
    package static let partsMax = 1024

    /// The text that says the same.
    package var text: String { "\(part)/\(parts)" }

    /// The part's shards, of `count` in all. The ranges of a broadcast's parts lie side by side and cover all
    /// shards; they differ by one shard at most.
    package func shards(of count: Int) -> Range<Int> { part * count / parts..<(part + 1) * count / parts }
}
