internal import Core
internal import EventLoop

/// The file that holds the JSON of an earlier run.
struct BenchRecord {
    /// Its members.
    let value: JSONValue

    /// Reads the record; nil when there is no such file.
    /// - Throws: `.files` when it can't be read or is something else.
    init?(path: String) throws(StackFailure) {
        guard Files.exists(path) else { return nil }
        let text: String
        do throws(SystemFailure) { text = try Files.readText(path: path) } catch {
            throw StackFailure(.files, "\(error)")
        }
        try self.init(text: text, path: path)
    }

    /// Understands the text of a record.
    /// - Throws: `.files` when it is something else, so that no other file is replaced by a slip.
    init(text: String, path: String) throws(StackFailure) {
        let advice = "remove it, or name another file"
        do throws(JSONValue.Failure) { value = try JSONValue.parse(text: text) } catch {
            throw StackFailure(
                .files, "\(path) isn't a record of 'peal bench' (\(error.description)); \(advice)")
        }
        guard value["machine"]?.string != nil, value["load_average"] != nil else {
            throw StackFailure(
                .files, "\(path) isn't a record of 'peal bench' (it names no machine); \(advice)")
        }
    }

    /// The value as a number; nil when it is something else.
    static func number(_ value: JSONValue) -> Double? {
        guard case .number(let text) = value else { return nil }
        return Double(text)
    }
}
