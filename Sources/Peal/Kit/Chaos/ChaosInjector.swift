internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Redis

/// Carries a schedule out on a stack.
///
/// - Threading: the run's thread; ``step(nowMs:)`` blocks for no longer than a fault takes to begin.
final class ChaosInjector {
    private let stack: ChaosStack
    private let schedule: ChaosSchedule
    private let say: (String) -> Void
    private(set) var injections: [ChaosHistory.Injection] = []
    /// What could not be done, as sentences.
    private(set) var notes: [String] = []
    private var next = 0
    /// Places in ``injections`` of what has begun and not ended.
    private var active: [Int] = []

    init(_ stack: ChaosStack, _ schedule: ChaosSchedule, say: @escaping (String) -> Void) {
        self.stack = stack
        self.schedule = schedule
        self.say = say
    }

    /// Whether all faults have begun and ended.
    var isDone: Bool { next == schedule.faults.count && active.isEmpty }

    /// Begins and ends what is due `nowMs` after the start of the schedule.
    func step(nowMs: Int) throws(StackFailure) {
        for place in active where injections[place].fault.endMs <= nowMs {
            guard try end(injections[place].fault) else { continue }
            injections[place].toMs = Clock.wallMs
            active.removeAll { $0 == place }
        }
        while next < schedule.faults.count, schedule.faults[next].atMs <= nowMs {
            let fault = schedule.faults[next]
            next += 1
            let slot = fault.kind.hasSlot ? " \(fault.slot + 1)" : ""
            let name = fault.kind.rawValue + slot
            say("fault \(next)/\(schedule.faults.count) \(name) for \(fault.durationMs) ms")
            injections.append(ChaosHistory.Injection(fault: fault, fromMs: Clock.wallMs))
            active.append(injections.count - 1)
            begin(fault)
        }
    }

    // MARK: - Beginning

    private func begin(_ fault: ChaosFault) {
        switch fault.kind.resource(slot: fault.slot) {
        case .worker: begin(fault, stack.workers[fault.slot])
        case .retry: begin(fault, stack.retry)
        case .provider: beginProvider(fault)
        case .redis: beginRedis(fault)
        case .link: beginLink(fault, stack.providerRoutes(fault.slot))
        case .redisLink: beginLink(fault, stack.redisRoutes(fault.slot))
        case .broker: beginBroker(fault)
        }
    }

    private func begin(_ fault: ChaosFault, _ program: ChaosProgram) {
        switch fault.kind {
        case .workerKill, .retryKill: program.kill()
        case .workerPause, .workerZombie, .retryPause: program.pause()
        case .workerStop, .retryStop: program.askToStop(withinMs: 20_000)
        default: break
        }
    }

    private func beginLink(_ fault: ChaosFault, _ routes: [Int]) {
        switch fault.kind {
        case .linkReset, .redisLinkReset: stack.proxy.reset(routes)
        case .linkStall, .redisLinkStall: stack.proxy.set(routes, .stalled)
        case .linkDelay, .redisLinkDelay: stack.proxy.set(routes, .delayed(ms: 20 + fault.detail % 300))
        default: break
        }
    }

    private func beginRedis(_ fault: ChaosFault) {
        do throws(RedisFailure) {
            switch fault.kind {
            case .redisKill: stack.redis.kill()
            case .redisPause: stack.redis.suspend()
            case .redisScripts: try stack.askRedis(["SCRIPT", "FLUSH"])
            case .redisFull: try stack.askRedis(["CONFIG", "SET", "maxmemory", "1"])
            case .redisClients: try stack.askRedis(["CLIENT", "KILL", "TYPE", "normal"])
            case .redisForget:
                for pattern in ["peal:usr:*", "peal:dedup:*", "peal:hop:*", "peal:done:*"] {
                    let script =
                        "for _,k in ipairs(redis.call('KEYS',ARGV[1])) do redis.call('DEL',k) end return 1"
                    try stack.askRedis(["EVAL", script, "0", pattern])
                }
            default: break
            }
        } catch {
            notes.append("\(fault.kind.rawValue): \(error.message)")
        }
    }

    private func beginProvider(_ fault: ChaosFault) {
        switch fault.kind {
        case .simulatorKill: stack.simulator.kill()
        case .simulatorPause: stack.simulator.pause()
        default: stack.setFaults(ChaosScripts.script(for: fault))
        }
    }

    private func beginBroker(_ fault: ChaosFault) {
        let broker = stack.broker
        let one = Int32(1 + fault.detail % UInt64(broker.brokerCount))
        let times = 1 + Int(fault.detail >> 8 % 4)
        func codes(_ code: KafkaErrorCode) -> [KafkaErrorCode] {
            Array(repeating: code, count: min(times, 6))
        }
        switch fault.kind {
        case .brokerProduce: broker.failNext(.produce, with: codes(.notLeader) + [.transport])
        case .brokerFetch: broker.failNext(.fetch, with: codes(.notLeader) + [.transport])
        case .brokerCommit: broker.failNext(.offsetCommit, with: codes(.coordinatorNotAvailable))
        case .brokerHeartbeat: broker.failNext(.heartbeat, with: codes(.coordinatorNotAvailable))
        case .brokerSlow: broker.setRoundTrip(broker: one, ms: 100 + Int(fault.detail >> 16 % 500))
        case .brokerDown: broker.setBroker(one, isUp: false)
        case .brokerLostReply: broker.delayNext(.produce, broker: one, delayMs: 400)
        case .brokerCoordinator:
            let lane = TopicNames.lanes[Int(fault.detail >> 24 % 3)]
            broker.setCoordinator(group: "peal-worker.\(lane)", broker: one)
        default: break
        }
    }

    // MARK: - Ending

    /// Ends a fault; false when it has to be asked again later.
    private func end(_ fault: ChaosFault) throws(StackFailure) -> Bool {
        switch fault.kind.resource(slot: fault.slot) {
        case .worker: return try end(fault, stack.workers[fault.slot])
        case .retry: return try end(fault, stack.retry)
        case .provider:
            switch fault.kind {
            case .simulatorKill: try stack.simulator.start()
            case .simulatorPause: stack.simulator.resume()
            default: stack.setFaults("{}")
            }
        case .redis: try endRedis(fault)
        case .link: stack.proxy.set(stack.providerRoutes(fault.slot), .open)
        case .redisLink: stack.proxy.set(stack.redisRoutes(fault.slot), .open)
        case .broker: endBroker(fault)
        }
        return true
    }

    private func end(_ fault: ChaosFault, _ program: ChaosProgram) throws(StackFailure) -> Bool {
        switch fault.kind {
        case .workerKill, .retryKill: try program.start()
        case .workerPause, .workerZombie, .retryPause: program.resume()
        case .workerStop, .retryStop:
            program.poll()
            guard program.child == nil else { return false }
            try program.start()
        default: break
        }
        return true
    }

    private func endRedis(_ fault: ChaosFault) throws(StackFailure) {
        do throws(RedisFailure) {
            switch fault.kind {
            case .redisKill: try stack.redis.start()
            case .redisPause: stack.redis.resume()
            case .redisFull: try stack.askRedis(["CONFIG", "SET", "maxmemory", "0"])
            default: break
            }
        } catch {
            throw StackFailure(.redis, "\(fault.kind.rawValue) could not be ended: \(error)")
        }
    }

    private func endBroker(_ fault: ChaosFault) {
        let broker = stack.broker
        let one = Int32(1 + fault.detail % UInt64(broker.brokerCount))
        switch fault.kind {
        case .brokerProduce, .brokerLostReply:
            // The answer that is late is lost when its connection goes: the client writes again.
            if fault.kind == .brokerLostReply {
                broker.setBroker(one, isUp: false)
                usleep(50_000)
                broker.setBroker(one, isUp: true)
            }
            broker.clearFaults(.produce)
        case .brokerFetch: broker.clearFaults(.fetch)
        case .brokerCommit: broker.clearFaults(.offsetCommit)
        case .brokerHeartbeat: broker.clearFaults(.heartbeat)
        case .brokerSlow: broker.setRoundTrip(broker: one, ms: 0)
        case .brokerDown: broker.setBroker(one, isUp: true)
        default: break
        }
    }
}

/// The simulator's fault scripts for the faults of a provider.
enum ChaosScripts {
    static func script(for fault: ChaosFault) -> String {
        let share = ["1", "0.5", "0.2"][Int(fault.detail % 3)]
        switch fault.kind {
        case .providerUnavailable: return both("ServiceUnavailable", "UNAVAILABLE", share)
        case .providerError: return both("InternalServerError", "INTERNAL", share)
        case .providerThrottle: return both("TooManyRequests", "QUOTA_EXCEEDED", share, #","retry_after":1"#)
        case .providerGone: return both("Unregistered", "UNREGISTERED", "0.05")
        case .providerBadToken: return both("BadDeviceToken", "UNREGISTERED", "0.05")
        case .providerRefuse: return rule(#""action":"reset","error_code":7"#, share)
        case .providerReset: return rule(#""action":"reset","error_code":2"#, "0.3")
        case .providerAmbiguous:
            let action = ["reset", "kill", "goaway"][Int(fault.detail >> 8 % 3)]
            let rest = action == "goaway" ? #","last_stream":"this""# : ""
            return action == "goaway"
                ? rule(#""action":"goaway","delivered":true\#(rest)"#, "0.02")
                : rule(#""action":"\#(action)","delivered":true"#, "0.05")
        case .providerSwallow: return rule(#""action":"swallow","delivered":true"#, "0.05")
        case .providerGoaway: return event(#"{"action":"goaway","last_stream":"all"}"#)
        case .providerShrink:
            return #"{"events":[{"at_ms":0,"do":{"max_streams":1}},"#
                + #"{"at_ms":\#(fault.durationMs),"do":{"max_streams":100}}]}"#
        case .providerGarbage: return event(#""garbage""#)
        default: return "{}"
        }
    }

    private static func both(
        _ apns: String, _ fcm: String, _ share: String, _ more: String = ""
    ) -> String {
        #"{"rules":[{"provider":"apns","share":\#(share),"answer":{"reason":"\#(apns)"\#(more)}},"#
            + #"{"provider":"fcm","share":\#(share),"answer":{"error":"\#(fcm)"\#(more)}}]}"#
    }

    private static func rule(_ answer: String, _ share: String) -> String {
        #"{"rules":[{"share":\#(share),"answer":{\#(answer)}}]}"#
    }

    private static func event(_ what: String) -> String { #"{"events":[{"at_ms":0,"do":\#(what)}]}"# }
}
