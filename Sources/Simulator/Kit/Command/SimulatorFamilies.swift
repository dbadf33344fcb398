package import Metrics

/// What the simulator exposes.
package enum SimulatorFamilies {
    static let requests = MetricFamily.counter(
        "peal_simulator_requests_total", "Requests that were answered.", by: [.simulator])
    static let accepted = MetricFamily.counter(
        "peal_simulator_accepted_total", "Notifications accepted, as far as the record goes back.",
        by: [.simulator])
    static let connections = MetricFamily.gauge(
        "peal_simulator_open_connections", "Connections.", by: [.simulator])
    static let dropped = MetricFamily.counter(
        "peal_simulator_record_dropped_total", "Requests that the record had no more room for.",
        by: [.simulator])
    static let apnsRefused = MetricFamily.counter(
        "peal_simulator_apns_refused_total", "Refusals in the manner of APNs.",
        [.closed("reason", APNsReason.allCases.filter { $0 != .none }.map { "\($0.name)" })],
        by: [.simulator])
    static let fcmRefused = MetricFamily.counter(
        "peal_simulator_fcm_refused_total", "Refusals in the manner of FCM.",
        [.closed("error", FCMError.allCases.filter { $0 != .none }.map { "\($0.name)" })],
        by: [.simulator])

    /// All of them.
    package static let all = [requests, accepted, connections, dropped, apnsRefused, fcmRefused]

    static func write(_ simulator: Simulator, to writer: inout MetricWriter) {
        let stats = simulator.stats()
        let counts = simulator.record.answers
        writer.single(requests, UInt64(clamping: stats?.requests ?? 0))
        writer.single(accepted, UInt64(clamping: counts.accepted))
        writer.single(connections, UInt64(clamping: stats?.openConnections ?? 0))
        writer.single(dropped, UInt64(clamping: simulator.record.dropped))
        writer.begin(apnsRefused)
        for reason in APNsReason.allCases where reason != .none && counts.count(reason) > 0 {
            writer.add(["\(reason.name)"], UInt64(clamping: counts.count(reason)))
        }
        writer.begin(fcmRefused)
        for error in FCMError.allCases where error != .none && counts.count(error) > 0 {
            writer.add(["\(error.name)"], UInt64(clamping: counts.count(error)))
        }
    }
}
