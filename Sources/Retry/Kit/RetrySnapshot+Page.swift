import Core
import HTTPServer
import Metrics
import Services
import Terminal

extension RetrySnapshot {
    /// The text of `/statusz`: a row for each tier.
    func page(live: Health, ready: Health) -> String {
        var page = StatusPage(.retry, live: live, ready: ready)
        let held = tiers.reduce(0) { $0 + $1.held }
        page.add([
            (
                "waiting",
                "\(Human.grouped(Int(depth))) records, \(Human.grouped(held)) in memory"
            ),
            ("handed over", Human.grouped(Int(clamping: handedOver))),
            ("dead", dead == 0 ? "" : Human.grouped(Int(clamping: dead))),
        ])
        var table = TextTable([
            .init("tier"), .init("waiting", .right), .init("in memory", .right), .init("in flight", .right),
            .init("handed over", .right), .init("moved on", .right), .init("dead", .right),
            .init("late p50", .right), .init("late p99", .right), .init("partitions", .right),
        ])
        for tier in tiers {
            let late = [0.5, 0.99].map { (fraction: Double) -> String in
                tier.dueErrorMs.total == 0
                    ? "-" : Human.duration(ms: Double(tier.dueErrorMs.quantile(fraction)))
            }
            table.add([
                tier.tier, Human.grouped(Int(tier.depth)), Human.grouped(tier.held),
                Human.grouped(tier.inFlight), Human.grouped(Int(clamping: tier.handedOver)),
                Human.grouped(Int(clamping: tier.hopped)),
                Human.grouped(Int(clamping: tier.dead.reduce(0, &+))), late[0], late[1],
                tier.isMember ? "\(tier.partitions)" : "not a member",
            ])
        }
        page.add(table, rows: tiers.count)
        return page.rendered
    }
}
