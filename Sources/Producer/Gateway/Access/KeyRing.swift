internal import EventLoop
package import Logging

/// The keys in force, and the file that they come from.
///
/// - Threading: any. A file that can't be used changes nothing.
package final class KeyRing: Sendable {
    private struct State {
        var table: KeyTable
        var stamp: FileStamp?
        var fault: String?
    }

    private static let fileBytesMax = 4 << 20

    /// The file; nil when the keys were given.
    package let path: String?
    private let state: Locked<State>
    private let log: Logger

    /// Keys that never change.
    package init(_ table: KeyTable) {
        path = nil
        log = .silent
        state = Locked(State(table: table, stamp: nil, fault: nil))
    }

    /// Reads a file.
    /// - Throws: what is wrong with it; never holds anything of its content.
    package init(path: String, log: Logger) throws(KeyTable.Fault) {
        self.path = path
        self.log = log
        let stamp = FileStamp(path: path)
        state = Locked(State(table: try Self.read(path), stamp: stamp, fault: nil))
    }

    private static func read(_ path: String) throws(KeyTable.Fault) -> KeyTable {
        let text: String
        do throws(SystemFailure) {
            text = try Files.readText(path: path, maxBytes: fileBytesMax)
        } catch {
            throw KeyTable.Fault(line: 0, sentence: "\(error)")
        }
        return try KeyTable(parsing: text)
    }

    /// The keys in force.
    package var table: KeyTable { state.withLock { $0.table } }

    /// Why the file as it is now isn't in force; nil when it is.
    package var fault: String? { state.withLock { $0.fault } }

    /// Reads the file again if it has changed since it was read last, or in any case.
    package func reload(always: Bool = false) {
        guard let path else { return }
        let stamp = FileStamp(path: path)
        let isDue = state.withLock { (state: inout State) -> Bool in
            defer { state.stamp = stamp }
            return always || state.stamp != stamp
        }
        guard isDue else { return }
        do throws(KeyTable.Fault) {
            let table = try Self.read(path)
            state.withLock {
                $0.table = table
                $0.fault = nil
            }
            log.notice(
                "gateway.keys_loaded", "The keys file was read again.", ["gateway.keys": .number(table.count)]
            )
        } catch {
            state.withLock { $0.fault = error.description }
            log.error(
                "gateway.keys_refused", "The keys file can't be used; the former keys stay in force: \(error)"
            )
        }
    }
}
