import Testing

@testable import HTTP2

/// Every state against every input.
@Suite struct ConnectionMachineTests {
    typealias Machine = ConnectionMachine
    static let timing = Machine.Timing(connectMs: 100, pingIdleMs: 1_000, pingTimeoutMs: 50, drainMs: 500)

    static func machine(_ state: Machine.State) -> Machine {
        var machine = Machine(nowMs: 0, streamsMax: 1_000, timing: timing)
        if state == .connecting { return machine }
        if state == .tunnelling {
            _ = machine.connected(toProxy: true)
            return machine
        }
        _ = machine.connected()
        if state == .handshaking { return machine }
        _ = machine.handshakeDone()
        if state == .awaitingSettings { return machine }
        _ = machine.settings(streamLimit: 10)
        if state == .open { return machine }
        machine.opened()
        _ = machine.retire(.goAway, nowMs: 0)
        if state == .draining { return machine }
        machine.lost()
        return machine
    }

    static let states: [Machine.State] = [
        .connecting, .tunnelling, .handshaking, .awaitingSettings, .open, .draining, .closed,
    ]

    struct Row: Sendable {
        let input: String
        let apply: @Sendable (inout Machine) -> Machine.Action
        /// Action and next state for each of `states`, in order.
        let expected: [(Machine.Action, Machine.State)]
    }

    static let table: [Row] = [
        Row(
            input: "connected", apply: { $0.connected() },
            expected: [
                (.startHandshake, .handshaking), (.none, .tunnelling), (.none, .handshaking),
                (.none, .awaitingSettings),
                (.none, .open), (.none, .draining), (.none, .closed),
            ]),
        Row(
            input: "connected to a proxy", apply: { $0.connected(toProxy: true) },
            expected: [
                (.startTunnel, .tunnelling), (.none, .tunnelling), (.none, .handshaking),
                (.none, .awaitingSettings), (.none, .open), (.none, .draining), (.none, .closed),
            ]),
        Row(
            input: "tunnelled", apply: { $0.tunnelled() },
            expected: [
                (.none, .connecting), (.startHandshake, .handshaking), (.none, .handshaking),
                (.none, .awaitingSettings), (.none, .open), (.none, .draining), (.none, .closed),
            ]),
        Row(
            input: "about to send after a silence", apply: { $0.aboutToSend(nowMs: 1_000) },
            expected: [
                (.none, .connecting), (.none, .tunnelling), (.none, .handshaking),
                (.none, .awaitingSettings), (.sendPing, .open), (.none, .draining), (.none, .closed),
            ]),
        Row(
            input: "handshakeDone", apply: { $0.handshakeDone() },
            expected: [
                (.none, .connecting), (.none, .tunnelling), (.startSession, .awaitingSettings),
                (.none, .awaitingSettings),
                (.none, .open), (.none, .draining), (.none, .closed),
            ]),
        Row(
            input: "settings", apply: { $0.settings(streamLimit: 5) },
            expected: [
                (.none, .connecting), (.none, .tunnelling), (.none, .handshaking), (.becameUsable, .open),
                (.none, .open),
                (.none, .draining), (.none, .closed),
            ]),
        Row(
            input: "retire", apply: { $0.retire(.goAway, nowMs: 0) },
            expected: [
                (.close(.goAway), .closed), (.close(.goAway), .closed), (.close(.goAway), .closed),
                (.retire(.goAway), .draining),
                (.retire(.goAway), .draining), (.none, .draining), (.none, .closed),
            ]),
        Row(
            input: "requestTimedOut", apply: { $0.requestTimedOut(nowMs: 1_000) },
            expected: [
                (.none, .connecting), (.none, .tunnelling), (.none, .handshaking), (.none, .awaitingSettings),
                (.sendPing, .open),
                (.sendPing, .draining), (.none, .closed),
            ]),
        Row(
            input: "tick before any deadline", apply: { $0.tick(nowMs: 99) },
            expected: [
                (.none, .connecting), (.none, .tunnelling), (.none, .handshaking), (.none, .awaitingSettings),
                (.none, .open),
                (.none, .draining), (.none, .closed),
            ]),
        Row(
            input: "tick after the connect deadline", apply: { $0.tick(nowMs: 100) },
            expected: [
                (.close(.connectTimedOut), .closed), (.close(.connectTimedOut), .closed),
                (.close(.connectTimedOut), .closed),
                (.close(.connectTimedOut), .closed), (.none, .open), (.none, .draining), (.none, .closed),
            ]),
        Row(
            input: "tick after a long silence", apply: { $0.tick(nowMs: 1_000) },
            expected: [
                (.close(.connectTimedOut), .closed), (.close(.connectTimedOut), .closed),
                (.close(.connectTimedOut), .closed),
                (.close(.connectTimedOut), .closed), (.sendPing, .open), (.close(.drainTimedOut), .closed),
                (.none, .closed),
            ]),
        Row(
            input: "streams closed, then tick",
            apply: {
                $0.streamsClosed(1)
                return $0.tick(nowMs: 50)
            },
            expected: [
                (.none, .connecting), (.none, .tunnelling), (.none, .handshaking), (.none, .awaitingSettings),
                (.none, .open),
                (.close(.drained), .closed), (.none, .closed),
            ]),
        Row(
            input: "lost",
            apply: {
                $0.lost()
                return .none
            },
            expected: states.map { _ in (.none, .closed) }),
    ]

    @Test func everyStateAnswersEveryInputAsTheTableSays() {
        for row in Self.table {
            for (state, expected) in zip(Self.states, row.expected) {
                var machine = Self.machine(state)
                let action = row.apply(&machine)
                #expect(action == expected.0, "\(row.input) in \(state)")
                #expect(machine.state == expected.1, "\(row.input) in \(state)")
            }
        }
    }

    @Test func onlyAnOpenConnectionHasCapacityAndItFollowsTheLimit() {
        for state in Self.states {
            let machine = Self.machine(state)
            #expect(machine.capacity == (state == .open ? 10 : 0))
        }
        var machine = Self.machine(.open)
        for _ in 0..<8 { machine.opened() }
        #expect(machine.capacity == 2)
        _ = machine.settings(streamLimit: 1)
        #expect(machine.capacity == 0)
        machine.streamsClosed(8)
        #expect(machine.capacity == 1)
        _ = machine.settings(streamLimit: .max)
        #expect(machine.capacity == 1_000)
    }

    @Test func anUnansweredPingClosesAndAnAnsweredOneDoesNot() {
        var machine = Self.machine(.open)
        #expect(machine.tick(nowMs: 1_000) == .sendPing)
        #expect(machine.tick(nowMs: 1_049) == .none)
        var answered = machine
        answered.pingAcked()
        answered.received(nowMs: 1_049)
        #expect(answered.tick(nowMs: 1_050) == .none)
        #expect(answered.tick(nowMs: 2_048) == .none)
        #expect(answered.tick(nowMs: 2_049) == .sendPing)
        #expect(machine.tick(nowMs: 1_050) == .close(.pingTimedOut))
    }

    @Test func threeSilentTimeoutsCloseAndAnyByteStartsTheCountAnew() {
        var machine = Self.machine(.open)
        _ = machine.requestTimedOut(nowMs: 10)
        _ = machine.requestTimedOut(nowMs: 10)
        machine.received(nowMs: 11)
        _ = machine.requestTimedOut(nowMs: 12)
        _ = machine.requestTimedOut(nowMs: 12)
        #expect(machine.state == .open)
        #expect(machine.requestTimedOut(nowMs: 12) == .close(.unresponsive))
    }

    @Test func aQuietConnectionHasAPingPolicyOfItsOwn() {
        var timing = Self.timing
        timing.pingQuietMs = 5_000
        var machine = Machine(nowMs: 0, streamsMax: 10, timing: timing)
        _ = machine.connected()
        _ = machine.handshakeDone()
        _ = machine.settings(streamLimit: 10)
        #expect(machine.tick(nowMs: 4_999) == .none)
        var busy = machine
        busy.opened()
        #expect(busy.tick(nowMs: 1_000) == .sendPing)
        #expect(machine.tick(nowMs: 5_000) == .sendPing)
        timing.pingQuietMs = 0
        var never = Machine(nowMs: 0, streamsMax: 10, timing: timing)
        _ = never.connected()
        _ = never.handshakeDone()
        _ = never.settings(streamLimit: 10)
        #expect(never.tick(nowMs: 1_000_000) == .none)
        #expect(never.aboutToSend(nowMs: 1_000_000) == .sendPing)
        #expect(never.aboutToSend(nowMs: 1_000_000) == .none)
    }

    @Test func aGatedConnectionSendsOneRequestUntilAnAnswerSpeaksForTheCredential() {
        var machine = Machine(nowMs: 0, streamsMax: 1_000, timing: Self.timing, isGated: true)
        _ = machine.connected()
        _ = machine.handshakeDone()
        #expect(machine.capacity == 0)
        _ = machine.settings(streamLimit: 100)
        #expect(machine.capacity == 1)
        machine.opened()
        #expect(machine.capacity == 0)
        machine.streamsClosed(1)
        for status: UInt16 in [401, 403, 500, 503] {
            machine.answered(status: status)
            #expect(machine.capacity == 1, "status \(status)")
        }
        machine.answered(status: 400)
        #expect(machine.capacity == 100)
    }

    @Test func aPolicyWithoutPingsSendsNone() {
        var timing = Self.timing
        timing.pingIdleMs = 0
        var machine = Machine(nowMs: 0, streamsMax: 10, timing: timing)
        _ = machine.connected()
        _ = machine.handshakeDone()
        _ = machine.settings(streamLimit: 10)
        #expect(machine.tick(nowMs: 1_000_000) == .none)
        #expect(machine.requestTimedOut(nowMs: 1_000_000) == .none)
    }
}

@Suite struct ConnectBackoffTests {
    @Test func waitsDoubleFromTheFirstToTheLongestWithinTheJitter() {
        var backoff = ConnectBackoff(firstMs: 1_000, maxMs: 60_000)
        #expect(backoff.mayConnect(nowMs: 0))
        for (index, nominal) in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].enumerated() {
            var low = backoff
            low.failed(nowMs: 0, random: 0)
            #expect(low.notBeforeMs == UInt64(nominal - nominal / 4))
            backoff.failed(nowMs: 0, random: UInt64(nominal / 2))
            #expect(backoff.notBeforeMs == UInt64(nominal + nominal / 4))
            #expect(backoff.failures == index + 1)
            #expect(!backoff.mayConnect(nowMs: backoff.notBeforeMs - 1))
            #expect(backoff.mayConnect(nowMs: backoff.notBeforeMs))
        }
        backoff.succeeded()
        #expect(backoff.failures == 0 && backoff.mayConnect(nowMs: 0))
    }

    @Test func aThousandFailuresDoNotOverflow() {
        var backoff = ConnectBackoff(firstMs: 1_000, maxMs: 60_000)
        for _ in 0..<1_000 { backoff.failed(nowMs: 5, random: .max) }
        #expect(backoff.notBeforeMs <= 5 + 75_000)
    }
}

@Suite struct DeadlineWheelTests {
    @Test func everyDeadlineFiresOnceNeverEarlyAndAtMostTwoTicksLate() {
        var wheel = DeadlineWheel(nowMs: 1_000)
        var random: UInt64 = 42
        var deadlines: [UInt64] = []
        for index in 0..<5_000 {
            random = random &* 6_364_136_223_846_793_005 &+ 1
            // Some beyond the wheel's horizon, some already past.
            deadlines.append(900 + (random >> 33) % 100_000)
            wheel.insert(Int32(index), deadlineMs: deadlines[index])
        }
        var firedAt = [UInt64](repeating: 0, count: deadlines.count)
        var now: UInt64 = 1_000
        var due: [Int32] = []
        while wheel.count > 0, now < 200_000 {
            now += 7
            wheel.expire(nowMs: now, into: &due)
            for index in due {
                #expect(firedAt[Int(index)] == 0)
                firedAt[Int(index)] = now
            }
            due.removeAll()
        }
        #expect(wheel.count == 0)
        for (deadline, fired) in zip(deadlines, firedAt) {
            #expect(fired >= deadline)
            #expect(fired <= max(deadline, 1_000) + 2 * DeadlineWheel.tickMs + 7)
        }
    }

    @Test func removedSlotsDoNotFireAndALongPauseFiresAll() {
        var wheel = DeadlineWheel(nowMs: 0)
        for index in 0..<Int32(1_000) { wheel.insert(index, deadlineMs: UInt64(index) * 10) }
        for index in stride(from: Int32(0), to: 1_000, by: 2) { wheel.remove(index) }
        wheel.remove(0)
        wheel.remove(5_000)
        var due: [Int32] = []
        wheel.expire(nowMs: 10_000_000, into: &due)
        #expect(due.sorted() == Array(stride(from: Int32(1), to: 1_000, by: 2)))
        #expect(wheel.count == 0)
    }
}

@Suite struct FieldBytesTests {
    @Test func everyControlByteIsFoundAtEveryPlace() {
        for length in 1...20 {
            for place in 0..<length {
                for byte in UInt8.min...UInt8.max {
                    var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                    bytes[place] = byte
                    let isClean = bytes.withUnsafeBufferPointer { buffer in
                        buffer.baseAddress.map { FieldBytes.isClean($0, length) }
                    }
                    if isClean != (byte >= 0x20 && byte != 0x7F) {
                        Issue.record("byte \(byte) at \(place) of \(length)")
                        return
                    }
                }
            }
        }
    }
}

@Suite struct RequestHeaderTests {
    @Test func everyKnownNameIsFoundAndANearMissIsNot() {
        for header in RequestHeader.allCases {
            var name = Array("\(header.name)".utf8)
            #expect(
                name.withUnsafeBufferPointer { b in b.baseAddress.flatMap { RequestHeader.match($0, b.count) }
                } == header)
            name[name.count - 1] = UInt8(ascii: "~")
            #expect(
                name.withUnsafeBufferPointer { b in b.baseAddress.flatMap { RequestHeader.match($0, b.count) }
                } == nil)
        }
        #expect(RequestHeader.allCases.count == RequestHeader.count)
    }
}
