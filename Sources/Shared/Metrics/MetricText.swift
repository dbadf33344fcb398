/// Reads single figures out of an exposition in either form, for tools that ask another process.
package struct MetricText {
    private let text: String

    /// Over an exposition's text.
    package init(_ text: String) { self.text = text }

    /// The sum of a metric's samples, of all or of those whose label has the value; 0 without any.
    package func sum(_ name: String, where label: String? = nil, is value: String = "") -> Double {
        var sum = 0.0
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            let rest = line.dropFirst(name.utf8.count)
            guard rest.first == " " || rest.first == "{", let space = rest.lastIndex(of: " ") else {
                continue
            }
            if let label {
                let pair = "\(label)=\"\(value)\""
                guard rest.contains("{" + pair) || rest.contains("," + pair) else { continue }
            }
            sum += Double(rest[rest.index(after: space)...]) ?? 0
        }
        return sum
    }
}
