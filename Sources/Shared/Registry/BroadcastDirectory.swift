internal import Decisions
package import Redis

/// Tells how broadcasts stand, for whoever asks: the gateway, tools and tests.
///
/// - Threading: one thread; every call waits for Redis, at most the session's deadline.
package struct BroadcastDirectory {
    private let session: RedisSession

    /// Works on a session; it needs no scripts.
    package init(session: RedisSession) { self.session = session }

    /// How a broadcast stands at `nowMs` (ms since 1970); nil when it is not known, or older than 30 days.
    package func status(app: String, id: String, nowMs: Int64) throws(RedisFailure) -> BroadcastStatus? {
        let reply = try session.run { BroadcastCommands.read(app: app, id: id, into: &$0) }
        let fields = reply.pairs.map { (field: $0.key, value: $0.value.text ?? "") }
        guard let status = BroadcastStatus(fields: fields) else { return nil }
        let entries = try session.run { RegistryCommands.control(into: &$0) }
        let control = ControlState(
            fields: entries.pairs.map { (field: $0.key, value: $0.value.text ?? "") })
        return status.under(control, app: app, id: id, nowMs: nowMs)
    }
}
