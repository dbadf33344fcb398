internal import Core
internal import Decisions
internal import HTTP2
internal import Logging
internal import Providers

/// What a shard makes of the state of its connections.
extension Shard {
    /// Notes which routes have lost streams for longer than a moment. When that begins, unknown tokens that
    /// still wait among the good ones are taken out, so that they don't spoil the next connection too.
    func watchStreams() {
        for (index, route) in routes.enumerated() {
            guard let route, route.definition.provider == .apns else { continue }
            // A connection that was closed over its errors is a punishment too.
            let goAways = route.sidePool?.goAways ?? 0
            let wasClosed = goAways > sideGoAways[index] && suspects.count > 0
            sideGoAways[index] = goAways
            guard wasClosed || route.pool.isPunished || route.sidePool?.isPunished == true else { continue }
            let wasStrict = screens[index].isStrict(nowMs: nowMs)
            screens[index].punished(nowMs: nowMs)
            guard !wasStrict, screens[index].isStrict(nowMs: nowMs) else { continue }
            logger.notice(
                "route.punished",
                "APNs has taken streams away; tokens never accepted go by connections of their own.",
                ["route": .text(route.definition.name)])
            let recalled = route.pool.recall { tag in
                guard let delivery = deliveries.resolve(tag) else { return false }
                return unsafe !acceptedTokens.contains(Hash64.of(deliveries[delivery].token))
            }
            for tag in recalled {
                if let delivery = deliveries.resolve(tag) { submit(delivery) }
            }
        }
    }

    /// Says why providers ended connections, at most once a second for each route.
    func reportGoAways() {
        for (index, route) in routes.enumerated() {
            guard let route, let goAways = route.goAways, goAways.count > goAwaysLogged[index] else {
                continue
            }
            logger.notice(
                "provider.goaway", "The provider ends connections: \(goAways.last)",
                [
                    "route": .text(route.definition.name),
                    "count": .number(Int(clamping: goAways.count - goAwaysLogged[index])),
                ])
            goAwaysLogged[index] = goAways.count
        }
    }
}
