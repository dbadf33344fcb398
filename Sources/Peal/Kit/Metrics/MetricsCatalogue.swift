internal import BroadcastKit
internal import GatewayKit
package import Metrics
internal import RetryKit
internal import Services
internal import SimulatorKit
internal import WorkerKit

/// Every metric of every Peal process.
package enum MetricsCatalogue {
    /// By what exposes them.
    package static let groups: [(title: String, families: [MetricFamily])] = [
        ("Every process", ProcessFamilies.all),
        ("Logs and traces", LogFamilies.all + TraceFamilies.all), ("peal-worker", WorkerFamilies.all),
        ("peal-retry", RetryFamilies.all), ("peal-producer serve (the gateway)", GatewayFamilies.all),
        ("peal-producer expand (the broadcast stage)", ExpandFamilies.all),
        ("peal-simulator", SimulatorFamilies.all),
    ]

    /// What a process of this role exposes.
    package static func families(of role: MetricRole) -> [MetricFamily] {
        groups.flatMap(\.families).filter { $0.roles.contains(role) }
    }
}
