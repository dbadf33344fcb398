internal import EventLoop
internal import Kafka
internal import Logging

// How partitions are given up with as little as possible to repeat.
extension ExpandRunner {
    /// Finishes the pages that are partly out, stores how far the parts have got and commits, within the
    /// deadline. What is not stored by then is written again by the next owner; the workers drop the copies.
    func drain(deadlineMs: UInt64) {
        let end = Clock.monotonicMs + deadlineMs
        let wasStopping = isDraining
        isDraining = true
        defer { isDraining = wasStopping }
        for part in parts { forget(part.retreat()) }
        while Clock.monotonicMs < end {
            loop.runOnce(maxWaitMs: 5)
            work()
            let isOut = plans.values.contains { $0.stage != .noting }
            if pages.isEmpty, burials.isEmpty, !isOut, !parts.contains(where: { $0.isAsking }) { break }
        }
        let positions = takeCommits()
        guard !positions.isEmpty else { return }
        let patience = max(500, min(5_000, Int(clamping: end &- min(end, Clock.monotonicMs))))
        for result in consumer.commitAndWait(positions, timeoutMs: patience) where result.outcome == .failed {
            snapshot.commitFailures &+= 1
            forgetCommit(result.position)
        }
    }

    /// Leaves the group. Abandoned means as after a kill: nothing is produced or committed any more.
    func finish() {
        if !control.isAbandoned {
            consumer.pause(consumer.assignment)
            drain(deadlineMs: settings.drainDeadlineMs)
        }
        publish()
        consumer.close(deadlineMs: control.isAbandoned ? 1_000 : 8_000)
        producer.close(deadlineMs: 0)
        snapshot.isMember = false
        snapshot.partitions = 0
        control.publish(snapshot)
    }
}
