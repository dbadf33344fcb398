internal import Terminal

/// What a measured figure has to reach, or to stay below.
enum BenchBound: Equatable, Sendable {
    case atLeast(Double)
    case atMost(Double)

    func isMet(by value: Double) -> Bool {
        switch self {
        case .atLeast(let bound): value.isFinite && value >= bound
        case .atMost(let bound): value.isFinite && value <= bound
        }
    }

    /// Such as `>= 1.1 x`.
    func text(unit: String) -> String {
        switch self {
        case .atLeast(let bound): ">= \(Self.shortest(bound)) \(unit)"
        case .atMost(let bound): "<= \(Self.shortest(bound)) \(unit)"
        }
    }

    /// A measured figure; large ones with separators.
    static func text(_ value: Double, places: Int) -> String {
        guard value.isFinite, value.magnitude < 1e15 else { return "-" }
        return places == 0 ? Human.grouped(Int(value.rounded())) : Human.decimal(value, places: places)
    }

    private static func shortest(_ value: Double) -> String {
        value == value.rounded() ? text(value, places: 0) : "\(value)"
    }
}

extension BenchFindings {
    /// Adds a member that is a number.
    mutating func add(_ key: String, _ value: Double, places: Int) {
        members.append(Member(key: key, json: BenchJSON.number(value, places: places)))
    }

    /// Adds a member that is a list of objects.
    mutating func add(_ key: String, objects: [String]) {
        members.append(Member(key: key, json: "[" + objects.joined(separator: ",") + "]"))
    }

    /// Adds a figure with its target: the member `key`, and the target of the same name.
    /// What isn't finite meets no bound. The unit comes after the numbers of the text, such as `x`.
    mutating func add(
        _ key: String, _ value: Double, places: Int, target title: String, _ bound: BenchBound, unit: String
    ) {
        add(key, value, places: places)
        targets.append(
            BenchTarget(
                key: key, title: title, bound: bound.text(unit: unit),
                measured: "\(BenchBound.text(value, places: places)) \(unit)", isMet: bound.isMet(by: value)))
    }
}
