internal import Terminal

/// `peal size`: how many pods, partitions and shards carry a load.
enum SizeCommand {
    static let command = Command(
        "size", summary: "say how many pods, partitions and shards carry a load",
        options: SizeRequest.options + [Option("json", help: "print the plan as one JSON object")],
        details: """
            Arithmetic over what `peal bench` measured on two cores; nothing is contacted. Measure on your own
            machines before you buy any. docs/scaling.md works three sizes out.

              peal size --rate 50000 --devices 20000000 --recipients 15000000
              peal size --rate 10000 --broadcast 5000000 --round-trip 120
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let report = SizeReport(plan: SizePlan(try SizeRequest(arguments)))
        Console.write(arguments.flag("json") ? report.json : report.text(style: Console.style))
        return 0
    }
}
