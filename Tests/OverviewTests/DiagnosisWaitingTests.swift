import Core
import Decisions
import Registry
import Testing

@testable import Overview

@Suite struct DiagnosisWaitingTests {
    @Test func aFloodInTheBulkLaneIsNoTrouble() {
        let found = findings {
            $0.worker("a:1") {
                $0.lagByLane["bulk"] = 2_000_000
                $0.oldestMs["bulk"] = 900_000
            }
        }
        #expect(found.map(\.cause) == [.bulkBacklog] && found.first?.severity == .info)
        #expect(found.first?.sentence.contains("2,000,000 jobs wait, the oldest for 15 min") == true)
    }

    @Test func lagWithoutAnotherCauseIsALackOfWorkers() {
        let found = findings {
            $0.worker("a:1") {
                $0.lagByLane["urgent"] = 500
                $0.oldestMs["urgent"] = 20_000
            }
        }
        #expect(found.map(\.cause) == [.lagGrowing] && found.first?.subject == .lane("urgent"))
        #expect(found.first?.severity == .warning && found.first?.sinceMs == now - 20_000)
        #expect(found.first?.sentence.contains("2 workers do 1,000/s and nothing holds them up") == true)
        #expect(
            causes {
                $0.worker("a:1") {
                    $0.lagByLane["normal"] = 500
                    $0.oldestMs["normal"] = 20_000
                }
            } == [])
    }

    @Test func lagThatHasACauseIsToldWithIt() {
        let found = findings { overview in
            overview.worker("a:1") {
                $0.circuits = ["apns/production/T/K"]
                $0.lagByLane["normal"] = 12_000
                $0.oldestMs["normal"] = 90_000
            }
            overview.worker("b:2") { $0.circuits = ["apns/production/T/K"] }
        }
        #expect(found.map(\.cause) == [.providerUnavailable])
        #expect(
            found.first?.sentence.hasSuffix("; 12,010 jobs wait, the oldest for 90 s in the normal lane.")
                == true)
    }

    @Test func whatGrowsAndWhatIsWorkedOffIsSeenOverTime() {
        func watch(_ from: Int64, _ to: Int64) -> Finding? {
            var diagnosis = Diagnosis()
            var overview = well()
            var last: [Finding] = []
            for step in 0...20 {
                overview.nowMs = now + Int64(step) * 1000
                let beat = overview.nowMs
                for name in ["a:1", "b:2", "r:1"] { overview.pod(name) { $0.beatMs = beat } }
                overview.worker("a:1") {
                    $0.lagByLane["normal"] = from + (to - from) * Int64(step) / 20
                    $0.oldestMs["normal"] = 90_000
                }
                last = diagnosis.take(overview)
            }
            #expect(last.map(\.cause) == [.lagGrowing])
            return last.first
        }
        let growing = watch(1000, 9000)
        #expect(growing?.severity == .critical && growing?.sentence.contains("more than 20 s ago") == true)
        let falling = watch(9000, 1000)
        #expect(falling?.severity == .info && falling?.sentence.contains("getting fewer") == true)
        #expect(watch(5000, 5000)?.severity == .warning)
    }

    @Test func withoutARetryPodWhatWaitsIsNeverTriedAgain() {
        let found = findings { overview in
            overview.pods.removeAll { $0.role == "retry" }
            overview.last(.retried, 5)
        }
        #expect(found.map(\.cause) == [.retryBacklog] && found.first?.severity == .critical)
        #expect(causes { $0.pods.removeAll { $0.role == "retry" } } == [])
        func retry(_ change: (inout Overview.Pod.Retry) -> Void) -> [Finding] {
            findings { overview in
                var facts = Overview.Pod.Retry()
                change(&facts)
                overview.pod("r:1") { $0.detail = .retry(facts) }
            }
        }
        #expect(retry { $0.dueErrorP99Ms = 30_000 }.map(\.severity) == [.warning])
        #expect(retry { $0.depth = ["1h": 50_000] }.map(\.severity) == [.info])
        #expect(retry { $0.depth = ["1h": 50] } == [])
    }

    @Test func aBroadcastNeedsAStageThatGoesOn() {
        func cast(_ recipients: Int64, state: String = "running") -> Overview.Broadcast? {
            BroadcastStatus(fields: [
                (field: "state", value: state), (field: "parts", value: "8"), (field: "done", value: "2"),
                (field: "n", value: "\(recipients)"), (field: "started_ms", value: "\(now - 60_000)"),
            ]).map { Overview.Broadcast(app: "shop", id: "sale", status: $0) }
        }
        let without = findings { $0.broadcasts = [cast(5)].compactMap { $0 } }
        #expect(without.map(\.cause) == [.broadcastStuck] && without.first?.sinceMs == now - 60_000)
        #expect(causes { $0.broadcasts = [cast(5, state: "done")].compactMap { $0 } } == [])
        func watch(_ step: Int64) -> [Finding.Cause] {
            var diagnosis = Diagnosis()
            var overview = well()
            overview.pods.append(
                Overview.Pod(name: "e:1", role: "expand", beatMs: now, detail: .expand(.init())))
            var last: [Finding] = []
            for second in 0...130 {
                overview.nowMs = now + Int64(second) * 1000
                let beat = overview.nowMs
                for name in ["a:1", "b:2", "r:1", "e:1"] {
                    overview.pod(name) { $0.beatMs = beat }
                }
                overview.broadcasts = [cast(5 + Int64(second) * step)].compactMap { $0 }
                last = diagnosis.take(overview)
            }
            return last.map(\.cause)
        }
        #expect(watch(1) == [] && watch(0) == [.broadcastStuck])
    }

    @Test func whatAnOperatorPausedIsToldWithItsLever() {
        let found = findings { overview in
            overview.control = ControlState(fields: [
                (
                    field: "app:shop",
                    value: #"{"action":"pause","by":"anna","at_ms":\#(now - 90_000),"reason":"typo"}"#
                ),
                (field: "campaign:shop:gone", value: #"{"action":"cancel","by":"","at_ms":1,"reason":""}"#),
                (
                    field: "provider:fcm",
                    value: #"{"action":"pause","by":"","at_ms":1,"reason":"","until_ms":\#(now - 1)}"#
                ),
            ])
        }
        #expect(found.map(\.cause) == [.paused] && found.first?.severity == .info)
        #expect(found.first?.sentence == "App shop is paused by anna: typo.")
        #expect(found.first?.lever == "peal control resume --app shop")
        #expect(found.first?.sinceMs == now - 90_000)
        let late = findings { overview in
            overview.control = ControlState(fields: [
                (field: "version", value: "7"),
                (field: "provider:fcm:shop", value: #"{"action":"pause","at_ms":\#(now - 30_000)}"#),
            ])
            overview.worker("a:1") { $0.control = 7 }
        }
        #expect(late.map(\.severity) == [.warning, .info])
        #expect(late.first?.subject == .pod("b:2"))
        #expect(late.last?.lever == "peal control resume --provider fcm --app shop")
    }

    // MARK: All together

    @Test func theWorstComesFirstAndCausesBeforeConsequences() {
        let found = findings { overview in
            overview.worker("a:1") {
                $0.redis = "not connected"
                $0.circuits = ["apns/production/T/K"]
                $0.faults = ["the certificate of apns/production/x expires in 3 days and 2 hours"]
                $0.lagByLane["bulk"] = 5000
                $0.oldestMs["bulk"] = 700_000
            }
            overview.worker("b:2") { $0.redis = "not connected" }
            overview.last(.dead, 1)
            overview.last(.failed, 1)
            overview.reason("breaker_open", 1)
        }
        #expect(
            found.map(\.cause) == [
                .redisAway, .tokenStorm, .providerUnavailable, .credentialExpiring, .poisonJobs,
            ])
        #expect(found.map(\.severity) == [.critical, .critical, .warning, .warning, .info])
        #expect(found.first?.sentence.contains("in the bulk lane") == true)
    }

    @Test func sinceIsRememberedWhereNothingTellsIt() {
        var diagnosis = Diagnosis()
        var overview = well()
        #expect(diagnosis.take(overview) == [])
        overview.nowMs += 1000
        overview.worker("a:1") { $0.redis = "slow" }
        #expect(diagnosis.take(overview).first?.sinceMs == now + 1000)
        overview.nowMs += 4000
        #expect(diagnosis.take(overview).first?.sinceMs == now + 1000)
        overview.worker("a:1") { $0.redis = "" }
        #expect(diagnosis.take(overview) == [])
        // What was there at the first look began at some time before.
        var late = Diagnosis()
        overview.worker("a:1") { $0.redis = "slow" }
        #expect(late.take(overview).first?.sinceMs == nil)
        overview.nowMs += 1000
        #expect(late.take(overview).first?.sinceMs == nil)
    }

    @Test func oddDataIsBornWithoutATrapAndBounded() {
        var overview = well()
        overview.pods += (0..<500).map { place in
            Overview.Pod(name: "x\(place):1", role: place % 2 == 0 ? "worker" : "", beatMs: 0)
        }
        var facts = Overview.Pod.Worker()
        facts.lagByLane = ["": .max, "urgent": .max, "bulk": .max]
        facts.oldestMs = ["": .max, "urgent": .max, "bulk": .max]
        facts.rate = .greatestFiniteMagnitude
        facts.circuits = ["", "//"]
        facts.faults = ["", "has expired", " has no usable token"]
        overview.pods.append(
            Overview.Pod(name: "", role: "worker", beatMs: .max / 2, detail: .worker(facts)))
        overview.reason("no such reason", .max)
        overview.reason("apns_5xx", .max)
        overview.last(.dead, .max)
        overview.app("") { $0[.retried] = .max }
        var diagnosis = Diagnosis()
        for step in 0..<30 {
            overview.nowMs = now + Int64(step) * 1000
            #expect(diagnosis.take(overview).count <= Diagnosis.findingsMax)
        }
        overview.nowMs = 0
        _ = diagnosis.take(overview)
        overview.minutes = []
        _ = diagnosis.take(overview)
        #expect(Finding.unreadable("x").json.text.contains("\"cause\":\"redis_away\""))
    }
}
