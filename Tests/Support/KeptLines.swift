internal import Foundation

/// Keeps lines that another thread writes, such as those of a log.
package final class KeptLines: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    package init() {}

    package func append(_ line: String) { lock.withLock { lines.append(line) } }
    package var all: [String] { lock.withLock { lines } }

    /// The lines as JSON objects; a line that is none is left out.
    package var objects: [[String: Any]] {
        all.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }
}
