/// In which of the gateway's own topics a wallet stands, so that a broadcast of one sender reaches the
/// devices that take its alerts, and no others.
///
/// A pure function of what the wallet's devices take. Where all devices of a wallet agree, the broadcast
/// stage can send to the wallet; where they don't, the gateway has to name the devices.
package enum AlertAudience {
    /// Wallets whose devices take everything.
    package static let everything = NativeTopicRoutes.ownMark + "alerts/*"
    /// Wallets where each sender has to be looked at.
    package static let mixed = NativeTopicRoutes.ownMark + "alerts/~*"

    /// Wallets all of whose devices take the sender's alerts, none of them everything.
    package static func whole(_ sender: String) -> String { NativeTopicRoutes.ownMark + "alerts/=\(sender)" }

    /// Wallets some of whose devices take the sender's alerts.
    package static func part(_ sender: String) -> String { NativeTopicRoutes.ownMark + "alerts/~\(sender)" }

    /// The topics of a wallet, by what each of its devices takes.
    package static func topics(_ scopes: [AlertScope]) -> Set<String> {
        if scopes.isEmpty { return [] }
        if scopes.allSatisfy({ $0 == .all }) { return [everything] }
        if scopes.contains(where: \.takesAll) { return [mixed] }
        let named = scopes.reduce(into: Set<String>()) { $0.formUnion($1.ids) }
        return Set(
            named.map { id in scopes.allSatisfy { $0.takes(id) } ? whole(id) : part(id) })
    }

    /// Whether a topic is one of these.
    package static func isOwn(_ topic: String) -> Bool {
        topic.hasPrefix(NativeTopicRoutes.ownMark + "alerts/")
    }
}
