internal import Decisions
internal import HTTP2
internal import Logging
internal import Providers
internal import Rendering

/// What a shard does when credentials are replaced under way.
///
/// A changed credential is a new route with connections of its own; new deliveries go by it from the next
/// tick. What is under way ends on the old route, whose connections are closed once nothing needs them.
extension Shard {
    /// Takes over a changed directory. Cheap when nothing changed; once a tick.
    func followDirectory() {
        guard let live = settings.live else { return }
        let version = live.version
        guard version != rotation.version else { return }
        rotation.version = version
        let fresh = live.snapshot()
        rotation.follow(fresh)
        let more = fresh.routes.count - routes.count
        routes += Array(repeating: nil, count: more)
        routeFailures += Array(repeating: "", count: more)
        sideGoAways += Array(repeating: 0, count: more)
        goAwaysLogged += Array(repeating: 0, count: more)
        screens += Array(repeating: TokenScreen(), count: more)
        circuits += (0..<more).map { _ in RouteCircuit(limits: settings.circuit) }
        quotas += fresh.quotas[quotas.count...].map { QuotaGate($0) }
        for index in traits.indices {
            traits[index] = fresh.apps[index].traits
            // The topic may come with an uploaded credential.
            if renderers[index].settings != fresh.apps[index].render {
                renderers[index] = Renderer(settings: fresh.apps[index].render)
            }
        }
        bulkheads.bound(providers: Set(fresh.routes.map(\.provider)))
    }

    /// The route that stands in for this one now, or itself.
    func way(_ route: Int32) -> Int32 {
        guard rotation.isUnderWay, route >= 0, let old = rotation.predecessor(of: route) else { return route }
        let new = self.route(Int(route))
        let isUsable =
            new.availability(nowMs: nowMs) == .ready && new.pool.snapshot.connectFailuresInARow == 0
        guard rotation.usesOld(route, nowMs: nowMs, isUsable: isUsable) else { return route }
        let standIn = way(old)
        return self.route(Int(standIn)).availability(nowMs: nowMs) == .ready ? standIn : route
    }

    /// Notes an accepted request while credentials are replaced.
    func accepted(by route: Int32) {
        guard rotation.accepted(route) else { return }
        settings.live?.proved(route)
        logger.notice(
            "route.proven", "The provider accepts the new credential; the old one is not needed any more.",
            ["route": .text(rotation.definitions[Int(route)].name)])
    }

    /// The provider refused a route's credential: the route whose place it took, if that may stand in.
    func standIn(for route: Int32, _ reason: Reason) -> Int32? {
        guard let old = rotation.predecessor(of: route) else { return nil }
        let refusal = rotation.refused(route, nowMs: nowMs)
        guard refusal.standsIn else { return nil }
        let standIn = way(old)
        guard self.route(Int(standIn)).availability(nowMs: nowMs) == .ready else { return nil }
        counts.rotationFallbacks &+= 1
        guard refusal.isNews else { return standIn }
        logger.error(
            "route.fallback",
            "The provider refuses the NEW credential; the old one sends in its place for a while. "
                + "Mend the new one before the old one is revoked.",
            [
                "route": .text(rotation.definitions[Int(route)].name),
                "instead": .text(rotation.definitions[Int(standIn)].name),
                "reason": .text("\(reason.label)"),
            ])
        return standIn
    }

    /// Sends a delivery, which the provider refused for its credential, by another route.
    func sendInstead(_ delivery: Int32, by other: Int, _ reason: Reason) {
        let slot = deliveries[delivery]
        count(reason)
        deliveries[delivery].route = Int32(other)
        deliveries[delivery].template = slot.template.flatMap { template in
            routes[Int(slot.route)]?.counterpart(of: template, in: route(other))
        }
        submit(delivery)
    }

    /// Closes the connections of routes that were replaced, once nothing is under way there.
    func closeReplaced() {
        if rotation.isUnderWay { rotation.expire(nowMs: nowMs) }
        for index in routes.indices {
            guard let route = routes[index], rotation.isReplaced(Int32(index)), route.unfinished == 0,
                !deliveries.contains(where: { $0.isOpen && $0.route == Int32(index) })
            else { continue }
            route.close()
            routes[index] = nil
            logger.info(
                "route.closed", "The connections of a replaced credential are closed.",
                ["route": .text(route.definition.name)])
        }
    }
}
