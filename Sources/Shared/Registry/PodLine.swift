internal import Core
internal import EventLoop
internal import Glibc

/// The JSON of a line in `peal:pods`: what all roles tell, then what only one does.
///
/// - Threading: none of its own.
package struct PodLine: ~Copyable {
    private var out = ByteBuffer(capacity: 512)

    /// Begins a line with what all roles tell. `startedMs` is in ms since 1970; `ready` is empty when the
    /// process is ready, else it says why not.
    package init(role: String, startedMs: Int64, ready: String) {
        out.append("{\"role\":")
        out.append(jsonString: role)
        out.append(",\"version\":")
        out.append(jsonString: Version.current)
        set("started_ms", startedMs)
        set("beat_ms", Clock.wallMs)
        set("rss_bytes", Int64(clamping: Clock.residentBytes))
        set("cpu_ms", Int64(clamping: Clock.processCPUNs / 1_000_000))
        set("ready", ready)
    }

    /// Writes a whole number.
    package mutating func set(_ name: StaticString, _ value: Int64) {
        begin(name)
        out.append(decimal: value)
    }

    /// Writes a number with one digit behind the point.
    package mutating func set(_ name: StaticString, tenths value: Double) {
        begin(name)
        let tenths = (value.isFinite ? min(max(0, value), 1e15) : 0) * 10
        let whole = Int64(tenths.rounded())
        out.append(text: "\(whole / 10).\(whole % 10)")
    }

    /// Writes a text, cut to 300 characters.
    package mutating func set(_ name: StaticString, _ value: String) {
        begin(name)
        out.append(jsonString: String(value.prefix(Self.textMax)))
    }

    /// Writes a list of texts, of which the first 32 count.
    package mutating func set(_ name: StaticString, _ values: some Sequence<String>) {
        begin(name)
        out.append(byte: UInt8(ascii: "["))
        for (place, value) in values.prefix(Self.elementsMax).enumerated() {
            if place > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append(jsonString: String(value.prefix(Self.textMax)))
        }
        out.append(byte: UInt8(ascii: "]"))
    }

    /// Writes an object of numbers, of which the first 32 count.
    package mutating func set(_ name: StaticString, _ values: some Sequence<(String, Int64)>) {
        begin(name)
        out.append(byte: UInt8(ascii: "{"))
        for (place, (key, value)) in values.prefix(Self.elementsMax).enumerated() {
            if place > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append(jsonString: key)
            out.append(byte: UInt8(ascii: ":"))
            out.append(decimal: value)
        }
        out.append(byte: UInt8(ascii: "}"))
    }

    /// The whole line.
    package consuming func end() -> [UInt8] {
        out.append(byte: UInt8(ascii: "}"))
        return out.array
    }

    private mutating func begin(_ name: StaticString) {
        out.append(",\"")
        out.append(name)
        out.append("\":")
    }

    // A line is written every second and read by everybody who looks: it stays short.
    private static let textMax = 300
    private static let elementsMax = 32

    /// This process's name among the pods: the host's name and the process id, such as `worker-6f7c/17`.
    package static var podName: String {
        var text = [CChar](repeating: 0, count: 256)
        let result = unsafe text.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe gethostname(start, buffer.count - 1)
        }
        let host =
            result == 0
            ? String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            : "localhost"
        return "\(host)/\(getpid())"
    }
}
