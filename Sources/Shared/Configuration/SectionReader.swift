import YAML

/// What all sections of one load share: the file, the environment and what is wrong so far.
final class LoadContext {
    let file: String
    /// Relative paths in the file are relative to this directory.
    let directory: String
    let environment: [String: String]
    private(set) var problems: [ConfigurationFailure.Problem] = []
    private(set) var usedVariables: Set<String> = []
    private(set) var knownVariables: Set<String> = []
    /// More problems than this are not shown.
    private static let problemsMax = 25

    init(file: String, environment: [String: String]) {
        self.file = file
        self.environment = environment
        directory =
            file.contains("/") ? String(file.prefix(upTo: file.lastIndex(of: "/") ?? file.startIndex)) : ""
    }

    func report(_ code: ConfigurationFailure.Code, at place: String, _ message: String) {
        guard problems.count < Self.problemsMax else { return }
        problems.append(ConfigurationFailure.Problem(code: code, place: place, message: message))
    }

    func variable(_ name: String) -> String? {
        knownVariables.insert(name)
        guard let value = environment[name] else { return nil }
        usedVariables.insert(name)
        return value
    }

    func place(line: Int) -> String { "\(file):\(line)" }
}

/// Reads one mapping of the configuration: each value from the environment if it is set there, else from the
/// file, else the default. What nobody asked for is reported by `finish` as an unknown key.
final class SectionReader {
    /// A text and where it came from.
    struct Found {
        let text: String
        let place: String
    }

    let context: LoadContext
    /// The keys from the root, such as `["kafka", "brokers"]`.
    let path: [String]
    /// The line of the section's own key.
    let line: Int
    private let entries: [YAMLNode.Entry]
    private var asked: [String] = []

    init(context: LoadContext, path: [String], line: Int, node: YAMLNode?) {
        self.context = context
        self.path = path
        self.line = line
        if let node, !node.isNull, node.entries == nil {
            context.report(
                .badValue, at: context.place(line: node.line),
                "'\(path.joined(separator: "."))' is \(node.kindName); write a mapping of settings under it")
        }
        entries = node?.entries ?? []
    }

    /// `kafka.brokers`
    func name(_ key: String) -> String { (path + [key]).joined(separator: ".") }
    /// `PEAL_KAFKA_BROKERS`
    func variableName(_ key: String) -> String { Self.variableName(path + [key]) }

    static func variableName(_ path: [String]) -> String {
        "PEAL_"
            + path.map { part in
                String(part.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
            }.joined(separator: "_")
    }

    /// Whether the file has the section, or the environment something of it.
    var isPresent: Bool {
        let prefix = Self.variableName(path) + "_"
        return !entries.isEmpty || context.environment.keys.contains { $0.hasPrefix(prefix) }
    }

    /// The place to name when something of this section is missing.
    var place: String { context.place(line: max(1, line)) }

    /// Whether the file or the environment has the key.
    func has(_ key: String) -> Bool {
        context.environment[variableName(key)] != nil
            || entries.contains { $0.key == key && !$0.value.isNull }
    }

    func report(_ code: ConfigurationFailure.Code, _ found: Found, _ key: String, _ message: String) {
        context.report(code, at: found.place, "\(name(key)): \(message)")
    }

    /// The scalar under the key.
    func find(_ key: String) -> Found? {
        asked.append(key)
        let variable = variableName(key)
        if let value = context.variable(variable) { return Found(text: value, place: variable) }
        guard let entry = entries.first(where: { $0.key == key }), !entry.value.isNull else { return nil }
        guard let text = entry.value.text else {
            context.report(
                .badValue, at: context.place(line: entry.line),
                "\(name(key)) is \(entry.value.kindName); write a single value")
            return nil
        }
        return Found(text: text, place: context.place(line: entry.value.line))
    }

    /// The texts under the key: a list, or one text with commas.
    func findList(_ key: String) -> [Found]? {
        let fromFile = entries.first { $0.key == key }?.value
        guard context.environment[variableName(key)] == nil, let elements = fromFile?.elements else {
            guard let found = find(key) else { return nil }
            return found.text.split(separator: ",").map { part in
                Found(text: Self.trimmed(String(part)), place: found.place)
            }
        }
        asked.append(key)
        _ = context.variable(variableName(key))
        return elements.compactMap { element in
            let place = context.place(line: element.line)
            guard let text = element.text else {
                context.report(
                    .badValue, at: place, "\(name(key)): \(element.kindName) in the list; write text")
                return nil
            }
            return Found(text: text, place: place)
        }
    }

    /// The section under the key; an empty one when there is none.
    func section(_ key: String) -> SectionReader {
        asked.append(key)
        let entry = entries.first { $0.key == key }
        return SectionReader(
            context: context, path: path + [key], line: entry?.line ?? line, node: entry?.value)
    }

    /// The named sections under this one, in the order of the file.
    func namedSections() -> [(name: String, section: SectionReader)] {
        entries.map { entry in
            asked.append(entry.key)
            return (
                entry.key,
                SectionReader(
                    context: context, path: path + [entry.key], line: entry.line, node: entry.value)
            )
        }
    }

    /// The keys of the file that are not among `known`, with their texts.
    func otherEntries(than known: [String]) -> [YAMLNode.Entry] {
        entries.filter { !known.contains($0.key) }
    }

    /// Notes that a key is known though it was not read by `find`.
    func accept(_ key: String) { asked.append(key) }

    /// Reports the keys that nobody asked for.
    func finish() {
        for entry in entries where !asked.contains(entry.key) {
            let hint =
                Suggestion.nearest(to: entry.key, among: asked).map { "did you mean '\($0)'?" }
                ?? "known here: \(Set(asked).sorted().joined(separator: ", "))"
            context.report(
                .unknownKey, at: context.place(line: entry.line), "unknown key '\(name(entry.key))'; \(hint)")
        }
    }

    static func trimmed(_ text: String) -> String {
        let space: Set<Character> = [" ", "\t", "\n", "\r", "\r\n"]
        return String(text.drop { space.contains($0) }.reversed().drop { space.contains($0) }.reversed())
    }
}
