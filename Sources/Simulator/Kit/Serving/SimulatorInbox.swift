import EventLoop

/// Orders from other threads to the simulator's loop.
final class SimulatorInbox: Sendable {
    typealias Order = @Sendable (ServingLoop) -> Void

    private let orders: Inbox<Order>

    init(waker: Waker) { orders = Inbox(waker: waker) }

    /// Queues an order. Any thread.
    func push(_ order: @escaping Order) { orders.push(order) }

    func drain(into list: inout [Order]) { orders.drain(into: &list) }
}
