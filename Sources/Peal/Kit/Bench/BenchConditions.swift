internal import EventLoop
internal import HTTP2
internal import Kafka
internal import Security
internal import Terminal

/// What a run was made on and with.
struct BenchConditions: Sendable {
    /// A program or library with its version.
    struct Version: Equatable, Sendable {
        let name: String
        let version: String
    }

    /// Cores, processor, memory and kernel.
    var machine = ""
    /// The distribution; empty when it doesn't say.
    var system = ""
    /// The commit of the source tree that the programs lie in, with `-dirty` when it was changed since; empty
    /// when there is none.
    var commit = ""
    var versions: [Version] = []
    /// Programs that wanted a core before the run began.
    var load = 0.0
    /// Fewer runs and requests than usual.
    var isQuick = false
    /// The programs were built without optimisation.
    var isDebug = false

    /// This machine and what is installed on it. Runs `git`, `h2load` and `redis-server` for their versions.
    static func read(isQuick: Bool) -> BenchConditions {
        var found = BenchConditions()
        found.machine = Machine.describe()
        found.load = Machine.load
        found.system = distribution((try? Files.readText(path: "/etc/os-release", maxBytes: 1 << 16)) ?? "")
        found.isQuick = isQuick
        #if DEBUG
        found.isDebug = true
        #endif
        var outputs: [String] = []
        if let directory = try? Files.makeTemporaryDirectory(prefix: "peal-bench") {
            defer { Files.removeTree(directory) }
            for words in [
                ["git", "-C", StackOptions.ownDirectory, "describe", "--always", "--dirty", "--exclude=*"],
                ["h2load", "--version"], ["redis-server", "--version"],
            ] {
                let run = try? MeasuredRun(words, logPath: "\(directory)/version", deadlineMs: 10_000)
                outputs.append(run?.output ?? "")
            }
        }
        found.commit = outputs.first.map { firstWord($0) } ?? ""
        found.versions =
            [
                Version(name: "nghttp2", version: HTTP2Library.version),
                Version(name: "OpenSSL", version: SecurityLibrary.version),
                Version(name: "librdkafka", version: KafkaLibrary.version),
                Version(name: "h2load", version: outputs.count > 1 ? loadGenerator(outputs[1]) : ""),
                Version(name: "Redis", version: outputs.count > 2 ? redis(outputs[2]) : ""),
            ].filter { !$0.version.isEmpty }
        return found
    }

    /// The name in `PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"` of os-release(5).
    static func distribution(_ text: String) -> String {
        for line in text.split(separator: "\n") where line.hasPrefix("PRETTY_NAME=") {
            return line.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" }
        }
        return ""
    }

    /// The version in `h2load nghttp2/1.52.0`.
    static func loadGenerator(_ text: String) -> String {
        text.split(separator: "\n").first?.split(separator: "/").dropFirst().first.map { firstWord($0) } ?? ""
    }

    /// The version in `Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64`.
    static func redis(_ text: String) -> String {
        text.split { $0 == " " || $0 == "\n" }.first { $0.hasPrefix("v=") }.map { String($0.dropFirst(2)) }
            ?? ""
    }

    private static func firstWord(_ text: some StringProtocol) -> String {
        text.split { $0 == " " || $0 == "\n" }.first.map { String($0) } ?? ""
    }

    /// The lines at the head of the report.
    func text(style: TextStyle) -> String {
        var text = machine + (system.isEmpty ? "" : ", \(system)") + "\n"
        let parts =
            (commit.isEmpty ? [] : ["Peal \(commit)"]) + versions.map { "\($0.name) \($0.version)" }
        if !parts.isEmpty { text += parts.joined(separator: ", ") + "\n" }
        text += "load \(Human.decimal(load, places: 2)) before the run\n"
        if load > 0.5 {
            text += style(.yellow, "Other programs were running, which shows in every rate.") + "\n"
        }
        if isDebug {
            text +=
                style(.red, "A debug build: these figures say nothing about Peal. Use 'make bench'.") + "\n"
        }
        if isQuick {
            text += style(.yellow, "A quick run: fewer requests and turns than the targets are meant for.")
            text += "\n"
        }
        return text
    }

    /// The members at the head of the JSON.
    func add(to out: inout BenchJSON) {
        out.add("machine", text: machine)
        if !system.isEmpty { out.add("system", text: system) }
        if !commit.isEmpty { out.add("commit", text: commit) }
        var list = BenchJSON()
        for one in versions { list.add(one.name, text: one.version) }
        out.add("versions", json: list.finished)
        out.add("load_average", load, places: 2)
        out.add("debug", json: isDebug ? "true" : "false")
        out.add("quick", json: isQuick ? "true" : "false")
    }
}
