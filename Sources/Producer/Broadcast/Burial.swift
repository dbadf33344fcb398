internal import Decisions

/// A record on its way to the dead-letter topic.
final class Burial {
    let record: HeldRecord
    let reason: Reason
    /// What is wrong with it, as a sentence.
    let detail: String
    /// Whether it is to be produced, for the first time or again.
    var isWaiting = true

    init(_ record: HeldRecord, _ reason: Reason, _ detail: String) {
        self.record = record
        self.reason = reason
        self.detail = detail
    }
}
