/// The completion scripts of whole programs, made from the descriptions of their commands.
package enum CompletionScript {
    /// The shells that there are scripts for.
    package static let shells = ["bash", "zsh", "fish"]

    /// The script that completes all the programs in the shell; nil for one that is none of ``shells``.
    /// `source` is the command that made it, for the script's first lines.
    package static func make(shell: String, programs: [Command], source: String) -> String? {
        switch shell {
        case "bash": BashCompletions.script(programs, source: source)
        case "zsh": ZshCompletions.script(programs, source: source)
        case "fish": FishCompletions.script(programs, source: source)
        default: nil
        }
    }

    /// A name for a shell function of a command: `__peal_producer_key_new`.
    static func function(_ path: [String]) -> String {
        "__" + path.joined(separator: "_").map { $0 == "-" ? "_" : String($0) }.joined()
    }

    /// The text in single quotes, for bash and zsh.
    static func quoted(_ text: String) -> String { "'" + text.split("'", by: "'\\''") + "'" }

    /// The beginning of a help text, up to its first full stop and without it, as a description.
    static func short(_ help: String) -> String {
        var text = Substring(help)
        if let end = text.firstRange(of: ". ") { text = text[..<end.lowerBound] }
        while text.last == "." || text.last == " " { text = text.dropLast() }
        return String(text)
    }
}

extension String {
    /// The text with every `mark` replaced.
    func split(_ mark: Character, by replacement: String) -> String {
        reduce(into: "") { $0 += $1 == mark ? replacement : String($1) }
    }
}

/// The script for bash; it needs nothing beside bash.
enum BashCompletions {
    static func script(_ programs: [Command], source: String) -> String {
        """
        # Completions of \(programs.map(\.name).joined(separator: ", ")) for bash.
        # Made by '\(source)'; to load them: source <(\(source))

        """ + programs.map(program).joined(separator: "\n") + "\n"
    }

    private static func program(_ root: Command) -> String {
        let nodes = CommandNode.all(of: root)
        let function = CompletionScript.function([root.name])
        return """
            \(function)() {
                local cur=${COMP_WORDS[COMP_CWORD]} at='\(root.name)' wants='' ended='' word i
                COMPREPLY=()
                for ((i = 1; i < COMP_CWORD; i++)); do
                    word=${COMP_WORDS[i]}
                    if [[ -n $wants ]]; then
                        # Bash takes '--name=value' apart at the equals sign.
                        [[ $word == '=' ]] || wants=''
                        continue
                    fi
                    [[ -n $ended ]] && continue
                    case "$at $word" in
                        *' --') ended=1 ;;
            \(nodes.flatMap(steps).map { "            " + $0 }.joined(separator: "\n"))
                    esac
                done
                [[ $cur == '=' ]] && cur=''
                if [[ -z $wants ]]; then
                    case "$at" in
            \(nodes.map(offers).map { "            " + $0 }.joined(separator: "\n"))
                    esac
                fi
                case "$wants" in
                    file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); compopt -o filenames 2>/dev/null ;;
                    directory) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); compopt -o filenames 2>/dev/null ;;
                    words:*) mapfile -t COMPREPLY < <(compgen -W "${wants#words:}" -- "$cur") ;;
                esac
                return 0
            }
            complete -F \(function) \(root.name)

            """
    }

    /// Where a word leads from the node, and which of its options take a value.
    private static func steps(_ node: CommandNode) -> [String] {
        var lines = node.command.subcommands.map {
            "'\(node.key) \($0.name)') at='\(node.key) \($0.name)' ;;"
        }
        for option in node.options {
            guard let hint = option.hint else { continue }
            let words = ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
            let patterns = words.map { "'\(node.key) \($0)'" }.joined(separator: " | ")
            lines.append("\(patterns)) wants='\(name(hint))' ;;")
        }
        return lines
    }

    /// What is offered at the node where no option's value is due.
    private static func offers(_ node: CommandNode) -> String {
        let options = (node.options + Command.standard).flatMap { option in
            ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
        }
        let commands = node.command.subcommands.map(\.name)
        let here = commands.isEmpty ? name(node.operands) : "words:" + commands.joined(separator: " ")
        return "'\(node.key)') if [[ -z $ended && $cur == -* ]]; then "
            + "wants='words:\(options.joined(separator: " "))'; else wants='\(here)'; fi ;;"
    }

    private static func name(_ hint: CompletionHint) -> String {
        switch hint {
        case .nothing: "nothing"
        case .file: "file"
        case .directory: "directory"
        case .words(let words): "words:" + words.joined(separator: " ")
        }
    }
}
