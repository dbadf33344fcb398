package import Decisions
internal import EventLoop
internal import Synchronization

/// The current `authorization` value of one credential, shared by all threads of the process.
///
/// - Threading: any thread. A shard compares ``version`` once a turn and takes a snapshot only when it
///   changed.
package final class Bearer: Sendable {
    /// What can be said about the credential at one moment.
    package struct Snapshot: Sendable {
        /// The whole header value, such as `bearer eyJ…`; empty before the first one was made.
        package let authorization: [UInt8]
        /// Grows with every change.
        package let version: UInt32
        /// Why there is no usable value; nil while there is one.
        package let fault: Reason?
        /// A sentence for the log and for `readyz`; empty without a fault. Holds no secret.
        package let explanation: String
    }

    /// A name for logs and metrics, such as `apns TEAM123456/ABC123DEFG`.
    package let name: String
    /// A digest of the key behind it.
    let fingerprint: String
    private let dropped = Atomic<Bool>(false)
    private let state: Locked<Snapshot>
    private let counter = Atomic<UInt32>(1)
    private let refused = Atomic<UInt32>(0)
    private let hold = Atomic<Bool>(false)
    private let waker: Locked<Waker?> = Locked(nil)

    /// A credential without a value yet.
    package init(name: String, fingerprint: String = "") {
        self.name = name
        self.fingerprint = fingerprint
        state = Locked(
            Snapshot(authorization: [], version: 1, fault: nil, explanation: ""))
    }

    /// Changes whenever the value or its fault changes. Relaxed: it only says that a snapshot is worth
    /// taking.
    package var version: UInt32 { counter.load(ordering: .relaxed) }

    /// The current value.
    package func snapshot() -> Snapshot { state.withLock { $0 } }

    /// Tells the keeper that the provider refused this version; a later version is left alone.
    package func refuse(version: UInt32) {
        refused.store(version, ordering: .relaxed)
        waker.withLock { $0 }?.wake()
    }

    /// Tells the keeper to mint nothing new for a while.
    package func holdMinting() {
        hold.store(true, ordering: .relaxed)
        waker.withLock { $0 }?.wake()
    }

    // MARK: The keeper's side

    /// Whether its keeper renews it no longer.
    var isDropped: Bool { dropped.load(ordering: .relaxed) }
    func markDropped() { dropped.store(true, ordering: .relaxed) }

    func attach(_ waker: Waker) { self.waker.withLock { $0 = waker } }

    func set(authorization: [UInt8]) {
        state.withLock { state in
            let next = Snapshot(
                authorization: authorization, version: state.version &+ 1, fault: nil, explanation: "")
            state = next
            counter.store(next.version, ordering: .relaxed)
        }
    }

    func set(fault: Reason, _ explanation: String) {
        state.withLock { state in
            guard state.fault != fault || state.explanation != explanation else { return }
            let next = Snapshot(
                authorization: state.authorization, version: state.version &+ 1, fault: fault,
                explanation: explanation)
            state = next
            counter.store(next.version, ordering: .relaxed)
        }
    }

    /// Whether the current version was refused; asking forgets it.
    func takeRefusal() -> Bool {
        let version = refused.exchange(0, ordering: .relaxed)
        return version != 0 && version == self.version
    }

    func takeHold() -> Bool { hold.exchange(false, ordering: .relaxed) }
}
