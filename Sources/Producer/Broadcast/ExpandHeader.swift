/// The headers that only the broadcast stage writes, beside `PealHeader`.
enum ExpandHeader {
    /// The broadcast's id, of a part record.
    static let broadcast: StaticString = "peal-broadcast"
    /// The part's number and the number of parts, `3/64`.
    static let part: StaticString = "peal-part"
}
