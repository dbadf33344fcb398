internal import Core
internal import EventLoop
internal import Terminal

/// `peal bench peers`: aioapns, an APNs client of Python, in turns with Peal's transport on the same
/// simulator.
///
/// Both are one process with one thread. The peer gets the in-flight requests and the event loop that suit it
/// best, and what it needs to start is not counted; Peal's start is.
enum PeersPart: BenchPart {
    static let name = "peers"
    static let summary = "aioapns (Python, from PyPI) against the HTTP/2 client"

    /// How the peer is run.
    struct Setting: Equatable, Sendable {
        let inFlight: Int
        /// `asyncio` or `uvloop`.
        let loop: String
    }

    /// One run of the peer.
    struct Sample: Equatable, Sendable {
        let requestsPerSecond: Double
        let cpuUs: Double
        let connections: Int
        let version: String
        /// The version of Python.
        let python: String
    }

    /// What the peer and Peal came to.
    struct Result: Sendable {
        let setting: Setting
        let peer: Sample
        let peal: TransportSample
        let rateRatio: Double
        let cpuRatio: Double
    }

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        try Bench.inDirectory(options) { (directory, simulator) throws(StackFailure) in
            let peer = PeerClient(directory: directory, simulator: simulator, options: options)
            say("peers: installing aioapns below the bench's directory")
            do throws(StackFailure) { try peer.install() } catch { return skipped("\(error)") }
            let setting = try best(peer, options, say)
            let requests = options.isQuick ? 5_000 : 20_000
            let shape = BenchOptions.Shape(connections: 1, streams: 1_000)
            let bench = TransportComparison(options: options, directory: directory, simulator: simulator)
            var samples: [Sample] = []
            let pairs = try Turns.run(
                pairs: options.pairs,
                { (isWarmUp) throws(StackFailure) in
                    try bench.ours(shape, requests: options.requests / (isWarmUp ? 10 : 1))
                },
                { (isWarmUp) throws(StackFailure) in
                    let sample = try peer.run(setting, requests: requests / (isWarmUp ? 10 : 1))
                    samples.append(sample)
                    return TransportSample(requestsPerSecond: sample.requestsPerSecond, cpuUs: sample.cpuUs)
                },
                tell: { number, pair in
                    say(
                        "peers \(number)/\(options.pairs): aioapns \(TransportComparison.text(pair.1)),"
                            + " peal \(TransportComparison.text(pair.0))")
                })
            let last = samples.last
            return findings(
                Result(
                    setting: setting,
                    peer: Sample(
                        requestsPerSecond: Statistics.median(pairs.map(\.1.requestsPerSecond)),
                        cpuUs: Statistics.median(pairs.map(\.1.cpuUs)), connections: last?.connections ?? 0,
                        version: last?.version ?? "", python: last?.python ?? ""),
                    peal: TransportComparison.median(pairs.map(\.0)),
                    rateRatio: Statistics.median(Statistics.ratios(pairs) { $0.requestsPerSecond }),
                    cpuRatio: Statistics.median(Statistics.ratios(pairs) { $0.cpuUs })))
        }
    }

    /// The setting with the highest rate in one short run each.
    private static func best(
        _ peer: PeerClient, _ options: BenchOptions, _ say: (String) -> Void
    ) throws(StackFailure) -> Setting {
        var found: (setting: Setting, rate: Double)?
        for loop in peer.loops {
            for inFlight in [30, 100, 300, 1_000, 4_000] {
                let setting = Setting(inFlight: inFlight, loop: loop)
                // What the peer can't do is no setting of its; the others count.
                let sample: Sample
                do throws(StackFailure) { sample = try peer.run(setting, requests: 5_000) } catch {
                    say("peers: aioapns fails with \(inFlight) in flight on \(loop)")
                    continue
                }
                say("peers: aioapns \(inFlight) in flight, \(loop): \(Human.rate(sample.requestsPerSecond))")
                if sample.requestsPerSecond > found?.rate ?? 0 {
                    found = (setting, sample.requestsPerSecond)
                }
            }
        }
        guard let found else {
            throw StackFailure(.program, "aioapns failed with every setting; it says:\n\(peer.logTail)")
        }
        return found.setting
    }

    /// What is reported when the peer can't be had.
    static func skipped(_ reason: String) -> BenchFindings {
        let first = reason.split(separator: "\n").first.map { String($0) } ?? ""
        var out = BenchFindings()
        out.members = [.init(key: "peers_skipped", json: BenchJSON.quoted(first))]
        var table = TextTable([.init("")])
        table.add(["skipped: \(first)"])
        out.sections = [.init(title: "Against aioapns", table: table)]
        return out
    }

    /// What the result comes to.
    static func findings(_ result: Result) -> BenchFindings {
        var out = BenchFindings()
        out.add("peer_rps_ratio", result.rateRatio, places: 1)
        out.add("peer_cpu_ratio", result.cpuRatio, places: 4)
        var row = BenchJSON()
        row.add("name", text: "aioapns")
        row.add("version", text: result.peer.version)
        row.add("python", text: result.peer.python)
        row.add("loop", text: result.setting.loop)
        row.add("in_flight", Double(result.setting.inFlight), places: 0)
        row.add("connections", Double(result.peer.connections), places: 0)
        row.add("rps", result.peer.requestsPerSecond, places: 0)
        row.add("cpu_us", result.peer.cpuUs, places: 2)
        row.add("peal_rps", result.peal.requestsPerSecond, places: 0)
        row.add("peal_cpu_us", result.peal.cpuUs, places: 3)
        out.add("peers", objects: [row.finished])
        var table = TextTable([
            .init("client"), .init("connections", .right), .init("in flight", .right),
            .init("requests", .right), .init("CPU a request", .right),
        ])
        table.add([
            "aioapns \(result.peer.version), Python \(result.peer.python), \(result.setting.loop)",
            "\(result.peer.connections)",
            "\(result.setting.inFlight)", Human.rate(result.peer.requestsPerSecond),
            Human.decimal(result.peer.cpuUs, places: 1) + " us",
        ])
        table.add([
            "Peal's transport", "1", "1000", Human.rate(result.peal.requestsPerSecond),
            Human.decimal(result.peal.cpuUs, places: 2) + " us",
        ])
        table.add([
            "ratio", "", "", Human.decimal(result.rateRatio, places: 1),
            Human.decimal(result.cpuRatio, places: 4),
        ])
        out.sections = [
            .init(title: "Against aioapns, one process and one thread each, in turns", table: table)
        ]
        return out
    }
}
