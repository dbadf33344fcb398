import Decisions
import EventLoop
import Kafka
import Logging

// How partitions are given up without sending anything twice.
extension TierRunner {
    /// Finishes everything below the highest finished offset of the partitions, then commits, within the
    /// deadline.
    ///
    /// Records that still wait there move to the end of a retry topic: without that the commit would stay
    /// below them, and the next owner would hand over again what lies between. When the time is not enough
    /// the commit covers less, and the workers recognise the second copies by their origin and attempt.
    func drain(_ places: [TopicPartition], deadlineMs: UInt64) {
        let end = Clock.monotonicMs + deadlineMs
        nowMs = Clock.wallMs
        let owned = Set(places.map { Int($0.partition) })
        repeat {
            settleReports()
            nowMs = Clock.wallMs
            moveHeld(of: owned)
            produceReady()
            if isDrained(owned) { break }
            reports.removeAll(keepingCapacity: true)
            _ = producer.drain(into: &reports, timeoutMs: 20, limit: 20_000)
            let ackMs = Clock.wallMs
            for report in reports { settle(report, ackMs: ackMs) }
        } while Clock.monotonicMs < end
        let positions = takeCommits()
        guard !positions.isEmpty else { return }
        let patience = max(500, min(5_000, Int(clamping: end &- min(end, Clock.monotonicMs))))
        for result in consumer.commitAndWait(positions, timeoutMs: patience) where result.outcome == .failed {
            snapshot.commitFailures &+= 1
            forgetCommit(result.position)
        }
    }

    private func isDrained(_ owned: Set<Int>) -> Bool {
        producer.inFlight == 0 && readyFrom >= ready.count
            && owned.allSatisfy { place in
                !partitions.indices.contains(place)
                    || partitions[place].highestFinished < partitions[place].tracker.committable
            }
    }

    private func moveHeld(of owned: Set<Int>) {
        for index in store.slots.indices where store.slots[index].state == .held {
            let record = store.slots[index]
            let place = Int(record.partition)
            guard owned.contains(place), partitions.indices.contains(place) else { continue }
            if record.failures > 0 {
                makeReady(index)
            } else if record.offset < partitions[place].highestFinished {
                if record.dueMs <= nowMs {
                    makeReady(index)
                } else {
                    move(index, toTier: policy.schedule.tier(forWaitMs: record.dueMs - nowMs))
                }
            }
        }
    }

    /// Leaves the group. Abandoned means as after a kill: nothing is produced or committed any more.
    func finish() {
        if !control.isAbandoned {
            consumer.pause(consumer.assignment)
            let patience = control.drainDeadlineMs
            drain(Array(consumer.assignment), deadlineMs: patience)
        }
        publish()
        consumer.close(deadlineMs: control.isAbandoned ? 1_000 : 8_000)
        producer.close(deadlineMs: 0)
        snapshot.isMember = false
        snapshot.partitions = 0
        control.publish(snapshot)
    }
}
