/// A directory that took over changed credentials, and what changed.
package struct DirectoryRotation: Sendable {
    package let directory: ProviderDirectory
    /// The new routes' indices.
    package let added: [Int]
    /// Whether an app goes by another route than before.
    package let isChange: Bool
}

extension ProviderDirectory {
    /// A bound on rotations in one life of a process; a route without traffic costs some hundred bytes.
    private static let routesMax = 4096

    /// The indices of the routes that apps go by.
    package var routesInUse: Set<Int32> {
        Set(
            apps.flatMap { [$0.traits.apnsProduction, $0.traits.apnsSandbox, $0.traits.fcm] }.filter {
                $0 >= 0
            })
    }

    /// This directory with the credentials of `fresh`.
    ///
    /// Routes keep their index for ever, so that what is under way is not disturbed. A changed credential
    /// is a new route at the end, with connections of its own, which names the route before it as its
    /// predecessor. A credential that did not change keeps its route; one that is shared by two routes
    /// keeps its bearer.
    /// - Throws: when there were too many rotations.
    package func rotated(
        to fresh: ProviderDirectory, overlapUntilMs: Int64
    ) throws(CredentialFailure) -> DirectoryRotation {
        let inUse = routesInUse
        var list = routes
        var added: [Int] = []
        var places: [Int32] = []
        var bearers: [String: Bearer] = [:]
        for route in routes {
            if let bearer = route.bearer, !bearer.isDropped { bearers[bearer.fingerprint] = bearer }
        }
        for route in fresh.routes {
            let known = inUse.first { list[Int($0)].fingerprint == route.fingerprint }
            if let known {
                places.append(known)
                continue
            }
            guard list.count < Self.routesMax else {
                throw CredentialFailure("too many rotations since the start; restart this process")
            }
            var new = route
            new.name = Self.unusedName(route.name, list)
            if let bearer = new.bearer { new.bearer = bearers[bearer.fingerprint] ?? bearer }
            places.append(Int32(list.count))
            added.append(list.count)
            list.append(new)
        }
        var entries = apps
        var limits = quotas
        for index in apps.indices {
            guard let at = fresh.index(of: apps[index].name) else { continue }
            var traits = apps[index].traits
            let other = fresh.apps[at].traits
            traits.apnsProduction = Self.place(other.apnsProduction, places)
            traits.apnsSandbox = Self.place(other.apnsSandbox, places)
            traits.fcm = Self.place(other.fcm, places)
            traits.usesLog = other.usesLog
            traits.apnsQuota = Self.place(of: other.apnsQuota, in: fresh.quotas, &limits)
            traits.fcmQuota = Self.place(of: other.fcmQuota, in: fresh.quotas, &limits)
            Self.succeed(apps[index].traits, traits, added, overlapUntilMs, &list)
            // The topic may come with an uploaded credential.
            entries[index] = AppEntry(
                name: apps[index].name, render: fresh.apps[at].render, traits: traits,
                caps: apps[index].caps)
        }
        let isChange = zip(apps, entries).contains { old, new in
            old.traits.apnsProduction != new.traits.apnsProduction
                || old.traits.apnsSandbox != new.traits.apnsSandbox || old.traits.fcm != new.traits.fcm
                || old.traits.usesLog != new.traits.usesLog
        }
        return DirectoryRotation(
            directory: ProviderDirectory(apps: entries, routes: list, quotas: limits), added: added,
            isChange: isChange)
    }

    private static func place(_ route: Int32, _ places: [Int32]) -> Int32 {
        route >= 0 ? places[Int(route)] : -1
    }

    /// A quota's place in a list that only grows, so that shards keep what they have leased.
    private static func place(
        of quota: Int32, in quotas: [QuotaDefinition], _ list: inout [QuotaDefinition]
    ) -> Int32 {
        guard quota >= 0 else { return -1 }
        let wanted = quotas[Int(quota)]
        if let known = list.firstIndex(of: wanted) { return Int32(known) }
        list.append(wanted)
        return Int32(list.count - 1)
    }

    /// Notes for each new route whose place it took.
    private static func succeed(
        _ old: AppTraits, _ new: AppTraits, _ added: [Int], _ overlapUntilMs: Int64,
        _ list: inout [RouteDefinition]
    ) {
        let pairs = [
            (old.apnsProduction, new.apnsProduction), (old.apnsSandbox, new.apnsSandbox), (old.fcm, new.fcm),
        ]
        for (before, after) in pairs
        where before >= 0 && after >= 0 && before != after && added.contains(Int(after)) {
            guard list[Int(after)].predecessor < 0 else { continue }
            list[Int(after)].predecessor = before
            list[Int(after)].overlapUntilMs = overlapUntilMs
        }
    }

    private static func unusedName(_ name: String, _ list: [RouteDefinition]) -> String {
        var name = name
        var number = 2
        let base = name
        while list.contains(where: { $0.name == name }) {
            name = "\(base)@\(number)"
            number += 1
        }
        return name
    }
}
