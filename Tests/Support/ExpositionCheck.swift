internal import Core
internal import EventLoop
internal import Foundation
package import Metrics

/// Whether what a process exposes is what its families say and what Prometheus wants to read.
package struct ExpositionCheck {
    /// One sample: its name, its labels and its value.
    package struct Sample {
        package var name: String
        package var labels: [(name: String, value: String)]
        package var value: Double

        package func label(_ name: String) -> String? { labels.first { $0.name == name }?.value }
    }

    /// The samples, in their order.
    package let samples: [Sample]
    private let text: String

    /// Over an exposition in Prometheus' text form.
    package init(_ text: String) {
        self.text = text
        samples = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { Self.sample($0) }
    }

    /// The sum of a metric's samples that `isWanted` chooses.
    package func sum(_ name: String, where isWanted: (Sample) -> Bool = { _ in true }) -> Int {
        Int(samples.filter { $0.name == name && isWanted($0) }.reduce(0) { $0 + $1.value })
    }

    /// What is wrong with it; nothing when it is as the families say.
    package func faults(families: [MetricFamily]) throws -> [String] {
        var faults: [String] = []
        let lines = text.split(separator: "\n")
        let declared = lines.filter { $0.hasPrefix("# TYPE ") }.map { String($0.split(separator: " ")[2]) }
        if Set(declared) != Set(families.map(\.name)) || declared.count != families.count {
            let odd = Set(declared).symmetricDifference(families.map(\.name)).sorted()
            faults.append("the families are not the declared ones: \(odd), \(declared.count)")
        }
        if samples.count != lines.count(where: { !$0.hasPrefix("#") }) {
            faults.append("a line can't be read")
        }
        var seen: Set<String> = []
        for sample in samples {
            let key =
                "\(sample.name){\(sample.labels.map { "\($0.name)=\($0.value)" }.joined(separator: ","))}"
            if !seen.insert(key).inserted { faults.append("\(key) comes twice") }
            if let fault = Self.fault(of: sample, families) { faults.append("\(key): \(fault)") }
        }
        return faults + (try Self.promtool(text))
    }

    private static func fault(of sample: Sample, _ families: [MetricFamily]) -> String? {
        let family = families.first { family in
            family.kind == .histogram
                ? ["_bucket", "_sum", "_count"].contains { family.name + $0 == sample.name }
                : family.name == sample.name
        }
        guard let family else { return "no family has it" }
        let names = sample.labels.map(\.name).filter { $0 != "le" }
        guard names == family.labels.map(\.name) else { return "its labels are not the family's" }
        for label in family.labels where !label.values.isEmpty {
            guard let value = sample.label(label.name), label.values.contains(value) else {
                return "\(label.name) has a value that isn't one of its set"
            }
        }
        return nil
    }

    /// What `promtool check metrics` has to say.
    package static func promtool(_ text: String) throws -> [String] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["promtool", "check", "metrics"]
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-promtool")
        defer { Files.removeTree(folder) }
        try Files.write(path: folder + "/in", text: text)
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: folder + "/in"))
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        switch process.terminationStatus {
        case 0: return said.isEmpty ? [] : ["promtool says: \(said)"]
        case 127: return ["promtool is missing; \"make deps-test\" installs it"]
        default: return ["promtool ended with \(process.terminationStatus) and says: \(said)"]
        }
    }

    /// Reads a sample; nil when it is none.
    private static func sample(_ line: Substring) -> Sample? {
        guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...])
        else {
            return nil
        }
        let head = line[..<space]
        guard let brace = head.firstIndex(of: "{") else {
            return Sample(name: String(head), labels: [], value: value)
        }
        guard head.last == "}" else { return nil }
        var labels: [(name: String, value: String)] = []
        var rest = head[head.index(after: brace)...].dropLast()
        while !rest.isEmpty {
            guard let equals = rest.firstIndex(of: "=") else { return nil }
            let name = String(rest[..<equals])
            rest = rest[rest.index(after: equals)...]
            guard rest.first == "\"" else { return nil }
            rest = rest.dropFirst()
            var text = ""
            while let next = rest.first, next != "\"" {
                rest = rest.dropFirst()
                guard next == "\\" else {
                    text.append(next)
                    continue
                }
                guard let escaped = rest.popFirst() else { return nil }
                text.append(escaped == "n" ? "\n" : escaped)
            }
            guard rest.popFirst() == "\"" else { return nil }
            labels.append((name, text))
            if rest.first == "," { rest = rest.dropFirst() }
        }
        return Sample(name: String(head[..<brace]), labels: labels, value: value)
    }
}
