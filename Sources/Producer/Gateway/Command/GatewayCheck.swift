package import Configuration
internal import EventLoop
package import Logging
internal import Providers
package import Security
internal import Services

/// What the gateway's configuration names beside itself, read before anything is started.
package struct GatewayCheck: Sendable {
    /// Who checks users' tokens.
    package let users: UserTokens
    /// The master keys; nil when none are configured.
    package let ring: SealingRing?
    /// What is odd without being wrong, a sentence each.
    package let warnings: [String]

    /// Reads the keys, the certificate, and what the apps name.
    /// - Throws: the first thing that can't be used.
    package init(
        _ settings: Settings, _ gateway: GatewaySettings, log: Logger
    ) throws(GatewayFailure) {
        do throws(CredentialFailure) {
            users = try UserTokens(settings, logger: log)
            ring = try settings.credentials.ring()
        } catch {
            throw GatewayFailure(.keys, error.description)
        }
        let table = try GatewayService.check(gateway)
        warnings = try Self.warnings(table, settings) + Self.clientKeys(settings)
    }

    private static func warnings(_ table: KeyTable?, _ settings: Settings) -> [String] {
        guard let table else { return [] }
        if table.count == 0 {
            return ["gateway.keys_file holds no key, so nobody can send; peal-producer key new makes one"]
        }
        // A key may also be for one who sends through an app.
        let known = Set(settings.apps.flatMap { [$0.name] + $0.senderIDs })
        return table.all.compactMap { key in
            let unknown = (key.apps ?? []).subtracting(known).sorted()
            guard !unknown.isEmpty else { return nil }
            return "the key \(key.name) of gateway.keys_file is for \(unknown.joined(separator: ", ")), "
                + "which the configuration doesn't have"
        }
    }

    /// Reads the client keys of the contracts.
    /// - Returns: a warning for each file that holds none.
    private static func clientKeys(_ settings: Settings) throws(GatewayFailure) -> [String] {
        var empty: [String] = []
        for app in settings.apps {
            guard let path = app.clientKeysFile else { continue }
            let place = "apps.\(app.name).client_keys_file"
            do throws(SystemFailure) {
                if try ClientKeys.count(path: path) == 0 {
                    empty.append("\(place) holds no key, so no client can subscribe")
                }
            } catch {
                throw GatewayFailure(.keys, "\(place): \(error)")
            }
        }
        return empty
    }
}
