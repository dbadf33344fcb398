internal import EventLoop
package import Redis

/// Reads: what a device tells when its user has seen something.
extension DeviceDirectory {
    /// What became of a read.
    package struct ReadAnswer: Sendable, Equatable {
        /// The unread counter.
        package let unread: Int64
        /// Whether the push that tells the other devices is the caller's to publish; else one that is under
        /// way will tell them.
        package let isOurs: Bool
    }

    /// Changes the counter after a read on `device` (empty when it is none of them) and claims the push to
    /// the recipient's other devices. For `claimMs` nobody else publishes one for the same device, unless a
    /// worker takes it up before.
    /// - Throws: `.refused` when the thread can't be one, else what Redis says.
    package func read(
        _ change: UnreadChange, of recipient: String, device: String, claimMs: Int64
    ) throws(RedisFailure) -> ReadAnswer {
        if case .setThread(let thread, _) = change, !(1...256).contains(thread.utf8.count) {
            throw RedisFailure(.refused, "a thread has 1 to 256 bytes")
        }
        let id = Array(device.utf8)
        let reply = try RecipientReference.with(app: app, recipient: recipient) {
            (reference) throws(RedisFailure) in
            try session.run { out in
                unsafe id.withUnsafeBytes { id in
                    unsafe RegistryCommands.read(
                        change, of: reference, device: id, claimMs: claimMs, into: &out)
                }
            }
        }.array
        guard reply.count == 3, let unread = reply[0].integer, let isOurs = reply[1].integer else {
            throw RedisFailure(.protocolBroken, "an unexpected reply to read")
        }
        count(added: reply[2].integer ?? 0)
        return ReadAnswer(unread: unread, isOurs: isOurs == 1)
    }

    /// Adds what a read changed to the live counters. They are statistics: a failure changes nothing.
    private func count(added: Int64) {
        guard added != 0 else { return }
        let fields = [CounterFields.unreadAdded, CounterFields.unreadCleared]
        var batch = CounterBatch(apps: [app], fields: fields)
        batch.add(app: 0, field: added > 0 ? 0 : 1, added.magnitude)
        batch.flush(minute: Clock.wallMs / 60_000) { _, encode in session.tell(encode) }
        session.waitForTold()
    }

    /// Gives the claim of a push back that could not be published.
    package func giveBackSync(of recipient: String, device: String) throws(RedisFailure) {
        let id = Array(device.utf8)
        _ = try RecipientReference.with(app: app, recipient: recipient) { (reference) throws(RedisFailure) in
            try session.run { out in
                unsafe id.withUnsafeBytes { id in
                    unsafe RegistryCommands.endSync(of: reference, device: id, into: &out)
                }
            }
        }
    }
}
