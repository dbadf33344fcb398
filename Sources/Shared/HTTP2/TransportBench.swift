internal import Core
internal import EventLoop
package import Security

/// Measures the transport alone: APNs-shaped requests with distinct paths, ids and bodies, as fast as they
/// go.
///
/// - Threading: runs its own loop on the calling thread until done.
@safe
package final class TransportBench: ResponseSink {
    /// What to send.
    package struct Plan: Sendable {
        package var connections = 1
        package var streams = 100
        package var requests = 500_000
        package var bodyBytes = 228
        /// How the connections speak HTTP/2.
        package var session = HTTP2SessionKind.framed
        /// The whole run is given up after this many milliseconds.
        package var deadlineMs: UInt64 = 300_000
        /// The constant headers, on top of the path, the id and the length.
        package var fields: [HeaderTemplate.Field] = [
            .init("authorization", "bearer " + String(repeating: "eyJhbGciOiJFUzI1NiIs", count: 10)),
            .init("apns-topic", "com.example.app"), .init("apns-push-type", "alert"),
            .init("apns-priority", "10"),
        ]

        package init() {}
    }

    /// What was measured.
    package struct Result: Sendable {
        package let requests: Int
        package let succeeded: Int
        package let failed: Int
        package let seconds: Double
        /// CPU time of the whole process, microseconds a request.
        package let cpuMicroseconds: Double
        /// Why the last request that failed did so; empty when none did.
        package let lastFailure: String

        /// Finished requests a second.
        package var requestsPerSecond: Double { Double(requests) / max(seconds, 1e-9) }
    }

    private static let pathBytes = 74
    private static let idBytes = 36

    private let plan: Plan
    private let loop: EventLoop
    private let arena: UnsafeMutablePointer<UInt8>
    private let stride: Int
    private var pool: HTTP2Pool?
    private var template = TemplateID(index: 0)
    private var sent = 0
    private var succeeded = 0
    private var failedCount = 0
    private var lastFailure = ""

    private init(plan: Plan, loop: EventLoop) {
        self.plan = plan
        self.loop = loop
        stride = Self.pathBytes + Self.idBytes + plan.bodyBytes
        let size = stride * plan.connections * plan.streams
        unsafe arena = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, size))
        unsafe arena.initialize(repeating: UInt8(ascii: "x"), count: max(1, size))
    }

    deinit { unsafe arena.deallocate() }

    /// Sends the plan's requests to the endpoint and measures from the first to the last answer.
    /// - Throws: when the loop cannot be made, or no connection within ten seconds.
    package static func run(
        endpoint: HTTP2Endpoint, context: TLSContext, plan: Plan
    ) throws -> Result {
        let loop = try EventLoop()
        let bench = TransportBench(plan: plan, loop: loop)
        var limits = PoolLimits()
        limits.connectionsMin = plan.connections
        limits.connectionsMax = plan.connections
        limits.streamsMax = plan.streams
        limits.session = plan.session
        limits.requestsMax = plan.connections * plan.streams
        let pool = HTTP2Pool(loop: loop, endpoint: endpoint, context: context, limits: limits, sink: bench)
        defer { pool.close() }
        bench.pool = pool
        bench.template = try pool.addTemplate(
            HeaderTemplate(authority: "\(endpoint.serverName):\(endpoint.port)", fields: plan.fields))
        pool.warmUp()
        let connectBy = loop.nowMs + 10_000
        while pool.snapshot.open < plan.connections {
            loop.runOnce(maxWaitMs: 100)
            guard loop.nowMs < connectBy else {
                throw TransportFailure(.connectFailed, "no connection: \(pool.snapshot.lastFailure)")
            }
        }
        return bench.measure()
    }

    private func measure() -> Result {
        renderConstants()
        let startNs = Clock.monotonicNs
        let startCPU = Clock.processCPUNs
        let giveUpMs = loop.nowMs + plan.deadlineMs
        for index in 0..<min(plan.requests, plan.connections * plan.streams) { send(UInt64(index)) }
        while succeeded + failedCount < plan.requests, loop.nowMs < giveUpMs {
            loop.runOnce(maxWaitMs: 1_000)
        }
        let done = succeeded + failedCount
        let cpu = Double(Clock.processCPUNs - startCPU) / 1_000
        return Result(
            requests: done, succeeded: succeeded, failed: failedCount,
            seconds: Double(Clock.monotonicNs - startNs) / 1e9, cpuMicroseconds: cpu / Double(max(1, done)),
            lastFailure: lastFailure)
    }

    private func send(_ place: UInt64) {
        guard sent < plan.requests, let pool else { return }
        sent += 1
        let base = unsafe arena + Int(place) * stride
        let id = unsafe base + Self.pathBytes
        let body = unsafe id + Self.idBytes
        unsafe render(base, id, body)
        var request = unsafe OutgoingRequest(
            template: template, tag: place, deadlineMs: loop.nowMs + plan.deadlineMs,
            path: UnsafeRawBufferPointer(start: base, count: Self.pathBytes),
            body: UnsafeRawBufferPointer(start: body, count: plan.bodyBytes))
        unsafe request.add(.apnsID, UnsafeRawBufferPointer(start: id, count: Self.idBytes))
        if !pool.submit(request) { failedCount += 1 }
    }

    /// Writes 16 fresh digits into the token in the path, the id and the body; the rest stays as it is.
    private func render(
        _ path: UnsafeMutablePointer<UInt8>, _ id: UnsafeMutablePointer<UInt8>,
        _ body: UnsafeMutablePointer<UInt8>
    ) {
        let word = UInt64(sent) &* 0x9E37_79B9_7F4A_7C15
        for index in 0..<16 {
            let nibble = UInt8(truncatingIfNeeded: word >> UInt64(index * 4)) & 15
            let digit = nibble < 10 ? UInt8(ascii: "0") &+ nibble : UInt8(ascii: "a") &- 10 &+ nibble
            unsafe path[10 + index] = digit
            unsafe id[index < 8 ? index : 16 + index] = digit
            if index < plan.bodyBytes { unsafe body[index] = digit }
        }
    }

    /// Writes what all requests have in common.
    private func renderConstants() {
        let path: StaticString = "/3/device/"
        for place in 0..<(plan.connections * plan.streams) {
            let base = unsafe arena + place * stride
            for index in 0..<path.utf8CodeUnitCount { unsafe base[index] = path.utf8Start[index] }
            for index in 10..<Self.pathBytes { unsafe base[index] = UInt8(ascii: "a") }
            for index in 0..<Self.idBytes {
                let isDash = index == 8 || index == 13 || index == 18 || index == 23
                unsafe base[Self.pathBytes + index] = isDash ? UInt8(ascii: "-") : UInt8(ascii: "5")
            }
        }
    }

    package func responded(tag: UInt64, response: ResponseView) {
        if response.status == 200 {
            succeeded += 1
        } else {
            failedCount += 1
            lastFailure = "status \(response.status)"
        }
        send(tag)
    }

    package func failed(tag: UInt64, failure: TransportFailure) {
        failedCount += 1
        lastFailure = failure.description
        send(tag)
    }
}
