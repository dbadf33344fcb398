/// The headers that only the broadcast stage writes, beside `PealHeader`.
enum ExpandHeader {
    /// The broadcast's id, of a part record.
    static let broadcast: StaticString = "peal-broadcast"
    /// The part's number and the number of parts, `3/64`.
    static let part: StaticString = "peal-part"
    /// What is wrong with a dead record, as a sentence.
    static let detail: StaticString = "peal-detail"
    /// When it was found dead, milliseconds since 1970.
    static let deadMs: StaticString = "peal-dead-ms"
    /// The job topic that a dead record can be put back to.
    static let replayTo: StaticString = "peal-replay-to"
}
