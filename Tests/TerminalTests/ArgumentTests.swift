import Terminal
import Testing

private let command = Command(
    "tool", summary: "Does things.",
    options: [Option("verbose", short: "v", help: "Say more.")],
    subcommands: [
        Command(
            "send", summary: "Sends files.", operands: "[FILE...|-]",
            options: [
                Option(
                    "brokers", short: "b", .value("HOSTS"), environment: "TOOL_BROKERS",
                    help: "Where Kafka is."),
                Option("property", short: "X", .values("NAME=VALUE"), help: "A property."),
                Option("rate", .value("N"), help: "At most so many a second."),
                Option("wait", .value("TIME"), help: "How long."),
                Option("lane", .value("LANE"), help: "Which lane."),
                Option("dry-run", help: "Only check."),
                Option("quiet", short: "q", environment: "TOOL_QUIET", help: "Say less."),
            ], details: "More about it."),
        Command("status", summary: "Shows the status."),
    ])

private func run(_ words: String..., environment: [String: String] = [:]) throws -> Arguments {
    let request = try ArgumentParser.parse(words, for: command, environment: environment)
    guard case .run(let arguments) = request else {
        throw UsageFailure("not a run: \(request)")
    }
    return arguments
}

private func complaint(_ words: String...) -> String? {
    do {
        _ = try ArgumentParser.parse(words, for: command)
        return nil
    } catch {
        return error.message
    }
}

@Suite struct ArgumentTests {
    @Test func everySpellingOfAValueIsRead() throws {
        for words in [
            ["send", "--brokers", "a:1"], ["send", "--brokers=a:1"], ["send", "-b", "a:1"],
            ["send", "-ba:1"],
            ["send", "-b=a:1"], ["send", "-vqb", "a:1"],
        ] {
            let request = try ArgumentParser.parse(words, for: command)
            guard case .run(let arguments) = request else {
                Issue.record("\(words) did not run")
                continue
            }
            #expect(arguments.string("brokers") == "a:1", "\(words)")
            #expect(arguments.path == ["send"])
        }
    }

    @Test func flagsOperandsAndTheEndOfOptionsAreToldApart() throws {
        let arguments = try run("-v", "send", "a.json", "--dry-run", "-", "--", "--rate", "-x")
        #expect(arguments.flag("verbose") && arguments.flag("dry-run") && !arguments.flag("quiet"))
        #expect(arguments.operands == ["a.json", "-", "--rate", "-x"])
        // An option of the command above works below it too.
        #expect(try run("send", "--verbose").flag("verbose"))
    }

    @Test func valuesAreTyped() throws {
        let arguments = try run(
            "send", "--rate", "1_000", "--wait=250ms", "-X", "a=b=c", "-Xd=", "--lane", "bulk")
        #expect(try arguments.integer("rate") == 1000)
        #expect(try arguments.number("rate") == 1000)
        #expect(try arguments.durationMs("wait") == 250)
        #expect(try arguments.pairs("property").map(\.name) == ["a", "d"])
        #expect(try arguments.pairs("property").map(\.value) == ["b=c", ""])
        #expect(try arguments.choice("lane", of: ["bulk", "normal"]) == "bulk")
        #expect(try arguments.integer("wait-not-given") == nil)
    }

    @Test(arguments: ["-1", "x", "", "1.5", "99999999999999999999"])
    func aWrongNumberIsNamed(text: String) throws {
        let arguments = try run("send", "--rate=\(text)")
        let failure = #expect(throws: UsageFailure.self) { try arguments.integer("rate") }
        #expect(failure?.message.contains("--rate") == true)
        #expect(failure?.message.contains("\"\(text)\"") == true)
    }

    @Test func aValueOutsideTheChoicesNamesThem() throws {
        let arguments = try run("send", "--lane", "fast")
        let failure = #expect(throws: UsageFailure.self) {
            try arguments.choice("lane", of: ["bulk", "normal"])
        }
        #expect(failure?.message == "--lane takes bulk, normal, not \"fast\"")
    }

    @Test func mistakesAreExplainedWithASuggestion() {
        #expect(
            complaint("send", "--brokrs", "x") == "tool send has no option --brokrs; did you mean --brokers?")
        #expect(complaint("send", "--zzz") == "tool send has no option --zzz; see --help")
        #expect(complaint("sned") == "tool has no command \"sned\"; did you mean send?")
        #expect(complaint("send", "--rate") == "--rate needs a value: --rate N")
        #expect(complaint("send", "--dry-run=1") == "--dry-run takes no value")
        #expect(complaint("send", "-z") == "tool send has no option -z; see --help")
        #expect(complaint("status", "extra") == "tool status takes no argument, but got \"extra\"")
        #expect(complaint() == "tool needs a command: send, status")
        #expect(UsageFailure.exitCode == 64)
    }

    @Test func theEnvironmentStandsInForAnOptionThatIsNotGiven() throws {
        let environment = ["TOOL_BROKERS": "e:1", "TOOL_QUIET": "true"]
        #expect(try run("send", environment: environment).string("brokers") == "e:1")
        #expect(try run("send", environment: environment).flag("quiet"))
        #expect(try run("send", "-b", "a:1", environment: environment).string("brokers") == "a:1")
        #expect(
            try run("send", environment: ["TOOL_BROKERS": "", "TOOL_QUIET": "0"]).string("brokers") == nil)
        #expect(try !run("send", environment: ["TOOL_QUIET": "0"]).flag("quiet"))
    }

    @Test(arguments: [["--help"], ["-h"], ["help"], ["send", "--help"], ["send", "-h", "--rate"]])
    func helpIsAlwaysAtHand(words: [String]) throws {
        guard case .help(let text) = try ArgumentParser.parse(words, for: command) else {
            Issue.record("\(words) gave no help")
            return
        }
        #expect(text.contains(words.first == "send" ? "--brokers HOSTS" : "Shows the status."))
    }

    @Test func theHelpOfACommandIsComplete() throws {
        guard case .help(let text) = try ArgumentParser.parse(["send", "--help"], for: command) else {
            Issue.record("no help")
            return
        }
        #expect(
            text == """
                Sends files.

                Usage: tool send [OPTION...] [FILE...|-]

                Options:
                  -b, --brokers HOSTS        Where Kafka is. [TOOL_BROKERS]
                  -X, --property NAME=VALUE  A property. Can be repeated.
                      --rate N               At most so many a second.
                      --wait TIME            How long.
                      --lane LANE            Which lane.
                      --dry-run              Only check.
                  -q, --quiet                Say less. [TOOL_QUIET]
                  -h, --help                 Show this help.

                Options of every command:
                  -v, --verbose  Say more.

                More about it.

                """)
    }

    @Test func theVersionIsAskedFor() throws {
        guard case .version = try ArgumentParser.parse(["--version"], for: command) else {
            Issue.record("no version")
            return
        }
    }
}
