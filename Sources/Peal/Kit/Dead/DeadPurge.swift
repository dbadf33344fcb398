internal import Core
internal import Kafka
internal import Terminal

/// The deletion of a run of the oldest dead letters.
struct DeadPurge: Equatable {
    /// What is deleted of one partition: everything below the offset.
    struct Cut: Equatable {
        var partition: Int32
        /// The first offset that is there.
        var first: Int64
        /// The first offset that stays.
        var below: Int64
        /// What the broker complained of; nil when it is done, or not yet asked for.
        var fault: String?

        var letters: Int64 { max(0, below - first) }
    }

    var topic: String
    var isDry = false
    var cuts: [Cut] = []

    /// Letters that go.
    var letters: Int64 { cuts.reduce(0) { $0 + ($1.fault == nil ? $1.letters : 0) } }

    /// 1 when a partition could not be cut.
    var exitCode: Int32 { cuts.contains { $0.fault != nil } ? 1 : 0 }

    /// What a scan up to a time would delete, or what lies before the places, at most one a partition, which
    /// stay.
    init(topic: String, scan: LogScan, places: Set<DeadLetter.Place>) {
        self.topic = topic
        for stretch in scan.stretches {
            var below = stretch.to
            if !places.isEmpty {
                guard let place = places.first(where: { $0.partition == stretch.partition }) else { continue }
                below = min(below, place.offset)
            }
            guard below > stretch.from else { continue }
            cuts.append(Cut(partition: stretch.partition, first: stretch.from, below: below))
        }
    }

    /// Deletes.
    mutating func carryOut(_ access: ToolAccess) throws(ToolFailure) {
        let configuration = try access.tool()
        let offsets = cuts.map { TopicPartitionOffset(topic: 0, partition: $0.partition, offset: $0.below) }
        let topic = topic
        let answers: [(position: TopicPartitionOffset, fault: String?)]
        do throws(KafkaFailure) {
            let admin = try KafkaAdmin(configuration)
            defer { admin.close() }
            answers = try admin.deleteRecords(
                below: offsets, topics: [topic], timeoutMs: 2 * ToolAccess.questionMs)
        } catch {
            guard error.code == .unsupported else { throw ToolFailure(error) }
            throw ToolFailure(
                away: "nothing was deleted: \(error.message). Peal's embedded broker and some stand-ins have "
                    + "none; let retention.ms of \(topic) do it.")
        }
        for index in cuts.indices {
            let answer = answers.first { $0.position.partition == cuts[index].partition }
            cuts[index].fault = answer.map { $0.fault } ?? "the broker said nothing about it"
        }
    }

    func text(style: TextStyle) -> String {
        guard !cuts.isEmpty else { return "No letter lies before that; nothing to do.\n" }
        var table = TextTable([
            .init("partition", .right), .init("letters", .right), .init("stays from", .right), .init(""),
        ])
        for cut in cuts {
            table.add([
                "\(cut.partition)", Human.grouped(Int(clamping: cut.letters)), "\(cut.below)",
                cut.fault.map { "not deleted: \($0)" } ?? "",
            ])
        }
        let count = Human.grouped(Int(clamping: letters))
        return table.render(style: style)
            + (isDry ? "\(count) letters would be deleted.\n" : "\(count) letters are deleted.\n")
    }

    var json: String {
        let list = cuts.map { cut -> JSONValue in
            var members = [
                JSONValue.Member(name: "partition", value: .number("\(cut.partition)")),
                .init(name: "letters", value: .number("\(cut.letters)")),
                .init(name: "stays_from", value: .number("\(cut.below)")),
            ]
            if let fault = cut.fault { members.append(.init(name: "fault", value: .string(fault))) }
            return .object(members)
        }
        return JSONValue.object([
            .init(name: "dry_run", value: .bool(isDry)),
            .init(name: "letters", value: .number("\(letters)")),
            .init(name: "partitions", value: .array(list)),
        ]).text + "\n"
    }
}
