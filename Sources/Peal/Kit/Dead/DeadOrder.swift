internal import Terminal

/// What one `peal dead` command line asks for.
struct DeadOrder: Equatable {
    enum Verb: String { case list, show, replay, purge }

    var verb: Verb
    var filter: DeadFilter
    var replay = DeadReplay.Options()
    /// The most letters; nil for the verb's own bound.
    var limit: Int?
    var isSummary = false
    var isFull = false
    var isConfirmed = false
    var isJSON = false

    /// Reads a command line; `canAsk` tells whether somebody sits at a terminal.
    /// - Throws: with what is missing or contradictory.
    init(_ arguments: Arguments, nowMs: Int64, canAsk: Bool = Console.isTerminal(0)) throws(UsageFailure) {
        guard let verb = Verb(rawValue: arguments.operands.first ?? "list") else {
            throw UsageFailure("dead takes one of list, show, replay and purge")
        }
        self.verb = verb
        filter = try DeadFilter(arguments, nowMs: nowMs)
        limit = try arguments.integer("limit", in: 1...1_000_000)
        isSummary = arguments.flag("summary")
        isFull = arguments.flag("full")
        isConfirmed = arguments.flag("yes")
        isJSON = arguments.flag("json")
        replay.isDry = arguments.flag("dry-run")
        replay.rate = try arguments.integer("rate", in: 1...100_000) ?? replay.rate
        replay.limit = limit
        replay.again = arguments.flag("again")
        try refuse(arguments, canAsk: canAsk)
    }

    private func refuse(_ arguments: Arguments, canAsk: Bool) throws(UsageFailure) {
        let own: [(flag: String, verbs: [Verb])] = [
            ("summary", [.list]), ("full", [.show]), ("again", [.replay]), ("all", [.replay, .purge]),
            ("dry-run", [.replay, .purge]), ("yes", [.replay, .purge]),
        ]
        for (flag, verbs) in own where arguments.flag(flag) && !verbs.contains(verb) {
            throw UsageFailure("--\(flag) does nothing with dead \(verb.rawValue); leave it out")
        }
        switch verb {
        case .list: break
        case .show:
            guard filter.places.count == 1 || filter.id != nil else {
                throw UsageFailure("dead show takes one letter, PARTITION/OFFSET, or --id of a job")
            }
        case .replay:
            if filter.isOpen, !arguments.flag("all") {
                throw UsageFailure("say which letters to replay (--app, --reason, --since, ...), or --all")
            }
            try checkConsent(canAsk)
        case .purge: try checkPurge(arguments, canAsk)
        }
    }

    private func checkPurge(_ arguments: Arguments, _ canAsk: Bool) throws(UsageFailure) {
        var rest = filter
        rest.untilMs = nil
        rest.places = []
        guard rest.isOpen else {
            throw UsageFailure(
                "Kafka can't delete single records; purge takes --until, or the first letter that stays of "
                    + "each partition, or --all")
        }
        let partitions = filter.places.map(\.partition)
        guard Set(partitions).count == partitions.count else {
            throw UsageFailure("purge takes one letter a partition: the first that stays")
        }
        let ways = [filter.untilMs != nil, !filter.places.isEmpty, arguments.flag("all")].count { $0 }
        guard ways == 1 else {
            throw UsageFailure("say up to where to purge: --until TIME, letters that stay, or --all")
        }
        try checkConsent(canAsk)
    }

    private func checkConsent(_ canAsk: Bool) throws(UsageFailure) {
        guard isConfirmed || replay.isDry || canAsk else {
            throw UsageFailure("nobody can be asked here; give --yes, or --dry-run to see what would happen")
        }
    }
}
