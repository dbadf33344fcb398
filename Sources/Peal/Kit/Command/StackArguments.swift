internal import Terminal

/// The options that every command with a stack of its own has.
enum StackArguments {
    static let options = [
        Option("workers", .value("N"), help: "worker processes (1)"),
        Option("shards", .value("N"), help: "sending threads of each worker (one a core)"),
        Option("partitions", .value("N"), help: "partitions of each topic (16)"),
        Option("dir", .value("DIR"), help: "put configuration, credentials and logs here, and leave them"),
        Option("keep", help: "leave the temporary directory"),
        Option("log-level", .value("LEVEL"), help: "of the programs' logs: trace to critical (info)"),
    ]

    /// The options' values on top of the defaults.
    static func stack(_ arguments: Arguments) throws(UsageFailure) -> StackOptions {
        var options = StackOptions()
        options.workers = try arguments.integer("workers", in: 1...64) ?? options.workers
        options.partitions = try arguments.integer("partitions", in: 1...1000) ?? options.partitions
        if let shards = try arguments.integer("shards", in: 1...256) {
            options.settings["worker"] = ["shards: \(shards)"]
        }
        options.directory = arguments.string("dir")
        options.keepsDirectory = arguments.flag("keep")
        options.logLevel =
            try arguments.choice(
                "log-level", of: ["trace", "debug", "info", "notice", "warning", "error", "critical"])
            ?? options.logLevel
        return options
    }
}
