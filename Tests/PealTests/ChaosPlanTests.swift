import Core
import EventLoop
import Foundation
import Jobs
import Testing

@testable import PealKit
@testable import SimulatorKit

@Suite("The plan of a run under faults")
struct ChaosPlanTests {
    @Test("The same seed gives the same jobs and faults, another one others")
    func isReproducible() {
        func text(_ seed: UInt64) -> [UInt8] {
            let plan = ChaosPlan(seed: seed, jobCount: 300)
            var out = ByteBuffer(capacity: 1024)
            for job in plan.jobs.indices { plan.append(job: job, to: &out) }
            return out.array + plan.devices.flatMap { Array($0.token.utf8) }
        }
        #expect(text(3) == text(3))
        #expect(text(3) != text(4))
        func schedule(_ seed: UInt64) -> ChaosSchedule {
            ChaosSchedule(seed: seed, count: 40, spanMs: 60_000, workers: 3)
        }
        #expect(schedule(3) == schedule(3))
        #expect(schedule(3) != schedule(4))
    }

    @Test("Every job is one that workers take, and leads back to its number")
    func jobsAreGood() throws {
        let plan = ChaosPlan(seed: 11, jobCount: 400)
        let parser = try #require(JobParser())
        var job = Job()
        for number in plan.jobs.indices {
            var out = ByteBuffer(capacity: 512)
            plan.append(job: number, to: &out)
            #expect(parser.parse(out.bytes, into: &job) == nil)
            let id = try #require(job.id).raw
            #expect(plan.job(id: String(decoding: id, as: UTF8.self)) == number)
        }
        #expect(plan.job(id: "j400") == nil)
        #expect(plan.job(id: "k1") == nil)
    }

    @Test("Tokens are all different and lead back to their devices")
    func tokens() {
        let plan = ChaosPlan(seed: 5, jobCount: 3_000)
        for (number, device) in plan.devices.enumerated() {
            #expect(plan.device(token: device.token) == number)
        }
        #expect(plan.devices.contains { $0.temper == .gone })
        #expect(plan.devices.contains { $0.temper == .ambiguousOnce })
        #expect(plan.recipients.contains { $0.isKeyed })
    }

    @Test("Faults of one resource never overlap, and a long schedule has every kind")
    func schedule() {
        for seed in UInt64(1)...20 {
            let faults = ChaosSchedule(seed: seed, count: 200, spanMs: 400_000, workers: 3).faults
            #expect(faults.count > 190)
            var busy: [ChaosFaultKind.Resource: Int] = [:]
            for fault in faults {
                let resource = fault.kind.resource(slot: fault.slot)
                #expect(fault.atMs >= busy[resource] ?? 0)
                busy[resource] = fault.endMs
                #expect(fault.slot < 3)
                #expect(fault.kind.durationMs.contains(fault.durationMs))
            }
            let kinds = Set(faults.map(\.kind))
            #expect(kinds.isSuperset(of: ChaosFaultKind.allCases.filter { $0 != .redisForget }))
        }
    }

    @Test("Kinds that can't be done are left out")
    func leftOut() {
        let faults = ChaosSchedule(
            seed: 1, count: 300, spanMs: 600_000, workers: 2, without: [.workerKill, .redisKill]
        ).faults
        #expect(!faults.contains { $0.kind == .workerKill || $0.kind == .redisKill })
    }

    @Test("Every provider fault's script is one that the simulator takes")
    func scripts() throws {
        for kind in ChaosFaultKind.allCases where kind.resource(slot: 0) == .provider {
            for detail in UInt64(0)..<3 {
                let fault = ChaosFault(
                    kind: kind, slot: 0, atMs: 0, durationMs: 500, detail: detail << 8 | detail)
                let script = ChaosScripts.script(for: fault)
                #expect(throws: Never.self, "\(kind) \(script)") {
                    _ = try FaultScriptReader.read(text: script)
                }
            }
        }
    }
}

@Suite("The record file of a run under faults")
struct ChaosRecordTests {
    @Test("Requests are read with their answer, their badge and the worker that sent them")
    func reads() throws {
        let plan = ChaosPlan(seed: 1, jobCount: 50)
        let device = plan.devices(ofJob: 7).lowerBound
        let token = plan.devices[device].token
        func line(_ rest: String, port: Int = 4001) -> String {
            #"{"index":1,"token":"\#(token)","job":"j7",\#(rest),"peer_port":\#(port),"arrival_ms":2000}"#
                + "\n"
        }
        let text =
            line(#""badge":3,"action":"respond","status":200,"delivered":true"#)
            + line(#""action":"reset","status":0,"delivered":true"#)
            + line(#""action":"respond","status":410,"reason":"Unregistered","delivered":false"#, port: 4002)
            + line(#""action":"respond","status":503,"reason":"Shutdown","delivered":false"#, port: 9)
            + #"{"index":1,"token":"nobody","job":"j7","arrival_ms":5}"# + "\n"
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-test")
        defer { Files.removeTree(directory) }
        try Files.write(path: directory + "/record", text: text)
        let links = ChaosLinks(
            [
                ProxyLink(route: 0, port: 4001, openedMs: 1_000, closedMs: 2_500, cause: .proxy),
                ProxyLink(route: 5, port: 4002, openedMs: 1_000),
                ProxyLink(route: 5, port: 4001, openedMs: 2_600),
            ], worker: { $0 / 4 })
        let (requests, strangers) = try ChaosRecordFile(plan: plan, links: links).read(
            path: directory + "/record")
        #expect(strangers.count == 1)
        #expect(requests.map(\.answer) == [.accepted, .refused, .tokenGone, .refused])
        #expect(requests.map(\.isAnswered) == [true, false, true, true])
        #expect(requests.map(\.worker) == [0, 0, 1, -1])
        #expect(requests[0].badge == 3)
        #expect(requests[0].cause == .proxy)
        #expect(requests[0].closedMs == 2_500)
        #expect(requests.allSatisfy { $0.job == 7 && $0.device == device && $0.arrivalMs == 2_000 })
    }
}

@Suite("The fault proxy", .serialized)
struct FaultProxyTests {
    /// A server that sends back what it gets, and a client's socket that goes to it through the proxy.
    private struct Rig {
        let server: Int32
        let proxy: FaultProxy
        let client: Int32
        let peer: Int32

        init() throws {
            let server = try Socket.listen(host: "127.0.0.1", port: 0)
            self.server = server
            proxy = try FaultProxy(upstreams: [Socket.port(of: server)])
            client = try Socket.connect(host: "127.0.0.1", port: proxy.ports[0])
            peer = try Rig.within(10_000) { Socket.accept(server) }
        }

        func close() {
            proxy.stop()
            for descriptor in [server, client, peer] { Socket.close(descriptor) }
        }

        static func within<T>(_ ms: UInt64, _ body: () -> T?) throws -> T {
            let end = Clock.monotonicMs + ms
            while Clock.monotonicMs < end {
                if let value = body() { return value }
                usleep(1_000)
            }
            throw CancellationError()
        }

        func send(_ text: String, from descriptor: Int32) throws {
            _ = try Rig.within(10_000) {
                let bytes = Array(text.utf8)
                return bytes.withUnsafeBytes { Socket.send(descriptor, $0) } == bytes.count ? true : nil
            }
        }

        /// What arrives within `ms`; nil for nothing, empty for the end or a reset.
        func receive(on descriptor: Int32, withinMs ms: UInt64 = 60_000) -> String? {
            try? Rig.within(ms) {
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = buffer.withUnsafeMutableBytes { Socket.recv(descriptor, into: $0) }
                if Socket.wouldBlock(count) { return nil }
                return count <= 0 ? "" : String(decoding: buffer[..<count], as: UTF8.self)
            }
        }
    }

    @Test("Bytes go through in both directions, and the end too")
    func passes() throws {
        let rig = try Rig()
        defer { rig.close() }
        try rig.send("hello", from: rig.client)
        #expect(rig.receive(on: rig.peer) == "hello")
        try rig.send("hi", from: rig.peer)
        #expect(rig.receive(on: rig.client) == "hi")
        let port = Socket.peerPort(of: rig.peer)
        Socket.shutdownWrite(rig.peer)
        #expect(rig.receive(on: rig.client)?.isEmpty == true)
        let link = try Rig.within(10_000) { rig.proxy.history.first { $0.cause != .open } }
        #expect(link.cause == .upstream)
        #expect(link.port == port)
    }

    @Test("A stalled route holds bytes back until it is opened")
    func stalls() throws {
        let rig = try Rig()
        defer { rig.close() }
        try rig.send("a", from: rig.client)
        #expect(rig.receive(on: rig.peer) == "a")
        rig.proxy.set([0], .stalled)
        usleep(50_000)
        try rig.send("b", from: rig.client)
        #expect(rig.receive(on: rig.peer, withinMs: 200) == nil)
        rig.proxy.set([0], .open)
        #expect(rig.receive(on: rig.peer) == "b")
    }

    @Test("A delayed route keeps bytes for its time")
    func delays() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.proxy.set([0], .delayed(ms: 300))
        usleep(50_000)
        let startMs = Clock.monotonicMs
        try rig.send("a", from: rig.client)
        #expect(rig.receive(on: rig.peer) == "a")
        #expect(Clock.monotonicMs - startMs >= 250)
    }

    @Test("A reset cuts both sides and is told as the proxy's doing")
    func resets() throws {
        let rig = try Rig()
        defer { rig.close() }
        try rig.send("a", from: rig.client)
        #expect(rig.receive(on: rig.peer) == "a")
        rig.proxy.reset([0])
        #expect(rig.receive(on: rig.client)?.isEmpty == true)
        #expect(rig.receive(on: rig.peer)?.isEmpty == true)
        let link = try Rig.within(10_000) { rig.proxy.history.first { $0.cause != .open } }
        #expect(link.cause == .proxy)
    }
}
