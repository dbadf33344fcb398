internal import Core
internal import Terminal

/// What a bench came to.
struct BenchReport: Sendable {
    let machine: String
    /// Programs that wanted a core before the bench began.
    let load: Double
    var transports: [TransportResult] = []
    var pipelines: [PipelineResult] = []

    init(machine: String, load: Double) {
        self.machine = machine
        self.load = load
    }

    // MARK: - Text

    /// The report for people.
    func text(style: TextStyle) -> String {
        var text = "\(machine)\n"
        if load > 0.5 {
            text += style(
                .yellow, "Load \(two(load)): other programs were running, which shows in every rate.")
            text += "\n"
        }
        if !transports.isEmpty {
            text += "\nHTTP/2 transport, medians of \(style(.bold, "h2load")) and \(style(.bold, "Peal"))"
            text += " in turns\n\n" + transportTable.render(style: style, indent: 2)
        }
        if !pipelines.isEmpty {
            text += "\nWhole pipeline, one worker; h2load with one connection and 100 streams\n\n"
            text += pipelineTable.render(style: style, indent: 2)
            text += "\nCPU of a notification by process\n\n"
            text += processTable.render(style: style, indent: 2)
        }
        return text
    }

    private var transportTable: TextTable {
        var table = TextTable([
            .init("connections", .right), .init("streams", .right), .init("h2load", .right),
            .init("Peal", .right), .init("ratio", .right), .init("h2load CPU", .right),
            .init("Peal CPU", .right), .init("ratio", .right),
        ])
        for row in transports {
            table.add([
                "\(row.shape.connections)", "\(row.shape.streams)",
                Human.rate(row.h2load.requestsPerSecond), Human.rate(row.peal.requestsPerSecond),
                two(row.rateRatio), us(row.h2load.cpuUs), us(row.peal.cpuUs), two(row.cpuRatio),
            ])
        }
        return table
    }

    private var pipelineTable: TextTable {
        var table = TextTable([
            .init("jobs to"), .init("notifications", .right), .init("h2load", .right),
            .init("ratio", .right), .init("worker memory", .right), .init("other programs", .right),
        ])
        for row in pipelines {
            table.add([
                "a \(row.kind.rawValue)", Human.rate(row.median { $0.perSecond }),
                Human.rate(row.median { $0.h2load.requestsPerSecond }), two(row.rateRatio),
                Human.bytes(UInt64(row.median { Double($0.workerBytes) })),
                Human.decimal(row.median { $0.othersShare * 100 }, places: 0) + " %",
            ])
        }
        return table
    }

    private var processTable: TextTable {
        var table = TextTable([
            .init("jobs to"), .init("worker", .right), .init("Redis", .right), .init("broker", .right),
            .init("simulator", .right), .init("together", .right), .init("publishing before", .right),
        ])
        for row in pipelines {
            table.add([
                "a \(row.kind.rawValue)", us(row.median { $0.workerUs }), us(row.median { $0.redisUs }),
                us(row.median { $0.brokerUs }), us(row.median { $0.simulatorUs }),
                us(row.median { $0.togetherUs }),
                us(row.median { $0.publishUs }),
            ])
        }
        return table
    }

    private func two(_ value: Double) -> String { Human.decimal(value, places: 2) }

    private func us(_ value: Double) -> String { two(value) + " us" }

    // MARK: - JSON

    /// The report as one JSON object. The headline figures are those of one connection with 100 streams and
    /// of jobs to a recipient.
    var json: String {
        var out = JSONObject()
        out.add("machine", text: machine)
        out.add("load_average", load, places: 2)
        if let first = transports.first {
            out.add("transport_rps_ratio", first.rateRatio, places: 3)
            out.add("transport_cpu_ratio", first.cpuRatio, places: 3)
        }
        if let first = pipelines.first {
            out.add("pipeline_rps_ratio", first.rateRatio, places: 3)
            out.add("worker_cpu_us", first.median { $0.workerUs }, places: 2)
        }
        out.add("transport", objects: transports.map { Self.object($0).finished })
        out.add("pipeline", objects: pipelines.map { Self.object($0).finished })
        return out.finished + "\n"
    }

    private static func object(_ row: TransportResult) -> JSONObject {
        var out = JSONObject()
        out.add("connections", Double(row.shape.connections), places: 0)
        out.add("streams", Double(row.shape.streams), places: 0)
        out.add("rps_ratio", row.rateRatio, places: 3)
        out.add("cpu_ratio", row.cpuRatio, places: 3)
        out.add("rps", row.peal.requestsPerSecond, places: 0)
        out.add("cpu_us", row.peal.cpuUs, places: 3)
        out.add("h2load_rps", row.h2load.requestsPerSecond, places: 0)
        out.add("h2load_cpu_us", row.h2load.cpuUs, places: 3)
        return out
    }

    private static func object(_ row: PipelineResult) -> JSONObject {
        var out = JSONObject()
        out.add("jobs_to", text: row.kind.rawValue)
        out.add("rps_ratio", row.rateRatio, places: 3)
        out.add("notifications_per_s", row.median { $0.perSecond }, places: 0)
        out.add("h2load_rps", row.median { $0.h2load.requestsPerSecond }, places: 0)
        out.add("worker_cpu_us", row.median { $0.workerUs }, places: 2)
        out.add("redis_cpu_us", row.median { $0.redisUs }, places: 2)
        out.add("broker_cpu_us", row.median { $0.brokerUs }, places: 2)
        out.add("simulator_cpu_us", row.median { $0.simulatorUs }, places: 2)
        out.add("together_cpu_us", row.median { $0.togetherUs }, places: 2)
        out.add("other_programs_share", row.median { $0.othersShare }, places: 3)
        out.add("publish_cpu_us", row.median { $0.publishUs }, places: 2)
        out.add("worker_rss_bytes", row.median { Double($0.workerBytes) }, places: 0)
        return out
    }
}

/// A JSON object in the making.
private struct JSONObject {
    private var members = ""

    var finished: String { "{" + members + "}" }

    mutating func add(_ name: String, _ value: Double, places: Int) {
        begin(name)
        members += Human.decimal(value, places: places)
    }

    mutating func add(_ name: String, text: String) {
        begin(name)
        var quoted = ByteBuffer()
        quoted.append(jsonString: text)
        members += quoted.text
    }

    mutating func add(_ name: String, objects: [String]) {
        begin(name)
        members += "[" + objects.joined(separator: ",") + "]"
    }

    private mutating func begin(_ name: String) {
        members += (members.isEmpty ? "\"" : ",\"") + name + "\":"
    }
}
