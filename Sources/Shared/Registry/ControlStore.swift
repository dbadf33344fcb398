package import Core
package import Decisions
package import Redis

/// One pod's line in `peal:pods`, as far as the kill switch is concerned.
package struct ControlPod: Equatable, Sendable {
    package var name: String
    /// The version of `peal:control` that it obeys; -1 when it knows none.
    package var version: Int64
    /// Its last beat, in ms since 1970.
    package var beatMs: Int64

    package init(name: String, version: Int64, beatMs: Int64) {
        self.name = name
        self.version = version
        self.beatMs = beatMs
    }
}

/// `peal:control` and who obeys it, for the operator's tool and tests.
///
/// - Threading: one thread; every call waits for Redis, at most the session's deadline.
package struct ControlStore {
    /// A pod whose last beat is older than this is gone.
    package static let aliveMs: Int64 = 15_000
    /// How long a cancelled job's id is remembered unless the operator says otherwise: a job may be scheduled
    /// a year ahead.
    package static let jobMemoryMs: Int64 = 367 * 86_400_000

    private let session: RedisSession

    /// Works on a session that was made with ``scripts``.
    package init(session: RedisSession) { self.session = session }

    /// What the session must know.
    package static let scripts = [ControlCommands.changeScript]

    /// The Redis server's time, in ms since 1970.
    package func nowMs() throws(RedisFailure) -> Int64 {
        let parts = try session.command("TIME").array
        guard parts.count == 2, let seconds = parts[0].integer, let micros = parts[1].integer else {
            throw RedisFailure(.protocolBroken, "TIME was answered with something else")
        }
        return seconds * 1000 + micros / 1000
    }

    /// Everything that is written, also what has ended.
    package func read() throws(RedisFailure) -> ControlState {
        ControlState(fields: try fields())
    }

    private func fields() throws(RedisFailure) -> [(field: String, value: String)] {
        try session.command("HGETALL", RegistryKeys.control).pairs.map {
            (field: $0.key, value: $0.value.text ?? "")
        }
    }

    /// Puts an entry in force, in place of what its subject had, and clears away what has ended.
    /// - Returns: the new version.
    package func set(_ entry: ControlEntry) throws(RedisFailure) -> Int64 {
        try change(field: entry.subject.field, value: entry.value)
    }

    /// Puts an order about log levels in force, in place of the one with the same subject.
    /// - Returns: the new version.
    package func set(_ order: LogOrder) throws(RedisFailure) -> Int64 {
        try change(field: order.field, value: order.value)
    }

    /// Takes orders about log levels back: that of one subsystem, or with nil all of them.
    /// - Returns: the new version; nil when there was none.
    package func removeLogOrders(of subsystem: LogSubsystem?) throws(RedisFailure) -> Int64? {
        var version: Int64 = 0
        let fields =
            subsystem.map { [LogOrder.field($0)] }
            ?? [LogOrder.field(nil)] + LogSubsystem.allCases.map { LogOrder.field($0) }
        for field in fields { version = max(version, try change(field: field, value: nil)) }
        return version > 0 ? version : nil
    }

    /// Takes a subject's entry back.
    /// - Returns: the new version; nil when there was none.
    package func remove(_ subject: ControlEntry.Subject) throws(RedisFailure) -> Int64? {
        let version = try change(field: subject.field, value: nil)
        return version > 0 ? version : nil
    }

    private func change(field: String, value: String?) throws(RedisFailure) -> Int64 {
        let now = try nowMs()
        // Bounded, so that one call stays short; the next change clears the rest.
        let known = try fields()
        let ended = known.filter { pair in
            guard pair.field != field else { return false }
            if let order = LogOrder(field: pair.field, value: pair.value) {
                return !order.isInForce(nowMs: now)
            }
            guard let entry = ControlEntry(field: pair.field, value: pair.value) else { return false }
            return !entry.isInForce(nowMs: now)
        }.prefix(1000)
        if value != nil, known.count - ended.count > ControlState.entriesMax {
            throw RedisFailure(
                .refused, "peal:control is full: resume something, or shorten what is cancelled")
        }
        let reply = try session.run {
            ControlCommands.change(field: field, value: value, ended: Array(ended), into: &$0)
        }
        guard let version = reply.integer else {
            throw RedisFailure(.protocolBroken, "the change was answered with something else")
        }
        return version
    }

    /// The living workers, by name.
    package func pods() throws(RedisFailure) -> [ControlPod] {
        let now = try nowMs()
        var found: [ControlPod] = []
        for (name, value) in try session.command("HGETALL", RegistryKeys.pods).pairs {
            guard let line = try? JSONValue.parse(text: value.text ?? ""),
                line["role"]?.string == "worker", let beat = line["beat_ms"]?.integer,
                now - beat < Self.aliveMs
            else { continue }
            found.append(ControlPod(name: name, version: line["control"]?.integer ?? -1, beatMs: beat))
        }
        return found.sorted { $0.name < $1.name }
    }
}
