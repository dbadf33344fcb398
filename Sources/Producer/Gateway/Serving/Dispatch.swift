internal import EventLoop
internal import HTTPServer
internal import Redis
internal import Synchronization

/// Brings what a handler wants to the thread that can do it.
///
/// - Threading: any.
final class Dispatch: Sendable {
    private let hub: GatewayHub
    private let registry: RegistryPool
    private let senders = Locked<[SendingControl]>([])
    private let turn = Atomic(0)

    init(hub: GatewayHub, registry: RegistryPool) {
        self.hub = hub
        self.registry = registry
    }

    /// Makes a sending thread known.
    func add(_ sender: SendingControl) { senders.withLock { $0.append(sender) } }

    /// Gives work to one of the sending threads.
    func send(_ work: SendingWork) -> Bool {
        let number = turn.wrappingAdd(1, ordering: .relaxed).newValue
        let sender = senders.withLock { $0.isEmpty ? nil : $0[abs(number % $0.count)] }
        return sender?.push(work) ?? false
    }

    /// Gives work to one of the registry threads.
    func ask(_ pending: PendingCall, _ work: @escaping @Sendable (RedisSession) throws -> Reply) {
        if !registry.push(.reply(pending, work)) { pending.refuse(Self.registryFull) }
    }

    static let sendingFull = Problem.unavailable(
        "Too many requests wait to be published; nothing was published.", retryAfterSeconds: 2)
    static let registryFull = Problem.unavailable(
        "Too many requests wait for Redis; nothing was done.", retryAfterSeconds: 2)

    /// Does what a handler wants; `thread` is the sending thread that this runs on, if it is one.
    func carryOut(_ reply: Reply, for pending: PendingCall, on thread: SendingThread?) {
        let publication: Publication
        switch reply {
        case .answer(let response): return pending.answer(response)
        case .ask(let work): return ask(pending, work)
        case .order(let order, let call):
            if let thread { return thread.place(order, of: call, for: pending) }
            if !send(.order(pending, call, order)) { pending.refuse(Self.sendingFull) }
            return
        case .publish(let submissions, let then):
            publication = Publication(submissions: submissions, then: then)
        case .publishAndSettle(let submissions, let then, let settle):
            publication = Publication(submissions: submissions, then: then, settle: settle)
        }
        if let thread { return thread.publish(publication, for: pending) }
        if !send(.publish(pending, publication)) {
            conclude(pending, publication, .refused, Self.sendingFull)
        }
    }

    /// Says what became of a publication: settles it in Redis if that is wanted, then answers.
    func conclude(
        _ pending: PendingCall, _ publication: Publication, _ outcome: PublishOutcome, _ problem: Problem?
    ) {
        let answer: @Sendable () -> Void = {
            if let problem {
                pending.refuse(problem)
            } else if case .acknowledged(let receipts) = outcome {
                pending.answer(publication.then(receipts))
            }
        }
        guard let settle = publication.settle else { return answer() }
        let work = RegistryWork.settle(pending, { session in try settle(outcome, session) }, answer: answer)
        if !registry.push(work) {
            hub.metrics.settleFailed()
            answer()
        }
    }
}
