/// Finds what a misspelt name was meant to be.
package enum Suggestion {
    /// The known name that is nearest to `name`, when it is near enough to be a slip.
    package static func nearest(to name: String, among known: some Sequence<String>) -> String? {
        let limit = max(1, min(3, name.count / 2))
        var best: (name: String, distance: Int)?
        for candidate in known where abs(candidate.count - name.count) <= limit {
            let distance = distance(Array(name.lowercased()), Array(candidate.lowercased()))
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// The Levenshtein distance, with a swap of neighbours counted as one step. Names are short, so O(n * m)
    /// is fine.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        guard left.count <= 100, right.count <= 100 else { return .max }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let cost = left[row] == right[column] ? 0 : 1
                var value = min(last[column] + cost, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    value = min(value, beforeLast[column - 1] + 1)
                }
                current.append(value)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
