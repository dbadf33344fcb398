import Core
import EventLoop
package import Terminal

/// The command line of `peal-simulator`.
package enum SimulatorCommand {
    /// What it takes.
    package static let command = Command(
        "peal-simulator",
        summary: "Doubles of APNs and FCM over real HTTP/2 and TLS, with scripted faults and a record.",
        options: [
            Option("host", .value("ADDRESS"), help: "listen on this numeric address (127.0.0.1)"),
            Option(
                "apns-port", .value("PORT"), help: "APNs production (2197; 0 picks one, off leaves it out)"),
            Option("sandbox-port", .value("PORT"), help: "APNs sandbox (2198)"),
            Option("fcm-port", .value("PORT"), help: "FCM and its token endpoint (2199)"),
            Option("admin-port", .value("PORT"), help: "plain HTTP: record, faults, counters (2200)"),
            Option(
                "certificate-dir", .value("DIR"),
                help: "write the CA, the .p8 key and the service account here, and use them again next time"),
            Option("certificate-host", .values("NAME"), help: "further names for the certificate."),
            Option("team-id", .value("ID"), help: "Apple team of the key (SIMTEAM001)"),
            Option("key-id", .value("ID"), help: "id of the key (SIMKEY0001)"),
            Option("bundle-id", .values("ID"), help: "allow only these bundle ids (any)."),
            Option("project-id", .value("ID"), help: "Firebase project (simulated-project)"),
            Option("faults", .value("FILE"), help: "fault script to begin with"),
            Option("delay-ms", .value("MS"), help: "delay every answer"),
            Option("streams", .value("N"), help: "streams that APNs allows (1000)"),
            Option("fcm-streams", .value("N"), help: "streams that FCM allows (100)"),
            Option("shrink-on-errors", help: "APNs drops to one stream after an error, as the real one may"),
            Option(
                "successes-to-recover", .value("N"),
                help: "successes in a row that bring the streams back (1)"),
            Option(
                "errors-per-connection", .value("N"), help: "APNs closes a connection after so many (never)"),
            Option(
                "count-updates-per-key", help: "judge provider token updates over all connections of a key"),
            Option("known-tokens-only", help: "refuse device tokens that were not listed"),
            Option("job-key", .values("NAME"), help: "payload member that holds the job id (peal_job)."),
            Option("record-max", .value("N"), help: "requests kept in the record (1000000)"),
            Option(
                "record-file", .value("FILE"), help: "append every request to it before it is answered"),
            Option("keep-bodies", help: "keep bodies in the record"),
            Option("accept-all", help: "accept everything unchecked, for benchmarks"),
            Option("json", help: "print the addresses as JSON"),
        ],
        details: """
            Point a client at the printed addresses, trust ca.pem, sign with apns-key.p8 or service-account.json.
            Tokens may ask for answers: fa11fa11410000… gets 410 Unregistered, …~UNAVAILABLE*2 gets 503 twice.
            docs/simulator.md has the tables, the fault script and the admin API.
            """)

    /// Settings from a command line.
    package static func settings(_ arguments: Arguments) throws(UsageFailure) -> SimulatorSettings {
        var settings = SimulatorSettings()
        settings.host = arguments.string("host") ?? settings.host
        settings.apnsPort = try port(arguments, "apns-port", 2197)
        settings.sandboxPort = try port(arguments, "sandbox-port", 2198)
        settings.fcmPort = try port(arguments, "fcm-port", 2199)
        settings.adminPort = try port(arguments, "admin-port", 2200)
        settings.certificateDirectory = arguments.string("certificate-dir")
        settings.certificateHosts = arguments.all("certificate-host")
        settings.teamID = arguments.string("team-id") ?? settings.teamID
        settings.keyID = arguments.string("key-id") ?? settings.keyID
        settings.bundleIDs = arguments.all("bundle-id")
        settings.projectID = arguments.string("project-id") ?? settings.projectID
        settings.delayMs = UInt32(clamping: try arguments.integer("delay-ms", in: 0...3_600_000) ?? 0)
        settings.apnsStreamsMax = UInt32(clamping: try arguments.integer("streams", in: 1...100_000) ?? 1000)
        settings.fcmStreamsMax = UInt32(
            clamping: try arguments.integer("fcm-streams", in: 1...100_000) ?? 100)
        settings.shrinksOnErrors = arguments.flag("shrink-on-errors")
        settings.successesToRecover = UInt32(
            clamping: try arguments.integer("successes-to-recover", in: 1...1_000_000) ?? 1)
        settings.errorsPerConnection = UInt32(
            clamping: try arguments.integer("errors-per-connection", in: 1...1_000_000) ?? 0)
        settings.tokenUpdateScope = arguments.flag("count-updates-per-key") ? .key : .connection
        settings.refusesUnknownTokens = arguments.flag("known-tokens-only")
        if !arguments.all("job-key").isEmpty { settings.jobMarkers = arguments.all("job-key") }
        settings.recordMax = try arguments.integer("record-max", in: 0...100_000_000) ?? settings.recordMax
        settings.recordPath = arguments.string("record-file")
        settings.keepsBodies = arguments.flag("keep-bodies")
        settings.acceptsAll = arguments.flag("accept-all")
        if let file = arguments.string("faults") {
            do { settings.faultScript = try Files.readText(path: file) } catch {
                throw UsageFailure("Cannot read the fault script: \(error).")
            }
        }
        return settings
    }

    private static func port(
        _ arguments: Arguments, _ name: String, _ standard: UInt16
    ) throws(UsageFailure) -> UInt16? {
        if arguments.string(name) == "off" { return nil }
        return UInt16(clamping: try arguments.integer(name, in: 0...65_535) ?? Int(standard))
    }

    /// Reads the process's command line and serves; the process's exit code.
    package static func main() -> Int32 { run(Console.arguments(for: command, version: Version.current)) }

    /// Serves until SIGINT or SIGTERM; the process's exit code.
    package static func run(_ arguments: Arguments) -> Int32 {
        Signals.block([Signals.interrupt, Signals.terminate])
        do {
            let simulator = try Simulator.start(try settings(arguments))
            Console.write(arguments.flag("json") ? json(simulator) : text(simulator, arguments))
            let waiter = try TerminationWaiter()
            waiter.wait()
            simulator.stop()
            return 0
        } catch let failure as UsageFailure {
            Console.complain("peal-simulator: \(failure.message)")
            return UsageFailure.exitCode
        } catch {
            Console.complain("peal-simulator: \(error)")
            return 1
        }
    }

    private static func rows(_ simulator: Simulator) -> [(name: String, value: String)] {
        let endpoints = simulator.endpoints
        var rows: [(name: String, value: String)] = []
        func add(_ name: String, _ scheme: String, _ port: UInt16?, _ path: String = "") {
            if let port { rows.append((name, "\(scheme)://\(endpoints.host):\(port)\(path)")) }
        }
        add("apns", "https", endpoints.apns)
        add("apns_sandbox", "https", endpoints.sandbox)
        add("fcm", "https", endpoints.fcm)
        add("token_uri", "https", endpoints.fcm, "/token")
        add("admin", "http", simulator.adminPort)
        return rows
    }

    private static func json(_ simulator: Simulator) -> String {
        var buffer = ByteBuffer()
        var all = rows(simulator)
        all += [
            ("team_id", simulator.credentials.teamID), ("key_id", simulator.credentials.keyID),
            ("project_id", simulator.credentials.projectID),
        ]
        for (index, row) in all.enumerated() {
            buffer.append(index == 0 ? "{" : ",")
            buffer.append(jsonString: row.name)
            buffer.append(":")
            buffer.append(jsonString: row.value)
        }
        buffer.append("}\n")
        return buffer.text
    }

    private static func text(_ simulator: Simulator, _ arguments: Arguments) -> String {
        var table = TextTable([TextTable.Column(""), TextTable.Column("")])
        for row in rows(simulator) { table.add([row.name, row.value]) }
        table.add(["team, key", "\(simulator.credentials.teamID), \(simulator.credentials.keyID)"])
        table.add(["project", simulator.credentials.projectID])
        let directory = arguments.string("certificate-dir")
        table.add(["credentials", directory ?? "GET /keys on the admin port, or --certificate-dir DIR"])
        return table.render(style: Console.style)
    }
}

/// Waits for the signals that end the process.
private final class TerminationWaiter: SignalHandler {
    private let loop: EventLoop
    private var source: SignalSource?

    init() throws(SystemFailure) {
        loop = try EventLoop()
        source = try SignalSource(loop: loop, signals: [Signals.interrupt, Signals.terminate], handler: self)
    }

    func wait() { loop.run() }

    func signalled(_ signal: Int32) { loop.stop() }
}
