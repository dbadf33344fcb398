import Core
import EventLoop
import Glibc
import Testing

private final class Recorder: IOHandler, TimerHandler, TurnHandler, WakeHandler {
    var events: [IOEvents] = []
    var fired: [UInt64] = []
    var turnEnds = 0
    var wakes = 0
    var onReady: (() -> Void)?

    func ioReady(_ events: IOEvents) {
        self.events.append(events)
        onReady?()
    }
    func timerFired(_ tag: UInt64) { fired.append(tag) }
    func endOfTurn() { turnEnds += 1 }
    func woken() { wakes += 1 }
}

/// Makes turns until the condition holds; false after a minute.
private func turn(_ loop: EventLoop, until condition: () -> Bool) -> Bool {
    let deadline = Clock.monotonicMs + 60_000
    while !condition() {
        if Clock.monotonicMs > deadline { return false }
        loop.runOnce(maxWaitMs: 50)
    }
    return true
}

@Suite struct EventLoopTests {
    @Test func timersFireInOrderOfTheirDueTimeAndNotWhenCancelled() throws {
        let loop = try EventLoop()
        let recorder = Recorder()
        _ = loop.schedule(afterMs: 30, tag: 3, handler: recorder)
        _ = loop.schedule(afterMs: 1, tag: 1, handler: recorder)
        let cancelled = loop.schedule(afterMs: 5, tag: 99, handler: recorder)
        _ = loop.schedule(afterMs: 10, tag: 2, handler: recorder)
        loop.cancel(cancelled)
        loop.cancel(cancelled)
        #expect(turn(loop) { recorder.fired.count == 3 })
        #expect(recorder.fired == [1, 2, 3])
        loop.cancel(cancelled)
        _ = loop.schedule(afterMs: 0, tag: 4, handler: recorder)
        #expect(turn(loop) { recorder.fired.count == 4 })
    }

    @Test func wakesFromOtherThreadsAreCoalesced() throws {
        let loop = try EventLoop()
        let recorder = Recorder()
        loop.addWakeHandler(recorder)
        let waker = loop.waker
        let thread = WorkerThread.start(name: "waker") { for _ in 0..<1000 { waker.wake() } }
        thread.join()
        #expect(turn(loop) { recorder.wakes > 0 })
        loop.runOnce(maxWaitMs: 0)
        #expect(recorder.wakes == 1)
        waker.wake()
        #expect(turn(loop) { recorder.wakes == 2 })
    }

    @Test func aSocketPairIsConnectedReadAndItsEndIsSeen() throws {
        let loop = try EventLoop()
        let listener = try Socket.listen(host: "127.0.0.1", port: 0)
        defer { Socket.close(listener) }
        let client = try Socket.connect(host: "127.0.0.1", port: Socket.port(of: listener))
        let clientSide = Recorder()
        let registration = try loop.add(descriptor: client, interest: .writable, handler: clientSide)
        #expect(turn(loop) { clientSide.events.contains(.writable) })
        #expect(Socket.connectResult(client) == 0)
        loop.setInterest(registration, .readable)

        let server = try #require(Socket.accept(listener))
        #expect(Socket.accept(listener) == nil)
        let text = Array("hello".utf8)
        #expect(text.withUnsafeBytes { Socket.send(server, $0) } == 5)
        clientSide.events = []
        #expect(turn(loop) { clientSide.events.contains(.readable) })
        var buffer = ByteBuffer(capacity: 64)
        buffer.appendWith(minimum: 64) { Socket.recv(client, into: $0) }
        #expect(buffer.text == "hello")
        var spare = [UInt8](repeating: 0, count: 8)
        #expect(Socket.wouldBlock(spare.withUnsafeMutableBytes { Socket.recv(client, into: $0) }))

        Socket.close(server)
        clientSide.events = []
        #expect(turn(loop) { clientSide.events.contains { $0.contains(.hangup) } })
        loop.remove(registration)
        Socket.close(client)
    }

    @Test func anEventForARemovedRegistrationIsDropped() throws {
        let loop = try EventLoop()
        let listener = try Socket.listen(host: "127.0.0.1", port: 0)
        defer { Socket.close(listener) }
        let first = try Socket.connect(host: "127.0.0.1", port: Socket.port(of: listener))
        let second = try Socket.connect(host: "127.0.0.1", port: Socket.port(of: listener))
        let one = Recorder()
        let other = Recorder()
        let firstRegistration = try loop.add(descriptor: first, interest: .writable, handler: one)
        let secondRegistration = try loop.add(descriptor: second, interest: .writable, handler: other)
        // Whichever is called first takes the other away in the same turn.
        one.onReady = { loop.remove(secondRegistration) }
        other.onReady = { loop.remove(firstRegistration) }
        #expect(turn(loop) { !one.events.isEmpty || !other.events.isEmpty })
        #expect(one.events.isEmpty != other.events.isEmpty)
        one.onReady = nil
        other.onReady = nil
        loop.remove(firstRegistration)
        loop.remove(secondRegistration)
        Socket.close(first)
        Socket.close(second)
    }

    @Test func turnHandlersRunOnceATurn() throws {
        let loop = try EventLoop()
        let recorder = Recorder()
        loop.addTurnHandler(recorder)
        loop.runOnce(maxWaitMs: 0)
        let after = recorder.turnEnds
        #expect(after > 0)
        loop.removeTurnHandler(recorder)
        loop.runOnce(maxWaitMs: 0)
        #expect(recorder.turnEnds == after)
    }

    @Test func anInboxHandsOverWholeBatches() throws {
        let loop = try EventLoop()
        let inbox = Inbox<Int>(waker: loop.waker)
        let recorder = Recorder()
        loop.addWakeHandler(recorder)
        let thread = WorkerThread.start(name: "pusher") {
            for index in 0..<10_000 { inbox.push(index) }
            inbox.push(contentsOf: [10_000, 10_001])
        }
        var all: [Int] = []
        var batch: [Int] = []
        #expect(
            turn(loop) {
                inbox.drain(into: &batch)
                all += batch
                return all.count == 10_002
            })
        thread.join()
        #expect(all == Array(0...10_001))
    }

    private final class Sleeper: TimerHandler, StallHandler {
        let loop: EventLoop
        var heard: [String] = []
        var lateMs: UInt64 = 0
        var wasStalling = false
        init(_ loop: EventLoop) { self.loop = loop }
        func timerFired(_ tag: UInt64) {
            heard.append("timer \(tag)")
            guard tag == 1 else { return }
            usleep(120_000)
            wasStalling = loop.isStalling
        }
        func stalled(milliseconds: UInt64) {
            heard.append("stalled")
            lateMs = milliseconds
        }
    }

    @Test func aStandstillIsHeardBeforeAnythingElseOfTheNextTurn() throws {
        let loop = try EventLoop()
        let sleeper = Sleeper(loop)
        loop.stallHandler = sleeper
        // Each of the two keeps the other.
        defer { loop.stallHandler = nil }
        // An intended wait is no standstill.
        loop.stallLimitMs = 80
        loop.runOnce(maxWaitMs: 150)
        #expect(sleeper.heard.isEmpty)
        _ = loop.schedule(afterMs: 0, tag: 1, handler: sleeper)
        _ = loop.schedule(afterMs: 100, tag: 2, handler: sleeper)
        loop.runOnce(maxWaitMs: 0)
        #expect(sleeper.wasStalling)
        #expect(turn(loop) { sleeper.heard.contains("timer 2") })
        #expect(sleeper.heard == ["timer 1", "stalled", "timer 2"])
        #expect(sleeper.lateMs >= 80)
    }

    @Test func aRefusedConnectionSaysSo() throws {
        let listener = try Socket.listen(host: "127.0.0.1", port: 0)
        let port = Socket.port(of: listener)
        Socket.close(listener)
        let loop = try EventLoop()
        let client = try Socket.connect(host: "127.0.0.1", port: port)
        defer { Socket.close(client) }
        let recorder = Recorder()
        let registration = try loop.add(descriptor: client, interest: .writable, handler: recorder)
        #expect(turn(loop) { !recorder.events.isEmpty })
        #expect(Socket.connectResult(client) == 111)
        loop.remove(registration)
        #expect(throws: SystemFailure.self) { _ = try Socket.connect(host: "not-an-address", port: 1) }
    }

    @Test func filesAreWrittenReadAndRemoved() throws {
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-test")
        let path = folder + "/a"
        try Files.write(path: path, text: "grüße", mode: 0o600)
        #expect(try Files.readText(path: path) == "grüße")
        #expect(throws: SystemFailure.self) { _ = try Files.read(path: path, maxBytes: 3) }
        Files.removeTree(folder)
        #expect(!Files.exists(path))
        #expect(throws: SystemFailure.self) { _ = try Files.read(path: path) }
    }
}
