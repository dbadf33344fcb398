internal import EventLoop
internal import Glibc

/// One TCP connection that went through a ``FaultProxy``. Times are milliseconds since 1970.
struct ProxyLink: Sendable, Equatable {
    /// Who ended it first.
    enum Cause: Sendable { case open, client, upstream, proxy }

    /// Its place among the proxy's routes.
    let route: Int
    /// The port from which the upstream sees it come.
    let port: UInt16
    let openedMs: Int64
    var closedMs = Int64.max
    var cause = Cause.open
}

/// A TCP proxy on loopback that can cut, stall and slow what goes through it.
///
/// - Threading: any thread; one thread of its own moves the bytes.
/// - Bounds: a megabyte waits in each direction of a connection, then its sender has to.
/// - Ownership: ``stop()`` ends it; call it once.
final class FaultProxy: Sendable {
    /// How a route treats its bytes.
    enum Mode: Sendable, Equatable {
        case open
        case stalled
        case delayed(ms: UInt64)
    }

    enum Order: Sendable {
        case mode([Int], Mode)
        case reset([Int])
        case stop
    }

    /// Where clients connect to, one port a route.
    let ports: [UInt16]
    private let orders: Inbox<Order>
    private let links = Locked<[ProxyLink]>([])
    private let thread: WorkerThread

    private struct Parts: @unchecked Sendable {
        // Handed to the proxy's thread, which alone touches the loop from then on.
        let loop: ProxyLoop
    }

    /// Listens on one port for each of the upstream ports.
    init(upstreams: [UInt16]) throws(StackFailure) {
        do throws(SystemFailure) {
            let loop = try EventLoop()
            orders = Inbox(waker: loop.waker)
            let serving = ProxyLoop(loop: loop, orders: orders, links: links)
            var ports: [UInt16] = []
            for (route, upstream) in upstreams.enumerated() {
                ports.append(try serving.listen(route: route, upstream: upstream))
            }
            self.ports = ports
            let parts = Parts(loop: serving)
            thread = WorkerThread.start(name: "fault-proxy") { parts.loop.run() }
        } catch {
            throw StackFailure(.program, "the fault proxy could not start: \(error)")
        }
    }

    /// Has the routes treat their bytes in another way from now on.
    func set(_ routes: [Int], _ mode: Mode) { orders.push(.mode(routes, mode)) }

    /// Cuts the routes' connections with a TCP reset on both sides.
    func reset(_ routes: [Int]) { orders.push(.reset(routes)) }

    /// Every connection so far.
    var history: [ProxyLink] { links.withLock { (list: inout [ProxyLink]) in list } }

    /// Closes everything.
    func stop() {
        orders.push(.stop)
        thread.join()
    }
}

/// The proxy's thread.
final class ProxyLoop: WakeHandler, TimerHandler {
    let loop: EventLoop
    private let orders: Inbox<FaultProxy.Order>
    private let links: Locked<[ProxyLink]>
    private var listeners: [ProxyListener] = []
    private var open: [Int: ProxyConnection] = [:]
    private var modes: [FaultProxy.Mode] = []
    private var batch: [FaultProxy.Order] = []
    private var isTicking = false

    init(loop: EventLoop, orders: Inbox<FaultProxy.Order>, links: Locked<[ProxyLink]>) {
        self.loop = loop
        self.orders = orders
        self.links = links
        loop.addWakeHandler(self)
    }

    func listen(route: Int, upstream: UInt16) throws(SystemFailure) -> UInt16 {
        let descriptor = try Socket.listen(host: "127.0.0.1", port: 0)
        let listener = ProxyListener(owner: self, route: route, upstream: upstream, descriptor: descriptor)
        listener.registration = try loop.add(
            descriptor: descriptor, interest: .readable, handler: listener)
        listeners.append(listener)
        modes.append(.open)
        return Socket.port(of: descriptor)
    }

    func run() {
        loop.run()
        for connection in open.values { connection.close(.proxy) }
        for listener in listeners {
            if let registration = listener.registration { loop.remove(registration) }
            Socket.close(listener.descriptor)
        }
        listeners = []
        loop.removeWakeHandler(self)
    }

    func mode(of route: Int) -> FaultProxy.Mode { modes[route] }

    /// Takes a client's connection and opens the one behind it.
    func accepted(_ client: Int32, route: Int, upstream: UInt16) {
        do throws(SystemFailure) {
            let server: Int32
            do throws(SystemFailure) { server = try Socket.connect(host: "127.0.0.1", port: upstream) } catch
            {
                Socket.reset(client)
                throw error
            }
            let link = ProxyLink(route: route, port: Socket.port(of: server), openedMs: Clock.wallMs)
            let number = links.withLock { (list: inout [ProxyLink]) -> Int in
                list.append(link)
                return list.count - 1
            }
            let connection = ProxyConnection(owner: self, number: number, route: route)
            open[number] = connection
            try connection.start(client: client, server: server)
        } catch {
            // The kernel refused a descriptor: the client sees its connection end and comes again.
        }
    }

    func closed(_ connection: ProxyConnection, _ cause: ProxyLink.Cause) {
        open[connection.number] = nil
        links.withLock { (list: inout [ProxyLink]) in
            list[connection.number].closedMs = Clock.wallMs
            list[connection.number].cause = cause
        }
    }

    func woken() {
        orders.drain(into: &batch)
        for order in batch {
            switch order {
            case .stop: loop.stop()
            case .mode(let routes, let mode):
                for route in routes where route < modes.count { modes[route] = mode }
                for connection in open.values where routes.contains(connection.route) { connection.refresh() }
                tick()
            case .reset(let routes):
                for connection in Array(open.values) where routes.contains(connection.route) {
                    connection.close(.proxy)
                }
            }
        }
        batch.removeAll()
    }

    /// Comes by every few milliseconds while something is late on purpose.
    func tick() {
        guard !isTicking else { return }
        isTicking = true
        _ = loop.schedule(afterMs: 5, tag: 0, handler: self)
    }

    func timerFired(_ tag: UInt64) {
        isTicking = false
        var isLate = false
        for connection in Array(open.values) {
            connection.refresh()
            isLate = isLate || connection.hasWaiting
        }
        if isLate { tick() }
    }
}

/// One of the proxy's ports.
final class ProxyListener: IOHandler {
    private unowned let owner: ProxyLoop
    private let route: Int
    private let upstream: UInt16
    let descriptor: Int32
    var registration: Registration?

    init(owner: ProxyLoop, route: Int, upstream: UInt16, descriptor: Int32) {
        self.owner = owner
        self.route = route
        self.upstream = upstream
        self.descriptor = descriptor
    }

    func ioReady(_ events: IOEvents) {
        while let client = Socket.accept(descriptor) {
            owner.accepted(client, route: route, upstream: upstream)
        }
    }
}
