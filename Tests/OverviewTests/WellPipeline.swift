import Decisions

@testable import Overview

let now: Int64 = 1_800_000_000_000

/// A pipeline in which all is well: two workers, a retry pod, and two minutes of deliveries.
func well() -> Overview {
    var overview = Overview(nowMs: now)
    for name in ["a:1", "b:2"] {
        var facts = Overview.Pod.Worker()
        facts.lanes = ["urgent", "normal", "bulk"]
        facts.lagByLane = ["urgent": 3, "normal": 10, "bulk": 0]
        facts.oldestMs = ["urgent": 20, "normal": 100]
        facts.rate = 500
        facts.control = 0
        overview.pods.append(
            Overview.Pod(name: name, role: "worker", beatMs: now - 500, detail: .worker(facts)))
    }
    var retry = Overview.Pod.Retry()
    retry.depth = ["1s": 4, "10s": 0]
    overview.pods.append(Overview.Pod(name: "r:1", role: "retry", beatMs: now - 300, detail: .retry(retry)))
    overview.minutes = (0..<10).map { place in
        var counts = Overview.Counts()
        counts[.accepted] = 1000
        counts[.jobs] = 1000
        return Overview.Minute(minute: now / 60_000 - 9 + Int64(place), counts: counts)
    }
    var recent = Overview.Counts()
    recent[.accepted] = 5000
    overview.apps = [Overview.App(name: "shop", seenMs: now, recent: recent)]
    return overview
}

extension Overview {
    mutating func worker(_ name: String, _ change: (inout Pod.Worker) -> Void) {
        guard let place = pods.firstIndex(where: { $0.name == name }),
            case .worker(var facts) = pods[place].detail
        else { return }
        change(&facts)
        pods[place].detail = .worker(facts)
    }

    mutating func pod(_ name: String, _ change: (inout Pod) -> Void) {
        guard let place = pods.firstIndex(where: { $0.name == name }) else { return }
        change(&pods[place])
    }

    /// A reason in each of the last `minutes` minutes.
    mutating func reason(_ label: String, _ count: Int64, minutes: Int = 2) {
        for place in self.minutes.indices.suffix(minutes) {
            self.minutes[place].counts.take(field: "reason:\(label)", count)
        }
    }

    mutating func last(_ field: Counts.Field, _ count: Int64) {
        for place in minutes.indices.suffix(2) { minutes[place].counts[field] = count }
    }

    mutating func app(_ name: String, _ change: (inout Counts) -> Void) {
        if !apps.contains(where: { $0.name == name }) { apps.append(App(name: name)) }
        guard let place = apps.firstIndex(where: { $0.name == name }) else { return }
        change(&apps[place].recent)
    }
}

func findings(_ change: (inout Overview) -> Void) -> [Finding] {
    var overview = well()
    change(&overview)
    return Diagnosis.findings(in: overview)
}

func causes(_ change: (inout Overview) -> Void) -> [Finding.Cause] { findings(change).map(\.cause) }
