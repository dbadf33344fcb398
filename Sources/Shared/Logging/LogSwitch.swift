package import Core
internal import EventLoop
internal import Synchronization

/// The levels of a process, which may change while it runs: what the configuration says, and an operator's
/// orders over that.
///
/// - Cost: loggers read one atomic number; only a change takes a lock.
/// - Threading: any.
package final class LogSwitch: Sendable {
    /// A subsystem's lowest level.
    final class Cell: Sendable {
        private let value: Atomic<UInt8>

        init(_ level: LogLevel) { value = Atomic(level.rawValue) }

        var level: UInt8 { value.load(ordering: .relaxed) }

        func set(_ level: LogLevel) { value.store(level.rawValue, ordering: .relaxed) }
    }

    private struct State {
        var configured: LogLevels
        /// Orders in force.
        var orders: [LogOrder] = []
        var cells: [String: Cell] = [:]

        func level(of subsystem: String) -> LogLevel {
            let own = orders.first { $0.subsystem?.rawValue == subsystem }
            return (own ?? orders.first { $0.subsystem == nil })?.level ?? configured.level(of: subsystem)
        }

        func apply() {
            for (name, cell) in cells { cell.set(level(of: name)) }
        }
    }

    private let state: Locked<State>

    /// Starts with what the configuration says.
    package init(_ levels: LogLevels = LogLevels()) { state = Locked(State(configured: levels)) }

    /// The cell that a subsystem's loggers read.
    func cell(of subsystem: String) -> Cell {
        state.withLock { state in
            if let cell = state.cells[subsystem] { return cell }
            let cell = Cell(state.level(of: subsystem))
            state.cells[subsystem] = cell
            return cell
        }
    }

    /// Puts what the configuration says now in force.
    /// - Returns: whether that is a change.
    package func configure(_ levels: LogLevels) -> Bool {
        state.withLock { state in
            guard state.configured != levels else { return false }
            state.configured = levels
            state.apply()
            return true
        }
    }

    /// Obeys the orders that are in force at `nowMs` (ms since 1970), and only those. Call it with the last
    /// known orders every second or so, so that they end.
    /// - Returns: whether that is a change.
    package func follow(_ orders: [LogOrder], nowMs: Int64) -> Bool {
        let inForce = orders.filter { $0.isInForce(nowMs: nowMs) }
        return state.withLock { state in
            guard state.orders != inForce else { return false }
            state.orders = inForce
            state.apply()
            return true
        }
    }

    /// What the configuration says.
    package var configured: LogLevels { state.withLock { $0.configured } }

    /// The orders that are in force.
    package var orders: [LogOrder] { state.withLock { $0.orders } }

    /// One JSON object's members for `/statusz`, without braces.
    package var statusMembers: String {
        let (configured, orders) = state.withLock { ($0.configured, $0.orders) }
        var out = ByteBuffer(capacity: 256)
        out.append("\"levels\":")
        out.append(jsonString: configured.text)
        out.append(",\"orders\":[")
        for (index, order) in orders.enumerated() {
            if index > 0 { out.append(",") }
            out.append("{\"what\":")
            out.append(jsonString: order.words)
            out.append(text: ",\"until_ms\":\(order.untilMs),\"by\":")
            out.append(jsonString: order.by)
            out.append("}")
        }
        out.append("]")
        return out.text
    }
}
