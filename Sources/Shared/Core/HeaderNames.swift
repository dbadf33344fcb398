/// The Kafka headers in which a job's bookkeeping travels; a job's own bytes stay as the sender wrote them.
///
/// All values are small ASCII. A hop replaces a header, it never appends a second one of the same name.
package enum PealHeader {
    /// How many attempts were made so far, in decimal; 0 is a job that waits for its first one (`send_at`).
    package static let attempt: StaticString = "peal-attempt"
    /// When the job is due, in milliseconds since 1970.
    package static let dueMs: StaticString = "peal-due-ms"
    /// When the job was first taken, in milliseconds since 1970.
    package static let firstMs: StaticString = "peal-first-ms"
    /// Where the job was first published: `topic/partition/offset`. A job that waited from the start
    /// (`send_at`) has never had a place in its job topic: partition -1, and a number of its own in place of
    /// the offset.
    package static let origin: StaticString = "peal-origin"
    /// The ids of the devices that are still owed a delivery, separated by commas; absent means all.
    package static let devices: StaticString = "peal-devices"
    /// Why the job waits or died.
    package static let reason: StaticString = "peal-reason"
    /// How many of the hand-overs were waits that no provider saw.
    package static let waits: StaticString = "peal-waits"
    /// What is wrong with a dead job, as a sentence.
    package static let detail: StaticString = "peal-detail"
    /// When a job was found dead, in milliseconds since 1970.
    package static let deadMs: StaticString = "peal-dead-ms"
    /// The job topic that a dead job can be put back to.
    package static let replayTo: StaticString = "peal-replay-to"
    /// The W3C trace context, passed through as it came.
    package static let traceParent: StaticString = "traceparent"
    /// What a tracing system adds to `traceparent` (W3C Trace Context).
    package static let traceState: StaticString = "tracestate"
}

/// The names of the topics under a prefix.
package struct TopicNames: Hashable, Sendable {
    /// What every name begins with; `peal` by default.
    package let prefix: String

    /// Names under `prefix`.
    package init(prefix: String = "peal") { self.prefix = prefix }

    /// The lanes, most urgent first.
    package static let lanes = ["urgent", "normal", "bulk"]

    /// The job topic of a lane: `peal.jobs.normal`.
    package func jobs(lane: String) -> String { "\(prefix).jobs.\(lane)" }
    /// The retry topic of a tier: `peal.retry.10s`.
    package func retry(tier: String) -> String { "\(prefix).retry.\(tier)" }
    /// The topic of the jobs that will never be sent.
    package var dead: String { "\(prefix).dead" }
    /// The topic of the broadcasts that wait to be planned.
    package var broadcasts: String { "\(prefix).broadcast" }
    /// The topic of the parts of planned broadcasts.
    package var broadcastParts: String { "\(prefix).broadcast.parts" }
    /// The topic of the terminal outcomes.
    package var outcomes: String { "\(prefix).outcomes" }

    /// The lane of a job topic's name; nil when it isn't one.
    package func lane(of topic: String) -> String? {
        let start = "\(prefix).jobs."
        guard topic.hasPrefix(start) else { return nil }
        let lane = String(topic.dropFirst(start.count))
        return lane.isEmpty ? nil : lane
    }
}
