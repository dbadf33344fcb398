import EventLoop
import Testing

@Suite struct BlockingQueueTests {
    @Test func manyConsumersShareWhatComesAndAllLearnOfTheEnd() {
        let queue = BlockingQueue<Int>(capacity: 1000)
        let taken: Locked<[Int]> = Locked([])
        let consumers = (0..<4).map { number in
            WorkerThread.start(name: "consumer-\(number)") {
                while true {
                    switch queue.next(timeoutMs: 60_000) {
                    case .element(let value): taken.withLock { $0.append(value) }
                    case .nothing: continue
                    case .closed: return
                    }
                }
            }
        }
        for value in 0..<500 { #expect(queue.push(value)) }
        queue.close()
        for consumer in consumers { consumer.join() }
        #expect(taken.withLock { $0.sorted() } == Array(0..<500))
        #expect(!queue.push(1) && queue.refusedCount == 1)
    }

    @Test func elementsComeInOrderAndNothingIsSaidOfItsOwnAccord() {
        let queue = BlockingQueue<Int>(capacity: 2)
        #expect(queue.push(1) && queue.push(2) && !queue.push(3))
        guard case .element(1) = queue.next(timeoutMs: 0), case .element(2) = queue.next(timeoutMs: 0),
            case .nothing = queue.next(timeoutMs: 1)
        else {
            Issue.record("another order")
            return
        }
        queue.close()
        guard case .closed = queue.next(timeoutMs: 60_000) else {
            Issue.record("not closed")
            return
        }
    }
}
