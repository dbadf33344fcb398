/// The script for zsh: a file for a folder of `fpath`, or to be sourced.
enum ZshCompletions {
    static func script(_ programs: [Command], source: String) -> String {
        let names = programs.map(\.name).joined(separator: " ")
        let cases = programs.map { root in
            "        \(root.name)) \(CompletionScript.function([root.name])) ;;"
        }
        return """
            #compdef \(names)
            # Made by '\(source)'. To load them: source <(\(source)) after compinit, or write them into a
            # file _peal in a folder of $fpath.

            \(programs.flatMap(CommandNode.all).map(function).joined(separator: "\n"))
            _peal() {
                case "$service" in
            \(cases.joined(separator: "\n"))
                esac
            }

            # Loaded from $fpath this text is the function _peal itself.
            if [[ "$funcstack[1]" == _peal ]]; then
                _peal "$@"
            else
                compdef _peal \(names)
            fi

            """
    }

    private static func function(_ node: CommandNode) -> String {
        var specs = (node.options + Command.standard).flatMap(specs)
        let commands = node.command.subcommands
        if !commands.isEmpty {
            specs += ["'1:command:->command'", "'*::argument:->argument'"]
        } else if node.command.operands != nil {
            specs.append("'*:\(escaped(node.command.operands ?? "")):\(action(node.operands))'")
        }
        let list = specs.map { "        \($0)" }.joined(separator: " \\\n")
        var text = """
            \(CompletionScript.function(node.path))() {
                local state line
                typeset -A opt_args
                _arguments -C -s -S \\
            \(list)

            """
        if !commands.isEmpty {
            let names = commands.map { command in
                "            " + CompletionScript.quoted("\(command.name):\(colons(command.summary))")
            }
            let cases = commands.map {
                "                \($0.name)) \(CompletionScript.function(node.path + [$0.name])) ;;"
            }
            text += """
                    case "$state" in
                        command)
                            local -a commands=(
                \(names.joined(separator: "\n"))
                            )
                            _describe -t commands command commands ;;
                        argument)
                            case "$words[1]" in
                \(cases.joined(separator: "\n"))
                            esac ;;
                    esac

                """
        }
        return text + "}\n"
    }

    private static func specs(_ option: Option) -> [String] {
        var isRepeated = false
        if case .values = option.kind { isRepeated = true }
        let about = "[\(escaped(CompletionScript.short(option.help)))]"
        let value = option.placeholder.map { placeholder in
            ":\(escaped(placeholder)):\(action(CompletionHint(placeholder)))"
        }
        let names = ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
        let others = isRepeated ? "*" : names.count > 1 ? "(\(names.joined(separator: " ")))" : ""
        return names.map { name in
            let mark = value == nil ? "" : name.hasPrefix("--") ? "=" : "+"
            return CompletionScript.quoted(others + name + mark + about + (value ?? ""))
        }
    }

    private static func action(_ hint: CompletionHint) -> String {
        switch hint {
        case .nothing: " "
        case .file: "_files"
        case .directory: "_files -/"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }

    private static func colons(_ text: String) -> String {
        text.split("\\", by: "\\\\").split(":", by: "\\:")
    }

    private static func escaped(_ text: String) -> String {
        colons(text).split("[", by: "\\[").split("]", by: "\\]")
    }
}

/// The script for fish.
enum FishCompletions {
    static func script(_ programs: [Command], source: String) -> String {
        """
        # Completions of \(programs.map(\.name).joined(separator: ", ")) for fish.
        # Made by '\(source)'; to load them: \(source) | source

        """ + programs.map(program).joined(separator: "\n")
    }

    private static func program(_ root: Command) -> String {
        let nodes = CommandNode.all(of: root)
        let test = CompletionScript.function([root.name, "at"])
        return """
            function \(test)
                set -l words (commandline -opc)
                set -e words[1]
                set -l at \(quoted(root.name))
                set -l skips 0
                for word in $words
                    if test $skips = 1
                        set skips 0
                        continue
                    end
                    switch "$at $word"
                        case '* --'
                            break
            \(nodes.flatMap(steps).map { "            " + $0 }.joined(separator: "\n"))
                    end
                end
                test "$at" = "$argv[1]"
            end
            complete -c \(root.name) -f
            \(nodes.flatMap { lines($0, root.name, test) }.joined(separator: "\n"))

            """
    }

    private static func steps(_ node: CommandNode) -> [String] {
        var lines: [String] = []
        for command in node.command.subcommands {
            let path = quoted("\(node.key) \(command.name)")
            lines += ["case \(path)", "    set at \(path)"]
        }
        let words = node.options.filter { $0.placeholder != nil }.flatMap { option in
            ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
        }
        if !words.isEmpty {
            lines.append("case " + words.map { quoted("\(node.key) \($0)") }.joined(separator: " "))
            lines.append("    set skips 1")
        }
        return lines
    }

    private static func lines(_ node: CommandNode, _ program: String, _ test: String) -> [String] {
        let head = "complete -c \(program) -n \(quoted("\(test) \"\(node.key)\""))"
        var lines = node.command.subcommands.map { "\(head) -a \($0.name) -d \(quoted($0.summary))" }
        for option in node.options + Command.standard {
            var line = head + " -l \(option.name)"
            if let short = option.short { line += " -s \(short)" }
            if let hint = option.hint { line += (hint == .file ? " -r" : " -x") + action(hint) }
            lines.append(line + " -d \(quoted(CompletionScript.short(option.help)))")
        }
        if node.command.subcommands.isEmpty, node.operands != .nothing {
            lines.append(head + action(node.operands))
        }
        return lines
    }

    private static func action(_ hint: CompletionHint) -> String {
        switch hint {
        case .nothing: ""
        case .file: " -F"
        case .directory: " -a '(__fish_complete_directories (commandline -ct))'"
        case .words(let words): " -a \(quoted(words.joined(separator: " ")))"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.split("\\", by: "\\\\").split("'", by: "\\'") + "'"
    }
}
