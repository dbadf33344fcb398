internal import Core
internal import EventLoop
internal import HTTP2
internal import Security
internal import Terminal

/// Peal's own side of the transport comparison, in a process of its own so that its CPU can be measured from
/// outside, as h2load's is. Started by `peal bench` alone.
enum TransportClient {
    /// What the first operand of `peal bench` must be.
    static let operand = "transport-client"

    /// The headers that both sides send, besides the path, `apns-id` and the length.
    static let constantFields = [
        ("authorization", "bearer " + String(repeating: "eyJhbGciOiJFUzI1NiIs", count: 10)),
        ("apns-topic", "com.example.shop"), ("apns-push-type", "alert"), ("apns-priority", "10"),
    ]

    /// The HTTP/2 sessions that the client can run on, the one that services use first. With more than one,
    /// `peal bench transport` compares the first two.
    static let sessions = HTTP2SessionKind.allCases.map(\.rawValue)

    /// The command line of one run.
    static func words(
        port: UInt16, caFile: String, shape: BenchOptions.Shape, requests: Int, bodyBytes: Int,
        session: String
    ) -> [String] {
        let numbers = [Int(port), shape.connections, shape.streams, requests, bodyBytes].map { "\($0)" }
        return ["\(StackOptions.ownDirectory)/peal", "bench", operand, caFile] + numbers + [session]
    }

    /// Sends the requests and prints how many a second they were, the connecting included.
    static func run(_ words: [String]) -> Int32 {
        let numbers = words.dropFirst().prefix(5).compactMap { Int($0) }
        guard let caFile = words.first, numbers.count == 5, let port = UInt16(exactly: numbers[0]),
            words.count == 7, sessions.contains(words[6])
        else { return UsageFailure.exitCode }
        var plan = TransportBench.Plan()
        plan.connections = max(1, numbers[1])
        plan.streams = max(1, numbers[2])
        plan.requests = max(1, numbers[3])
        plan.bodyBytes = max(0, numbers[4])
        if let session = words.last.flatMap(HTTP2SessionKind.init(rawValue:)) { plan.session = session }
        plan.fields = constantFields.map { HeaderTemplate.Field($0.0, $0.1) }
        do {
            let context = try TLSContext.client(TLSClientOptions(caFile: caFile))
            let startNs = Clock.monotonicNs
            let result = try TransportBench.run(
                endpoint: HTTP2Endpoint(host: "127.0.0.1", port: port), context: context, plan: plan)
            let seconds = Double(Clock.monotonicNs - startNs) / 1e9
            guard result.succeeded == plan.requests else {
                Console.complain(
                    "\(result.succeeded) of \(plan.requests) requests succeeded: \(result.lastFailure)")
                return 1
            }
            Console.write("{\"requests_per_s\":\(Int(Double(plan.requests) / max(seconds, 1e-9)))}\n")
            return 0
        } catch {
            Console.complain("\(error)")
            return 1
        }
    }
}
