/// The parts of the bench, in the order of a run of everything.
enum BenchParts {
    static var all: [any BenchPart.Type] {
        [
            TransportPart.self, PipelinePart.self, RetryPart.self, ProducerPart.self, BroadcastPart.self,
            LanesPart.self, LatencyPart.self, MemoryPart.self, ScalePart.self, WorkersPart.self,
            SlowPart.self, StartPart.self, AllocationsPart.self, RedisPart.self, PeersPart.self,
        ]
    }

    /// Their operands.
    static var names: [String] { all.map { $0.name } }

    /// The parts that the operands name, each once and in the order of ``all``; every one for no operand.
    /// - Throws: the first operand that names none.
    static func named(_ operands: [String]) throws(UnknownPart) -> [any BenchPart.Type] {
        if let other = operands.first(where: { !names.contains($0) }) { throw UnknownPart(name: other) }
        return operands.isEmpty ? all : all.filter { operands.contains($0.name) }
    }

    /// An operand that names no part.
    struct UnknownPart: Error, Equatable, CustomStringConvertible {
        let name: String

        var description: String {
            "bench has no part \"\(name)\"; it has \(BenchParts.names.joined(separator: ", "))"
        }
    }
}
