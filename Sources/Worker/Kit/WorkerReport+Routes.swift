internal import Core
internal import HTTP2

/// The connections of every route, for Prometheus.
extension WorkerReport {
    private static let gauges: [(name: String, help: String, value: @Sendable (PoolMetrics) -> Int)] = [
        ("peal_route_connections", "Connections that take requests.", { $0.open }),
        ("peal_route_draining", "Connections that only finish what is in flight.", { $0.draining }),
        ("peal_route_shrunk", "Connections whose stream limit fell and stays low.", { $0.shrunk }),
        ("peal_route_streams", "Streams in use.", { $0.streams }),
        ("peal_route_stream_limit", "Streams allowed.", { $0.streamLimit }),
        ("peal_route_waiting", "Requests waiting for a stream.", { $0.waiting }),
    ]
    private static let counters: [(name: String, help: String, value: @Sendable (PoolMetrics) -> UInt64)] = [
        ("peal_route_connects_total", "Connections made.", { $0.connects }),
        ("peal_route_connect_failures_total", "Failed connects.", { $0.connectFailures }),
        ("peal_route_goaways_total", "GOAWAY frames.", { $0.goAways }),
        ("peal_route_pings_total", "PING frames sent.", { $0.pings }),
        ("peal_route_resends_total", "Requests proved unprocessed and resent.", { $0.resends }),
    ]

    /// Appends the families. Lines of a route's side pool bear the label `pool="side"`.
    func appendRoutes(_ out: inout ByteBuffer) {
        for (name, help, value) in Self.gauges {
            family(&out, name, "gauge", help)
            forEachPool { sample(&out, name, $0, UInt64(max(0, value($1)))) }
        }
        for (name, help, value) in Self.counters {
            family(&out, name, "counter", help)
            forEachPool { sample(&out, name, $0, value($1)) }
        }
        family(
            &out, "peal_route_retired_total", "counter", "Connections that took no more requests, by reason.")
        forEachPool { labels, metrics in
            for (reason, count) in zip(PoolMetrics.retirements, metrics.retired) where count > 0 {
                sample(&out, "peal_route_retired_total", "\(labels),reason=\"\(reason)\"", count)
            }
        }
        let whole: [(String, String, String, (RouteStatus) -> UInt64)] = [
            ("peal_route_paused", "gauge", "Whether the route is held up.", { $0.isPaused ? 1 : 0 }),
            (
                "peal_route_circuit", "gauge", "The circuit: 0 closed, 1 half open, 2 open.",
                { UInt64($0.circuit) }
            ),
            (
                "peal_route_circuit_openings_total", "counter", "How often the circuit opened.",
                { $0.circuitOpenings }
            ),
        ]
        for (name, kind, help, value) in whole {
            family(&out, name, kind, help)
            for (index, shard) in shards.enumerated() {
                for route in shard.routes {
                    sample(&out, name, "shard=\"\(index)\",route=\"\(route.name)\"", value(route))
                }
            }
        }
    }

    private func forEachPool(_ body: (_ labels: String, _ metrics: PoolMetrics) -> Void) {
        for (index, shard) in shards.enumerated() {
            for route in shard.routes {
                let labels = "shard=\"\(index)\",route=\"\(route.name)\""
                body(labels, route.metrics)
                if let side = route.side { body("\(labels),pool=\"side\"", side) }
            }
        }
    }
}
