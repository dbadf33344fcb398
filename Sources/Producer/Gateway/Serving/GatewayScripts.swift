package import Redis
internal import Registry

/// The scripts that the gateway's sessions know.
package enum GatewayScripts {
    /// All of them.
    package static let all =
        RegistryScripts.all + ControlStore.scripts + IdempotencyStore.scripts + ScheduledStore.scripts
}
