package import Decisions

extension Settings {
    /// The worker.
    package struct Worker: Equatable, Sendable {
        /// How partitions move when workers come and go.
        package enum Assignment: String, CaseIterable, Sendable {
            /// All partitions stop for a moment. The default, because librdkafka 2.0.2 has defects in the
            /// other one.
            case eager
            /// Only the partitions that move stop; for newer librdkafka.
            case cooperative
        }

        /// The lanes it serves, most urgent first.
        package var lanes = Topics.allLanes
        /// The consumer group's name before the lane's: `peal-worker`.
        package var group = "peal-worker"
        package var assignment = Assignment.eager
        /// Whether a restarted worker with the same host name gets its partitions back without a rebalance.
        package var staticMembership = false
        /// Threads that send; 0 for one a core.
        package var shards = 0
        /// Jobs in flight in one shard.
        package var inFlight = 8192
        /// How much of it one app may fill, 0...1.
        package var inFlightAppShare = 0.5
        /// How much of it is kept for the urgent lane, 0...1.
        package var urgentReserve = 0.1
        /// How often offsets are committed, in ms.
        package var commitIntervalMs: Int64 = 500
        /// How long finished offsets stay unflushed to Redis, in ms.
        package var flushIntervalMs: Int64 = 5
        /// How long a stop may take, in ms; shorter than the pod's grace period.
        package var drainDeadlineMs: Int64 = 25_000
        /// How often `peal:control` is read, in ms.
        package var controlIntervalMs: Int64 = 500

        package init() {}

        init(_ section: SectionReader) {
            let problemsBefore = section.context.problems.count
            if let list = section.findList("lanes") {
                var chosen: [String] = []
                let names = Topics.allLanes.joined(separator: ", ")
                for found in list where !chosen.contains(found.text) {
                    if Topics.allLanes.contains(found.text) {
                        chosen.append(found.text)
                    } else {
                        section.report(
                            .badValue, found, "lanes",
                            "'\(found.text)' is no lane; choose from \(names)")
                    }
                }
                if list.isEmpty, section.context.problems.count == problemsBefore {
                    section.context.report(.missing, at: section.place, "worker.lanes is empty; name a lane")
                }
                lanes = Topics.allLanes.filter { chosen.contains($0) }
            }
            group = section.text("group", group)
            assignment = section.choice("assignment", assignment)
            staticMembership = section.flag("static_membership", staticMembership)
            shards = section.integer("shards", shards, in: 0...256)
            inFlight = section.integer("in_flight", inFlight, in: 16...1_000_000)
            inFlightAppShare = section.number("in_flight_app_share", inFlightAppShare, in: 0.01...1)
            urgentReserve = section.number("urgent_reserve", urgentReserve, in: 0...0.9)
            commitIntervalMs = section.duration("commit_interval", commitIntervalMs, in: 50...10_000)
            flushIntervalMs = section.duration("flush_interval", flushIntervalMs, in: 1...1000)
            drainDeadlineMs = section.duration("drain_deadline", drainDeadlineMs, in: 100...600_000)
            controlIntervalMs = section.duration("control_interval", controlIntervalMs, in: 50...700)
            section.finish()
        }
    }

    /// The retry service and the retry rules.
    package struct Retry: Equatable, Sendable {
        /// The consumer group's name before the tier's: `peal-retry`.
        package var group = "peal-retry"
        package var limits = RetrySchedule.Limits()
        /// The first wait of each back-off class.
        package var delays = RetrySchedule.Delays()
        /// How long a job without a ttl is good for, in ms since its record's time.
        package var maxAgeMs: Int64 = 86_400_000
        /// Whether an urgent push gets one early attempt before APNs' 15 minutes.
        package var urgentEarly = false
        /// Records held in memory until they are due, a partition.
        package var heldMax = 10_000
        package var drainDeadlineMs: Int64 = 10_000

        package init() {}

        init(_ section: SectionReader) {
            group = section.text("group", group)
            limits.attemptsMax = section.integer("attempts_max", limits.attemptsMax, in: 1...1000)
            limits.connectionAttemptsMax = section.integer(
                "connection_attempts_max", limits.connectionAttemptsMax, in: 1...100)
            limits.totalMaxMs = section.duration("total_max", limits.totalMaxMs, in: 1000...86_400_000)
            maxAgeMs = section.duration("max_age", maxAgeMs, in: 1000...2_419_200_000)
            urgentEarly = section.flag("urgent_early", urgentEarly)
            readDelays(section.section("delays"))
            heldMax = section.integer("held_max", heldMax, in: 1...1_000_000)
            drainDeadlineMs = section.duration("drain_deadline", drainDeadlineMs, in: 100...600_000)
            section.finish()
        }

        private mutating func readDelays(_ section: SectionReader) {
            let range: ClosedRange<Int64> = 1...86_400_000
            delays.connectionMs = section.duration("connection", delays.connectionMs, in: range)
            delays.deviceMs = section.duration("device", delays.deviceMs, in: range)
            delays.quotaMs = section.duration("quota", delays.quotaMs, in: range)
            delays.serverMs = section.duration("server", delays.serverMs, in: range)
            delays.serverSlowMs = section.duration("apns_server", delays.serverSlowMs, in: range)
            delays.tokenUpdateMs = section.duration("token_update", delays.tokenUpdateMs, in: range)
            section.finish()
        }
    }

    /// The broadcast stage.
    package struct Expand: Equatable, Sendable {
        /// The consumer group's name.
        package var group = "peal-expand"
        /// The parts that a broadcast is divided into: what several processes can share.
        package var parts = 64
        /// Parts that one process expands at a time.
        package var partsActive = 4
        /// Recipients that one process has in memory.
        package var recipientsMax = 65_536
        /// How long a stop may take, in ms.
        package var drainDeadlineMs: Int64 = 10_000

        package init() {}

        init(_ section: SectionReader) {
            group = section.text("group", group)
            parts = section.integer("parts", parts, in: 1...1024)
            partsActive = section.integer("parts_active", partsActive, in: 1...64)
            recipientsMax = section.integer("recipients_max", recipientsMax, in: 1024...1_000_000)
            drainDeadlineMs = section.duration("drain_deadline", drainDeadlineMs, in: 100...600_000)
            section.finish()
        }
    }

    /// The schedule that the topics and the rules make.
    package var retrySchedule: RetrySchedule {
        RetrySchedule(tiers: topics.retryTiers, limits: retry.limits, delays: retry.delays)
    }
}
