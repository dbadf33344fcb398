internal import Terminal

/// `peal completions`: what a shell needs to complete the programs' command lines.
enum CompletionsCommand {
    static let command = Command(
        "completions", summary: "print a shell's completions for all five programs",
        operands: "bash|zsh|fish",
        details: """
            The script is made from what the programs say of themselves, so make it anew after an update.

              source <(peal completions bash)                      # in ~/.bashrc
              source <(peal completions zsh)                       # in ~/.zshrc, after compinit
              peal completions fish | source                       # in ~/.config/fish/config.fish
              peal completions zsh > /usr/local/share/zsh/site-functions/_peal
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let choices = CompletionScript.shells.joined(separator: ", ")
        guard arguments.operands.count == 1, let shell = arguments.operands.first else {
            throw UsageFailure("completions takes one shell: \(choices)")
        }
        let source = "peal completions \(shell)"
        guard
            let script = CompletionScript.make(shell: shell, programs: Programs.all, source: source)
        else {
            throw UsageFailure("completions knows \(choices), not \"\(shell)\"")
        }
        Console.write(script)
        return 0
    }
}
