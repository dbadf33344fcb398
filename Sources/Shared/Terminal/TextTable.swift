/// A table with aligned columns.
package struct TextTable: Sendable {
    /// One column.
    package struct Column: Sendable {
        /// Which side the cells keep to.
        package enum Alignment: Sendable { case left, right }

        package let title: String
        package let alignment: Alignment

        /// A column with a title.
        package init(_ title: String, _ alignment: Alignment = .left) {
            self.title = title
            self.alignment = alignment
        }
    }

    private let columns: [Column]
    private var rows: [[String]] = []

    /// An empty table.
    package init(_ columns: [Column]) { self.columns = columns }

    /// Adds a row; missing cells are empty, surplus ones are left out.
    package mutating func add(_ cells: [String]) {
        rows.append((0..<columns.count).map { $0 < cells.count ? cells[$0] : "" })
    }

    /// The lines, each ended by a newline, none longer than its text needs.
    package func render(style: TextStyle = TextStyle(isEnabled: false), indent: Int = 0) -> String {
        let hasTitles = columns.contains { !$0.title.isEmpty }
        let all = (hasTitles ? [columns.map(\.title)] : []) + rows
        let widths = columns.indices.map { index in all.map { DisplayWidth.of($0[index]) }.max() ?? 0 }
        var text = ""
        for (number, row) in all.enumerated() {
            var line = String(repeating: " ", count: indent)
            for index in columns.indices {
                let cell = row[index]
                let pad = String(repeating: " ", count: widths[index] - DisplayWidth.of(cell))
                let shown = hasTitles && number == 0 ? style(.dim, cell) : cell
                line += columns[index].alignment == .right ? pad + shown : shown + pad
                if index < columns.count - 1 { line += "  " }
            }
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        return text
    }
}
