import Core
import EventLoop
import Foundation
import HTTP2
import Metrics
import Services
import SimulatorKit
import TestSupport
import Testing

@testable import WorkerKit

/// What a worker exposes while it works; `MetricsStackTests` has the sums over several.
@Suite(.serialized) struct MetricsTests {
    private static func job(_ number: Int, _ platform: String = "ios") -> (key: String, json: String) {
        let token = platform == "ios" ? Tokens.apns(number) : Tokens.fcm(number)
        return (
            "shop/m\(number)",
            #"{"app":"shop","to":{"token":"\#(token)","platform":"\#(platform)"},"title":"x"}"#
        )
    }

    private static func scrape(_ rig: Rig) -> ExpositionCheck {
        // The probe takes the last line end away.
        ExpositionCheck(((try? rig.probe("/metrics")) ?? "") + "\n")
    }

    @Test func aJobUnderWayHasAnAgeAndADoneOneHasNone() throws {
        let rig = try Rig(simulated: { $0.delayMs = 3000 })
        defer { rig.stop() }
        try rig.publishMany([Self.job(1)], lane: "bulk")
        func value(_ name: String, _ lane: String) -> Double? {
            Self.scrape(rig).samples.first { $0.name == name && $0.label("lane") == lane }?.value
        }
        let age = "peal_consumer_oldest_job_age_seconds"
        #expect(rig.wait { (value(age, "bulk") ?? 0) > 1 })
        #expect(value("peal_consumer_lag_records", "bulk") == 1)
        #expect(value("peal_lane_in_flight_jobs", "bulk") == 1)
        #expect(value(age, "urgent") == 0)
        #expect(rig.wait { value(age, "bulk") == 0 })
        #expect(rig.wait { value("peal_consumer_lag_records", "bulk") == 0 })
        // What it took is in the buckets of its lane: the provider's three seconds, below five.
        #expect(rig.wait { Self.scrape(rig).sum("peal_stage_duration_seconds_count") == 4 })
        let buckets = Self.scrape(rig).samples.filter {
            $0.name == "peal_stage_duration_seconds_bucket" && $0.label("stage") == "provider"
                && $0.label("lane") == "bulk"
        }
        #expect(buckets.first { $0.label("le") == "2.5" }?.value == 0)
        #expect(buckets.first { $0.label("le") == "3600.0" }?.value == 1)
    }

    @Test func goAwaysAreCountedByTheirReason() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.publishMany((0..<10).map { Self.job($0) })
        #expect(rig.wait { rig.accepted == 10 })
        for reason in [",\"reason\":\"Shutdown\"", ""] {
            let before = rig.simulator.stats()?.goaways ?? 0
            try rig.simulator.setFaults(
                #"{"events":[{"at_ms":0,"do":{"action":"goaway"\#(reason)}}]}"#)
            #expect(rig.wait { (rig.simulator.stats()?.goaways ?? 0) > before })
            try rig.simulator.setFaults("")
            let number = reason.isEmpty ? 200 : 100
            try rig.publishMany((number..<number + 10).map { Self.job($0) })
        }
        #expect(rig.wait { rig.accepted == 30 })
        func count(_ reason: String) -> Int {
            Self.scrape(rig).sum("peal_goaways_total") { $0.label("reason") == reason }
        }
        // Each bound has a series from the start, so that a first one is an increase.
        let limits = Self.scrape(rig).samples.filter { $0.name == "peal_http2_limits_total" }
        #expect(limits.count == 6 && limits.allSatisfy { $0.value == 0 })
        #expect(rig.wait { count("apns_shutdown") > 0 && count("no_error") > 0 })
        #expect(Self.scrape(rig).sum("peal_connections_retired_total") { $0.label("reason") == "goaway" } > 0)
        #expect(try Self.scrape(rig).faults(families: families) == [])
    }

    private var families: [MetricFamily] {
        ProcessFamilies.all + LogFamilies.all + TraceFamilies.all + WorkerFamilies.all
    }

    @Test func aCounterOfRoutesIsTheSumOfShardsAndPools() {
        var one = ShardStatus()
        var two = ShardStatus()
        func route(_ name: String, _ change: (inout RouteStatus) -> Void) -> RouteStatus {
            var route = RouteStatus(
                name: name, metrics: .init(), side: nil, explanation: "", isPaused: false, circuit: 0,
                circuitOpenings: 0)
            change(&route)
            return route
        }
        one.routes = [
            route("a") {
                $0.metrics.open = 2
                $0.side = .init()
                $0.side?.open = 3
                $0.side?.limits[SessionLimit.settings.rawValue] = 4
                $0.metrics.goAwayReasons = ["Shutdown": 1, "no_error": 2, "Gibberish": 4]
                $0.circuit = 1
            }
        ]
        two.routes = [
            route("b") {
                $0.metrics.open = 7
                $0.metrics.limits[SessionLimit.settings.rawValue] = 1
                $0.metrics.limits[SessionLimit.idleFrames.rawValue] = 2
            },
            route("a") {
                $0.metrics.open = 5
                $0.metrics.goAwayReasons = ["Shutdown": 10, "Other": 20]
                $0.circuit = 2
                $0.circuitOpenings = 3
            },
        ]
        let sums = RouteSums.of([one, two])
        #expect(sums.map(\.name) == ["a", "b"])
        #expect(sums[0].pools.reduce(0) { $0 + $1.open } == 10 && sums[0].sideConnections == 3)
        #expect(sums[0].circuit == 2 && sums[0].circuitOpenings == 3)
        #expect(RouteSums.limits(of: sums).map(\.count) == [0, 0, 2, 0, 0, 5])
        #expect(sums[0].goAways == ["apns_shutdown": 11, "no_error": 2, "other": 24])
        #expect(Set(sums[0].goAways.keys).isSubset(of: WorkerFamilies.goAwayLabels))
    }
}
