/// One broadcast while its parts are published.
final class PlanWork {
    /// Where it stands.
    enum Stage: Equatable {
        /// Redis is to be told of it.
        case noting
        /// Its parts are produced.
        case publishing
        /// Redis is to be told that all parts are out.
        case starting
    }

    /// A number unlike that of any other plan in memory.
    let number: UInt32
    let record: HeldRecord
    let template: BroadcastTemplate
    var stage = Stage.noting
    /// The number of parts; 0 before Redis has told it.
    private(set) var parts = 0
    /// Parts that wait to be produced.
    private(set) var waiting: [UInt32] = []
    private var acknowledged = 0
    var isAsking = false
    /// When Redis is asked again after a failure, in ms of the loop's clock.
    var retryAtMs: UInt64 = 0

    init(number: UInt32, _ record: HeldRecord, _ template: BroadcastTemplate) {
        self.number = number
        self.record = record
        self.template = template
    }

    /// All parts are to be produced.
    func publish(parts count: Int) {
        parts = count
        waiting = (0..<UInt32(truncatingIfNeeded: count)).reversed()
        stage = .publishing
    }

    /// Notes that the last one of `waiting` was handed to Kafka.
    func advance() { _ = waiting.popLast() }

    /// Notes that the broker has refused a part, which is produced again.
    func refuse(_ part: UInt32) { waiting.append(part) }

    /// Notes that the broker has acknowledged a part.
    func acknowledge() {
        acknowledged += 1
        if acknowledged == parts { stage = .starting }
    }
}
