package import Core
package import Decisions

/// What a run of `send` does.
package struct SendSettings: Sendable {
    /// What to do about a job that can't be read.
    package enum BadJob: String, Sendable, CaseIterable {
        /// Send what came before it, then end.
        case stop
        /// Leave it out.
        case skip
    }

    /// Where Kafka is: `host:port,...`.
    package var brokers = "127.0.0.1:9092"
    /// librdkafka properties on top of Peal's own.
    package var properties: [(name: String, value: String)] = []
    package var names = TopicNames()
    package var tiers = RetryTier.standard
    /// An index of `TopicNames.lanes`.
    package var lane = 1
    /// The most jobs a second; 0 is no limit.
    package var perSecond = 0.0
    package var isDryRun = false
    package var badJob = BadJob.stop
    package var showsProgress = false
    /// How long to wait for the brokers at the start and for the last reports at the end.
    package var patienceMs = 30_000

    /// The defaults.
    package init() {}
}
