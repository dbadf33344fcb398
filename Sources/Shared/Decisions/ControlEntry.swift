package import Core

/// One thing that an operator has paused or cancelled: a field of `peal:control` and its value.
package struct ControlEntry: Equatable, Sendable {
    /// What it is about.
    package enum Subject: Hashable, Sendable {
        case app(String)
        /// A provider for every app, or for one.
        case provider(Provider, app: String?)
        case campaign(app: String, name: String)
        case job(app: String, id: String)
    }

    /// What is done to it.
    package enum Action: String, Sendable {
        /// Its deliveries wait until it is resumed.
        case pause
        /// Its deliveries end with the outcome `cancelled`. Only campaigns and jobs can be cancelled.
        case cancel
    }

    package var subject: Subject
    package var action: Action
    /// Who said so; empty when unknown.
    package var by: String
    /// When, in ms since 1970; 0 when unknown.
    package var atMs: Int64
    /// Why; empty when nobody said.
    package var reason: String
    /// When it ends by itself, in ms since 1970; nil for never.
    package var untilMs: Int64?

    package init(
        _ subject: Subject, _ action: Action, by: String = "", atMs: Int64 = 0, reason: String = "",
        untilMs: Int64? = nil
    ) {
        self.subject = subject
        self.action = action
        self.by = by
        self.atMs = atMs
        self.reason = reason
        self.untilMs = untilMs
    }

    /// Reads a field and its value; nil for a field that this version does not know.
    ///
    /// The value is a JSON object. Any other text counts as the reason of an entry of the field's usual kind,
    /// so that a field set by hand does what its name says.
    package init?(field: String, value: String) {
        guard let subject = Subject(field: field) else { return nil }
        self.init(subject, subject.usualAction)
        guard let object = try? JSONValue.parse(text: value), object.members != nil else {
            reason = value
            return
        }
        by = object["by"]?.string ?? ""
        atMs = max(0, object["at_ms"]?.integer ?? 0)
        reason = object["reason"]?.string ?? ""
        untilMs = object["until_ms"]?.integer
        if subject.canBeCancelled, let name = object["action"]?.string, let known = Action(rawValue: name) {
            action = known
        }
    }

    /// The value that says the same.
    package var value: String {
        var out = ByteBuffer(capacity: 256)
        out.append(text: "{\"action\":\"\(action.rawValue)\",\"by\":")
        out.append(jsonString: by)
        out.append(text: ",\"at_ms\":\(atMs),\"reason\":")
        out.append(jsonString: reason)
        if let untilMs { out.append(text: ",\"until_ms\":\(untilMs)") }
        out.append(byte: UInt8(ascii: "}"))
        return out.text
    }

    /// Whether it is still in force.
    package func isInForce(nowMs: Int64) -> Bool { untilMs.map { nowMs < $0 } ?? true }
}

extension ControlEntry.Subject {
    /// Reads the name of a field. An app's name holds no colon; what comes behind it may.
    package init?(field: String) {
        let parts = field.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(
            String.init)
        guard parts.count >= 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        switch (parts[0], parts.count) {
        case ("app", 2): self = .app(parts[1])
        case ("provider", _):
            guard let provider = Provider(name: parts[1]) else { return nil }
            self = .provider(provider, app: parts.count == 3 ? parts[2] : nil)
        case ("campaign", 3): self = .campaign(app: parts[1], name: parts[2])
        case ("job", 3): self = .job(app: parts[1], id: parts[2])
        default: return nil
        }
    }

    /// The field in `peal:control`.
    package var field: String {
        switch self {
        case .app(let app): "app:\(app)"
        case .provider(let provider, nil): "provider:\(provider.name)"
        case .provider(let provider, let app?): "provider:\(provider.name):\(app)"
        case .campaign(let app, let name): "campaign:\(app):\(name)"
        case .job(let app, let id): "job:\(app):\(id)"
        }
    }

    /// Whether there is an end to its deliveries: an app or a provider can only be paused.
    package var canBeCancelled: Bool {
        switch self {
        case .app, .provider: false
        case .campaign, .job: true
        }
    }

    /// What a field means when its value does not say.
    package var usualAction: ControlEntry.Action {
        if case .job = self { return .cancel }
        return .pause
    }
}

extension Provider {
    /// Finds the provider by its name; nil for any other text.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name.description == name }) else { return nil }
        self = match
    }
}

/// The whole of `peal:control` at one moment.
package struct ControlState: Equatable, Sendable {
    /// The field that grows with every change.
    package static let versionField = "version"
    /// The most entries that are looked at.
    package static let entriesMax = 20_000

    package var version: Int64
    package var entries: [ControlEntry]
    /// What is to be logged, also what has ended.
    package var logOrders: [LogOrder] = []
    /// Fields that this version does not know.
    package var unknownFields: [String]

    package init(version: Int64 = 0, entries: [ControlEntry] = []) {
        self.version = version
        self.entries = entries
        unknownFields = []
    }

    /// Reads the fields and values of the hash.
    package init(fields: some Sequence<(field: String, value: String)>) {
        self.init()
        for (field, value) in fields {
            if field == Self.versionField {
                version = Int64(value) ?? 0
            } else if let entry = ControlEntry(field: field, value: value) {
                if entries.count < Self.entriesMax { entries.append(entry) }
            } else if let order = LogOrder(field: field, value: value) {
                logOrders.append(order)
            } else {
                unknownFields.append(field)
            }
        }
        entries.sort { $0.subject.field < $1.subject.field }
        logOrders.sort { $0.field < $1.field }
    }
}
