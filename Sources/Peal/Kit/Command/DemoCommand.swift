internal import Terminal

/// `peal demo`: a real file of notifications through everything, and every delivery checked.
enum DemoCommand {
    static let command = Command(
        "demo", summary: "send a file of notifications through the whole pipeline and check every one",
        options: [
            Option(
                "count", .value("N"), help: "jobs to send; the file is repeated with fresh recipients (20000)"
            ),
            Option("input", .value("FILE"), help: "jobs, one JSON object a line (the demo's own)"),
            Option("devices", .value("FILE"), help: "recipients with their devices (the demo's own)"),
            Option("outage", .value("TIME"), help: "how long FCM answers 503 (3s; 0s for no outage)"),
            Option("patience", .value("TIME"), help: "how long to wait for news before giving up (60s)"),
            Option("json", help: "print the report as one JSON object on standard output"),
            Option("quiet", short: "q", help: "no progress on standard error"),
        ] + StackArguments.options,
        details: """
            Exits with 1 when a delivery is lost, sent twice without reason, or shows a wrong badge, and with
            2 when the run could not be made.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        var options = Demo.Options()
        options.stack = try StackArguments.stack(arguments)
        options.count = try arguments.integer("count", in: 1...10_000_000) ?? options.count
        options.outageMs = try arguments.durationMs("outage") ?? options.outageMs
        if let patience = try arguments.durationMs("patience") { options.patienceMs = UInt64(patience) }
        options.isVerbose = !arguments.flag("quiet")
        do throws(StackFailure) {
            let input = try DemoInput(
                jobsPath: try DemoFiles.path(arguments.string("input"), of: DemoFiles.jobs),
                devicesPath: try DemoFiles.path(arguments.string("devices"), of: DemoFiles.devices))
            let report = try Demo(options: options, input: input).run()
            return report.show(asJSON: arguments.flag("json"))
        } catch {
            Console.complain("peal demo: \(error)")
            return 2
        }
    }
}
