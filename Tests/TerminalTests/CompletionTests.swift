import Terminal
import Testing

/// A program with everything that a command line can have.
let shellTool = Command(
    "my-tool", summary: "Does things.",
    options: [Option("verbose", short: "v", help: "Say more.")],
    subcommands: [
        Command(
            "send", summary: "Sends 'files': all of them.", operands: "[FILE...|-]",
            options: [
                Option("lane", short: "l", .value("urgent|normal|bulk"), help: "Which lane. One of three."),
                Option("out", short: "o", .value("FILE"), help: "Where it goes [out]."),
                Option("dir", .value("DIR"), help: "A folder."),
                Option("property", short: "X", .values("NAME=VALUE"), help: "A property."),
                Option("dry-run", help: "Only check."),
            ],
            details: """
                A paragraph with a \\ and a .dot
                .and a line that begins with one.

                  my-tool send 'a' -

                More.
                """),
        Command(
            "key", summary: "makes keys", subcommands: [Command("new", summary: "makes one")]),
        Command("shell", summary: "prints", operands: "bash|zsh|fish"),
    ], details: "It isn't \"much\".")

@Suite struct CompletionTests {
    @Test func eachShellHasAScriptAndNoOtherHas() {
        for shell in CompletionScript.shells {
            let text = CompletionScript.make(shell: shell, programs: [shellTool], source: "x")
            #expect(text?.contains("my-tool") == true)
        }
        #expect(CompletionScript.make(shell: "csh", programs: [shellTool], source: "x") == nil)
    }

    /// bash itself completes a line; the last word is the one under way.
    private func complete(_ words: [String]) throws -> [String] {
        let script = try #require(
            CompletionScript.make(shell: "bash", programs: [shellTool], source: "x"))
        // Bash splits '--name=value' into three words before it asks.
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        let driver = """
            \(script)
            COMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1)
            __my_tool
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let result = try Shell.run("bash", ["--norc", "-c", driver])
        #expect(result.errors == "")
        return result.output.split(separator: "\n").map(String.init).sorted()
    }

    @Test func bashOffersCommandsOptionsAndValues() throws {
        #expect(try complete(["my-tool", ""]) == ["key", "send", "shell"])
        #expect(try complete(["my-tool", "se"]) == ["send"])
        #expect(try complete(["my-tool", "-v", "ke"]) == ["key"])
        #expect(try complete(["my-tool", "key", ""]) == ["new"])
        #expect(try complete(["my-tool", "key", "new", "--v"]) == ["--verbose", "--version"])
        #expect(try complete(["my-tool", "send", "--d"]) == ["--dir", "--dry-run"])
        #expect(try complete(["my-tool", "send", "--lane", ""]) == ["bulk", "normal", "urgent"])
        #expect(try complete(["my-tool", "send", "-l", "n"]) == ["normal"])
        #expect(try complete(["my-tool", "send", "--lane", "=", "b"]) == ["bulk"])
        #expect(try complete(["my-tool", "send", "--lane", "="]) == ["bulk", "normal", "urgent"])
        #expect(try complete(["my-tool", "shell", "z"]) == ["zsh"])
        // A value that looks like a command or an option is neither.
        #expect(try complete(["my-tool", "send", "--out", "key", "--lane", "u"]) == ["urgent"])
        #expect(try complete(["my-tool", "send", "--", "--l"]).isEmpty)
        #expect(try complete(["my-tool", "send", "-X", ""]).isEmpty)
    }

    @Test func bashOffersFilesWhereAFileBelongs() throws {
        #expect(try complete(["my-tool", "send", "/etc/host"]).contains("/etc/hostname"))
        #expect(try complete(["my-tool", "send", "--out", "/etc/host"]).contains("/etc/hostname"))
        #expect(try complete(["my-tool", "send", "--dir", "/et"]) == ["/etc"])
        #expect(try complete(["my-tool", "send", "--dir", "/etc/hostn"]).isEmpty)
    }

    @Test(arguments: CompletionScript.shells)
    func theShellItselfFindsNoFault(shell: String) throws {
        guard Shell.exists(shell) else { return }
        let script = try #require(
            CompletionScript.make(shell: shell, programs: [shellTool], source: "x"))
        let result = try Shell.run(shell, ["-n", "/dev/stdin"], input: script)
        #expect(result.code == 0 && result.errors == "" && result.output == "")
    }

    @Test func fishOffersCommandsOptionsAndValues() throws {
        guard Shell.exists("fish") else { return }
        let script = try #require(
            CompletionScript.make(shell: "fish", programs: [shellTool], source: "x"))
        func complete(_ line: String) throws -> [String] {
            let result = try Shell.run("fish", ["--no-config", "-c", "\(script)\ncomplete -C '\(line)'"])
            #expect(result.errors == "")
            return result.output.split(separator: "\n").compactMap {
                $0.split(separator: "\t").first.map(String.init)
            }.sorted()
        }
        #expect(try complete("my-tool ") == ["key", "send", "shell"])
        #expect(try complete("my-tool key ") == ["new"])
        #expect(try complete("my-tool send --d") == ["--dir", "--dry-run"])
        #expect(try complete("my-tool send --lane ") == ["bulk", "normal", "urgent"])
        #expect(try complete("my-tool shell z") == ["zsh"])
        #expect(try complete("my-tool send --out key -l u") == ["urgent"])
    }

    @Test func aDescriptionOfManyWordsIsOneForZsh() throws {
        let script = try #require(CompletionScript.make(shell: "zsh", programs: [shellTool], source: "x"))
        #expect(script.hasPrefix("#compdef my-tool\n"))
        #expect(script.contains("'(--out -o)--out=[Where it goes \\[out\\]]:FILE:_files'"))
        #expect(script.contains("'*-X+[A property]:NAME=VALUE: '"))
        #expect(script.contains("'send:Sends '\\''files'\\''\\: all of them.'"))
    }
}

@Suite struct ManPageTests {
    private let page = ManPage(shellTool, version: "9.8", date: "2026-01-02", others: ["my-tool", "other"])

    @Test func thePageSaysWhatTheProgramSays() {
        let text = page.text
        #expect(page.fileName == "my-tool.1")
        #expect(text.contains(".TH MY\\-TOOL 1 2026-01-02 \"Peal 9.8\" \"Peal\""))
        #expect(text.contains("my\\-tool \\- does things\n"))
        #expect(text.contains(".SS key new\n"))
        #expect(text.contains("\\fB\\-l\\fR, \\fB\\-\\-lane\\fR \\fIurgent|normal|bulk\\fR"))
        #expect(text.contains("A property. Can be repeated."))
        #expect(text.contains("a \\e and a .dot\n\\&.and a line"))
        #expect(text.contains("my\\-tool send \\(aqa\\(aq \\-"))
        #expect(text.contains(".BR other (1)\n") && !text.contains(".BR my\\-tool (1)"))
    }

    @Test func formattersFindNoFault() throws {
        if Shell.exists("mandoc") {
            let result = try Shell.run("mandoc", ["-Tlint", "-Wwarning", "/dev/stdin"], input: page.text)
            #expect(result.output == "" && result.code == 0)
        }
        if Shell.exists("groff") {
            let result = try Shell.run("groff", ["-man", "-ww", "-Tascii", "/dev/stdin"], input: page.text)
            #expect(result.errors == "" && result.code == 0)
            #expect(result.output.contains("A paragraph with a \\ and a .dot .and a line that begins"))
        }
    }
}
