internal import CLinux
internal import Core
internal import Glibc

/// What a descriptor is ready for, or what its owner waits for.
package struct IOEvents: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let readable = IOEvents(rawValue: 1)
    package static let writable = IOEvents(rawValue: 2)
    /// The peer closed or the socket failed. Always reported.
    package static let hangup = IOEvents(rawValue: 4)
}

/// Hears of a descriptor's readiness, on the loop's thread.
package protocol IOHandler: AnyObject {
    /// The descriptor is ready for `events`.
    func ioReady(_ events: IOEvents)
}

/// Hears of timers, on the loop's thread.
package protocol TimerHandler: AnyObject {
    /// The timer with this tag is due.
    func timerFired(_ tag: UInt64)
}

/// Runs once at the end of each turn, before the loop waits: the place to flush batched writes.
package protocol TurnHandler: AnyObject {
    /// The turn's events have been handled.
    func endOfTurn()
}

/// Hears that ``Waker/wake()`` was called, once for any number of calls before the turn.
package protocol WakeHandler: AnyObject {
    /// Another thread asked for attention.
    func woken()
}

/// Hears that a loop stood still, on the loop's thread.
package protocol StallHandler: AnyObject {
    /// The loop was late by that many milliseconds. Nothing of the turn has been handled yet.
    func stalled(milliseconds: UInt64)
}

/// A descriptor's place in a loop. The generation tells a reused descriptor from the one that was meant.
package struct Registration: Sendable, Equatable {
    let descriptor: Int32
    let generation: UInt32
}

/// Wakes a loop from any thread.
package struct Waker: Sendable {
    private let event: WakeEvent
    init(event: WakeEvent) { self.event = event }

    /// Makes the loop call its wake handlers soon. Costs one system call unless a wake is already pending.
    package func wake() { event.signal() }
}

/// The eventfd behind a loop's wakers. It outlives the loop while a waker holds it.
final class WakeEvent: Sendable {
    let descriptor: Int32
    private let pending = Locked(false)

    init() throws(SystemFailure) { descriptor = try SystemFailure.check(peal_eventfd(), "make an eventfd") }
    deinit { close(descriptor) }

    func signal() {
        let first = pending.withLock { (flag: inout Bool) -> Bool in
            defer { flag = true }
            return !flag
        }
        if first { peal_eventfd_signal(descriptor) }
    }

    func drain() {
        peal_eventfd_drain(descriptor)
        pending.withLock { $0 = false }
    }
}

/// One thread's event loop over epoll, an eventfd and a timer heap.
///
/// - Threading: everything but ``waker`` belongs to the thread that runs the loop.
/// - Cost: one `epoll_wait` a turn; no allocation a turn in steady state.
package final class EventLoop {
    private struct Entry {
        var handler: (any IOHandler)?
        var generation: UInt32 = 0
        var interest: IOEvents = []
    }

    private static let eventsMax = 256
    private static let wakeData = UInt64.max

    private let poller: Int32
    private let wakeEvent: WakeEvent
    /// Wakes this loop from any thread.
    package let waker: Waker
    // Indexed by descriptor, as descriptors are small and dense.
    private var entries: [Entry] = []
    private var turnHandlers: [any TurnHandler] = []
    private var wakeHandlers: [any WakeHandler] = []
    private var timers = TimerHeap()
    private var running = false
    private var readyEvents = [UInt32](repeating: 0, count: eventsMax)
    private var readyData = [UInt64](repeating: 0, count: eventsMax)
    /// Monotonic milliseconds, read once a turn.
    package private(set) var nowMs: UInt64 = Clock.monotonicMs
    /// Hears, before anything else of the turn, that the loop stood still for longer than ``stallLimitMs``:
    /// the process was stopped, or a handler held the thread. The loop keeps it.
    package var stallHandler: (any StallHandler)?
    /// Milliseconds beyond the intended wait that count as standing still.
    package var stallLimitMs: UInt64 = .max
    /// Whether this very turn has stood still: what is done in portions asks between them. One clock read.
    package var isStalling: Bool { Clock.monotonicMs &- nowMs > stallLimitMs }
    private var lastTurnMs: UInt64 = Clock.monotonicMs
    /// Turns made so far, for statistics.
    package private(set) var turns: UInt64 = 0

    /// Makes a loop.
    /// - Throws: when the kernel refuses a descriptor.
    package init() throws(SystemFailure) {
        let wakeEvent = try WakeEvent()
        let poller = try SystemFailure.check(peal_epoll_create(), "make an epoll descriptor")
        self.wakeEvent = wakeEvent
        self.poller = poller
        waker = Waker(event: wakeEvent)
        let added = peal_epoll_add(poller, wakeEvent.descriptor, UInt32(EPOLLIN.rawValue), Self.wakeData)
        _ = try SystemFailure.check(added, "watch the eventfd")
    }

    deinit { close(poller) }

    // MARK: Descriptors

    /// Starts to watch a descriptor. The loop keeps the handler alive until ``remove(_:)``.
    package func add(
        descriptor: Int32, interest: IOEvents, handler: any IOHandler
    ) throws(SystemFailure) -> Registration {
        let index = Int(descriptor)
        while entries.count <= index { entries.append(Entry()) }
        entries[index].generation &+= 1
        let registration = Registration(descriptor: descriptor, generation: entries[index].generation)
        let code = peal_epoll_add(poller, descriptor, Self.mask(interest), Self.data(registration))
        _ = try SystemFailure.check(code, "watch descriptor \(descriptor)")
        entries[index].handler = handler
        entries[index].interest = interest
        return registration
    }

    /// Changes what the descriptor's owner waits for. A stale registration is ignored.
    package func setInterest(_ registration: Registration, _ interest: IOEvents) {
        let index = Int(registration.descriptor)
        guard isCurrent(registration), entries[index].interest != interest else { return }
        entries[index].interest = interest
        _ = peal_epoll_mod(poller, registration.descriptor, Self.mask(interest), Self.data(registration))
    }

    /// Stops watching; the descriptor stays open and belongs to the caller. A stale registration is ignored.
    package func remove(_ registration: Registration) {
        guard isCurrent(registration) else { return }
        _ = peal_epoll_del(poller, registration.descriptor)
        entries[Int(registration.descriptor)].handler = nil
        entries[Int(registration.descriptor)].generation &+= 1
    }

    private func isCurrent(_ registration: Registration) -> Bool {
        let index = Int(registration.descriptor)
        return index < entries.count && entries[index].generation == registration.generation
            && entries[index].handler != nil
    }

    private static func data(_ registration: Registration) -> UInt64 {
        UInt64(registration.generation) << 32 | UInt64(UInt32(bitPattern: registration.descriptor))
    }

    private static func mask(_ interest: IOEvents) -> UInt32 {
        var mask: UInt32 = 0
        if interest.contains(.readable) { mask |= UInt32(EPOLLIN.rawValue) | UInt32(EPOLLRDHUP.rawValue) }
        if interest.contains(.writable) { mask |= UInt32(EPOLLOUT.rawValue) }
        return mask
    }

    // MARK: Timers and hooks

    /// Calls the handler once, `afterMs` milliseconds after the start of this turn. The loop keeps it alive
    /// till then.
    package func schedule(afterMs: UInt64, tag: UInt64, handler: any TimerHandler) -> TimerID {
        timers.add(atMs: nowMs &+ afterMs, tag: tag, handler: handler)
    }

    /// Takes a timer back; one that has fired is ignored.
    package func cancel(_ id: TimerID) { timers.cancel(id) }

    /// Adds a handler that runs at the end of every turn.
    package func addTurnHandler(_ handler: any TurnHandler) { turnHandlers.append(handler) }

    /// Takes a turn handler back.
    package func removeTurnHandler(_ handler: any TurnHandler) { turnHandlers.removeAll { $0 === handler } }

    /// Adds a handler that runs when the loop was woken.
    package func addWakeHandler(_ handler: any WakeHandler) { wakeHandlers.append(handler) }

    /// Takes a wake handler back.
    package func removeWakeHandler(_ handler: any WakeHandler) { wakeHandlers.removeAll { $0 === handler } }

    // MARK: Running

    /// Makes turns until ``stop()``.
    package func run() {
        running = true
        while running { runOnce(maxWaitMs: 60_000) }
    }

    /// Ends ``run()`` after this turn. On the loop's thread only.
    package func stop() { running = false }

    /// Makes one turn: waits at most `maxWaitMs`, handles events, wakes, timers, then the turn handlers.
    package func runOnce(maxWaitMs: Int) {
        flushTurn()
        nowMs = Clock.monotonicMs
        var wait = max(0, maxWaitMs)
        if let due = timers.nextDueMs { wait = min(wait, due > nowMs ? Int(clamping: due - nowMs) : 0) }
        let count = waitForEvents(Int32(clamping: wait))
        nowMs = Clock.monotonicMs
        let stoodStillMs = (nowMs &- lastTurnMs).subtractingReportingOverflow(UInt64(wait))
        lastTurnMs = nowMs
        if !stoodStillMs.overflow, stoodStillMs.partialValue > stallLimitMs {
            stallHandler?.stalled(milliseconds: stoodStillMs.partialValue)
        }
        turns &+= 1
        var wasWoken = false
        for index in 0..<count {
            let data = readyData[index]
            if data == Self.wakeData {
                wakeEvent.drain()
                wasWoken = true
            } else {
                dispatch(data, readyEvents[index])
            }
        }
        if wasWoken { for handler in wakeHandlers { handler.woken() } }
        while let timer = timers.popDue(nowMs: nowMs) { timer.handler.timerFired(timer.tag) }
        flushTurn()
    }

    private func flushTurn() {
        for handler in turnHandlers { handler.endOfTurn() }
    }

    private func waitForEvents(_ timeoutMs: Int32) -> Int {
        let count = unsafe readyEvents.withUnsafeMutableBufferPointer { events in
            unsafe readyData.withUnsafeMutableBufferPointer { data in
                unsafe peal_epoll_wait(
                    poller, events.baseAddress, data.baseAddress, Int32(Self.eventsMax), timeoutMs)
            }
        }
        // A failed wait on our own descriptor can only be a bug of this class.
        precondition(count >= 0, "epoll_wait failed with errno \(-count)")
        return Int(count)
    }

    private func dispatch(_ data: UInt64, _ raw: UInt32) {
        let index = Int(data & 0xFFFF_FFFF)
        guard index < entries.count, entries[index].generation == UInt32(truncatingIfNeeded: data >> 32),
            let handler = entries[index].handler
        else { return }
        var events: IOEvents = []
        if raw & UInt32(EPOLLIN.rawValue) != 0 { events.insert(.readable) }
        if raw & UInt32(EPOLLOUT.rawValue) != 0 { events.insert(.writable) }
        let gone = UInt32(EPOLLHUP.rawValue) | UInt32(EPOLLERR.rawValue) | UInt32(EPOLLRDHUP.rawValue)
        if raw & gone != 0 { events.insert(.hangup) }
        // An earlier event of the same turn may have changed what the owner waits for.
        events.formIntersection(entries[index].interest.union(.hangup))
        if !events.isEmpty { handler.ioReady(events) }
    }
}
