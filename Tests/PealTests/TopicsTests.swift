import Configuration
import Decisions
import Kafka
import Terminal
import Testing

@testable import PealKit

@Suite struct TopicAuditTests {
    private let plan = TopicPlan(Settings())

    private func good() -> TopicAudit {
        var audit = TopicAudit(plan: plan, layouts: [:], settings: [:])
        for topic in plan.topics {
            audit.layouts[topic.name] = KafkaTopicLayout(
                name: topic.name, partitions: topic.partitions, replication: plan.replication)
            audit.settings?[topic.name] = plan.newTopic(topic).settings
        }
        return audit
    }

    private func codes(_ audit: TopicAudit, _ topic: String) -> [String] {
        audit.findings.filter { $0.topic == topic }.map { "\($0.severity.rawValue) \($0.code)" }
    }

    @Test func whatIsMadeByThePlanIsFoundGood() {
        #expect(plan.topics.count == 13)
        #expect(good().findings == [])
        #expect(good().missing == [])
        // A small cluster's topics too.
        let single = TopicPlan(Settings(), partitions: 1, replication: 1)
        #expect(single.newTopic(single.topics[0]).settings["min.insync.replicas"] == "1")
        #expect(single.topics.allSatisfy { $0.partitions == 1 })
    }

    @Test func aRetryTopicMustKeepItsRecordsForLongerThanTheyWait() {
        var audit = good()
        audit.settings?["peal.retry.1h"]?["retention.ms"] = "3600000"
        #expect(codes(audit, "peal.retry.1h") == ["fault retention"])
        #expect(audit.findings.first?.sentence.contains("deleted before they are due") == true)
        #expect(audit.findings.first?.lever.contains("retention.ms=604800000") == true)
        audit.settings?["peal.retry.1h"]?["retention.ms"] = "7200000"
        #expect(codes(audit, "peal.retry.1h") == ["warning retention"])
        audit.settings?["peal.retry.1h"]?["retention.ms"] = "90000000"
        #expect(codes(audit, "peal.retry.1h") == [])
        audit.settings?["peal.retry.1h"]?["retention.ms"] = "-1"
        #expect(codes(audit, "peal.retry.1h") == [])
    }

    @Test(arguments: [
        ("cleanup.policy", "compact", "fault cleanup_policy"),
        ("cleanup.policy", "compact,delete", "fault cleanup_policy"),
        ("retention.ms", "3600000", "fault retention"),
        ("retention.ms", "90000000", "warning retention"),
        ("retention.bytes", "1000000", "warning retention_bytes"),
        ("max.message.bytes", "65535", "fault max_message_bytes"),
        ("max.message.bytes", "500000", "warning max_message_bytes"),
        ("min.insync.replicas", "1", "warning min_insync_replicas"),
        ("min.insync.replicas", "3", "warning min_insync_replicas"),
        ("min.insync.replicas", "4", "fault min_insync_replicas"),
        ("unclean.leader.election.enable", "true", "warning unclean_election"),
    ])
    func aSettingThatCostsJobsIsFound(name: String, value: String, code: String) {
        var audit = good()
        audit.settings?["peal.jobs.bulk"]?[name] = value
        #expect(codes(audit, "peal.jobs.bulk") == [code])
        #expect(audit.findings.first?.lever.contains("peal.jobs.bulk") == true)
    }

    @Test func whatIsMissingLeaderlessThinOrLeftOverIsFound() {
        var audit = good()
        audit.layouts["peal.dead"] = nil
        audit.layouts["peal.jobs.urgent"]?.partitions = 12
        audit.layouts["peal.jobs.normal"]?.leaderless = 2
        audit.layouts["peal.outcomes"]?.replication = 1
        audit.layouts["peal.retry.30s"] = KafkaTopicLayout(
            name: "peal.retry.30s", partitions: 4, replication: 3)
        // Another program's.
        audit.layouts["pealing.retry.x"] = KafkaTopicLayout(
            name: "pealing.retry.x", partitions: 4, replication: 3)
        #expect(audit.missing.map(\.name) == ["peal.dead"])
        #expect(codes(audit, "peal.dead") == ["fault missing"])
        #expect(codes(audit, "peal.jobs.urgent") == ["warning partitions", "warning unequal_lanes"])
        #expect(codes(audit, "peal.jobs.normal") == ["fault leaderless"])
        #expect(codes(audit, "peal.outcomes").contains("warning replication"))
        #expect(codes(audit, "peal.retry.30s") == ["warning left_over"])
        #expect(codes(audit, "pealing.retry.x") == [])
        let severities = audit.findings.map(\.severity)
        #expect(severities == severities.filter { $0 == .fault } + severities.filter { $0 == .warning })
    }
}

/// The command on the embedded broker, which lists topics and knows no administration.
@Suite(.serialized) struct TopicsCommandTests {
    private func access(_ broker: EmbeddedBroker, tiers: [RetryTier]) throws -> ToolAccess {
        var settings = Settings()
        settings.kafka.brokers = broker.bootstrapServers
        settings.topics.retryTiers = tiers
        settings.topics.partitions = 4
        settings.topics.replication = 1
        return try ToolAccess(settings)
    }

    @Test func missingTopicsAndPartitionsAreFoundAndWhatCanNotBeAskedIsSaid() throws {
        let tiers = [RetryTier(name: "1s", delayMs: 1000)]
        let names = ["peal.jobs.urgent", "peal.jobs.normal", "peal.retry.1s", "peal.broadcast"]
        let broker = try EmbeddedBroker(
            topics: names.map { ($0, 4) } + [("peal.jobs.bulk", 2), ("peal.retry.5m", 1), ("other", 1)])
        let access = try access(broker, tiers: tiers)
        let plan = TopicPlan(access.settings)
        let report = try TopicsCommand.look(.check, plan, access)
        #expect(report.exitCode == 1)
        #expect(
            report.audit.missing.map(\.name) == ["peal.broadcast.parts", "peal.dead", "peal.outcomes"])
        let text = report.text(style: TextStyle(isEnabled: false))
        #expect(text.contains("peal.jobs.bulk") && text.contains("It has 2 partitions"))
        #expect(text.contains("peal.retry.5m") && text.contains("read by nobody"))
        #expect(text.contains("were not checked") && text.contains("no controller"))
        #expect(!text.contains("other"))
        let list = try TopicsCommand.look(.list, plan, access)
        #expect(list.exitCode == 0)
        #expect(list.records["peal.jobs.normal"] == 0)
        #expect(list.json.contains(#""topic":"peal.dead","for":"dead letters","missing":true"#))
    }

    @Test func nothingIsMadeWhereTheBrokerCanNot() throws {
        let broker = try EmbeddedBroker(topics: [("peal.jobs.normal", 4)])
        let access = try access(broker, tiers: [RetryTier(name: "1s", delayMs: 1000)])
        let plan = TopicPlan(access.settings, partitions: 8)
        let failure = #expect(throws: ToolFailure.self) {
            try TopicsCommand.create(plan, access, isDry: false)
        }
        #expect(failure?.exitCode == 2)
        #expect(failure?.message.contains("when it is first named") == true)
        let dry = try TopicsCommand.create(plan, access, isDry: true)
        #expect(dry.exitCode == 0)
        #expect(dry.created.count == 7)
        #expect(dry.created.first { $0.name == "peal.jobs.bulk" }?.partitions == 8)
        let text = dry.text(style: TextStyle(isEnabled: false))
        #expect(text.contains("would be"))
    }
}
