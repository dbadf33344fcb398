internal import Terminal

/// Shares a screen out. Values only.
enum TopLayout {
    /// A column that is shown.
    struct Place: Equatable {
        let index: Int
        let width: Int
    }

    /// A pane with the lines that it gets, its heading included.
    struct Part {
        let pane: TopModel.Pane
        let table: TopTable
        var lines: Int
    }

    /// The panes one below the other in `room` lines. The focused one comes first when lines are shared out,
    /// but each keeps its place; one that would get only a heading is left out.
    static func stack(_ panes: [(TopModel.Pane, TopTable)], room: Int, focus: TopModel.Pane) -> [Part] {
        let wanted = panes.map { max(2, $0.1.rows.count + 1) }
        let lines = share(
            wanted: wanted, least: panes.map { $0.0 == focus ? 5 : $0.0 == .lanes ? 4 : 2 }, room: room,
            first: panes.firstIndex { $0.0 == focus })
        return zip(panes, lines).compactMap { pane, count in
            count < 2 ? nil : Part(pane: pane.0, table: pane.1, lines: count)
        }
    }

    /// Shares `room` out: everybody their least in order, the one at `first` before all; then what they want
    /// beyond it in the same order.
    static func share(wanted: [Int], least: [Int], room: Int, first: Int?) -> [Int] {
        var given = [Int](repeating: 0, count: wanted.count)
        var left = max(0, room)
        var order = Array(wanted.indices)
        if let first, order.indices.contains(first) {
            order.remove(at: first)
            order.insert(first, at: 0)
        }
        for place in order {
            let share = min(wanted[place], least[place], left)
            // A heading without a row says nothing.
            guard share >= 2 else { continue }
            given[place] = share
            left -= share
        }
        for place in order where given[place] > 0 {
            let more = min(wanted[place] - given[place], left)
            given[place] += more
            left -= more
        }
        return given
    }

    /// The columns that fit into `width`, and how wide they are: first those of no rank, then by rank.
    static func columns(_ table: TopTable, width: Int) -> [Place] {
        let widths = table.columns.indices.map { index in
            let column = table.columns[index]
            let cells = table.rows.prefix(200).map { DisplayWidth.of($0[index].text) }
            let title = index == 0 ? 0 : DisplayWidth.of(column.title)
            return max(title, cells.max() ?? 0, column.least)
        }
        var shown: Set<Int> = []
        var used = -2
        // A name that is cut is worse than a column less.
        let short = table.columns.indices.reduce(0) { sum, index in
            let least = table.columns[index].least
            return least > 0 ? sum + max(0, min(widths[index], 30) - least) : sum
        }
        let order = table.columns.indices.sorted {
            (table.columns[$0].rank, $0) < (table.columns[$1].rank, $1)
        }
        for index in order {
            let column = table.columns[index]
            // What may be cut counts with the least that it needs.
            let need = 2 + (column.least > 0 ? min(widths[index], column.least) : widths[index])
            guard index == 0 || used + need + (column.rank == 0 ? 0 : short) <= width else { continue }
            shown.insert(index)
            used += need
        }
        var spare = max(0, width - used)
        return shown.sorted().map { index in
            let column = table.columns[index]
            guard column.least > 0 else { return Place(index: index, width: widths[index]) }
            let base = min(widths[index], column.least)
            let more = min(widths[index] - base, spare)
            spare -= more
            return Place(index: index, width: base + more)
        }
    }
}
