package import Decisions

/// How far a broadcast has got, as `peal:cast:{app:id}` and `peal:control` say.
package struct BroadcastStatus: Equatable, Sendable {
    /// What becomes of it.
    package enum State: String, Sendable, CaseIterable {
        /// It is known; its parts are not all published yet.
        case planned
        /// Its parts are expanded.
        case running
        /// An operator holds its app, its campaign or its job back.
        case paused
        /// An operator has ended it.
        case cancelled
        /// Every recipient has a job in the bulk lane.
        case done
    }

    package var state: State
    /// `all`, or `topic:` and the topic.
    package var audience: String
    /// The campaign by which it is paused and cancelled.
    package var campaign: String
    /// Recipients whose jobs are in the bulk lane.
    package var recipients: Int64
    /// Parts, and those of them that are finished.
    package var parts: Int
    package var partsDone: Int
    /// When it was first seen, in ms since 1970.
    package var startedMs: Int64
    /// When it was done or cancelled, in ms since 1970; nil before.
    package var finishedMs: Int64?

    /// Reads the fields of the hash; nil when they are no broadcast's, for example none at all.
    package init?(fields: some Sequence<(field: String, value: String)>) {
        let known = Dictionary(fields.map { ($0.field, $0.value) }, uniquingKeysWith: { _, last in last })
        func number(_ name: String) -> Int64 { known[name].flatMap { Int64($0) } ?? 0 }
        guard let state = known["state"].flatMap({ State(rawValue: $0) }), state != .paused else {
            return nil
        }
        self.state = state
        audience = known["audience"] ?? ""
        campaign = known["campaign"] ?? ""
        recipients = number("n")
        parts = Int(clamping: number("parts"))
        partsDone = Int(clamping: number("done"))
        startedMs = number("started_ms")
        finishedMs = known["finished_ms"].flatMap { Int64($0) }
    }

    /// The same with the state that the operator's entries give a broadcast that is not finished.
    package func under(_ control: ControlState, app: String, id: String, nowMs: Int64) -> BroadcastStatus {
        guard state == .planned || state == .running else { return self }
        var found = self
        let own: [ControlEntry.Subject] = [
            .app(app), .campaign(app: app, name: campaign), .job(app: app, id: id),
        ]
        for entry in control.entries where own.contains(entry.subject) && entry.isInForce(nowMs: nowMs) {
            if entry.action == .cancel {
                found.state = .cancelled
            } else if found.state != .cancelled {
                found.state = .paused
            }
        }
        return found
    }
}
