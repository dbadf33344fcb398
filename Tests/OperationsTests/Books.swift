import Decisions
import Foundation
import Redis
import SimulatorKit

@testable import PealKit

/// What three observers counted of the same deliveries.
struct Books: CustomStringConvertible {
    /// By app and outcome: the workers' metrics, summed by Prometheus, and the live counters in Redis.
    var prometheus: [String: Int] = [:]
    var redis: [String: Int] = [:]
    /// The totals of all apps in Redis, by outcome.
    var redisOfAll: [String: Int] = [:]
    /// What the gateway says that Kafka has acknowledged.
    var published = 0
    /// From the providers' record: what devices got, each copy by itself.
    var delivered = 0

    init(
        _ server: PrometheusServer, _ session: RedisSession, _ simulator: Simulator, _ apps: [String]
    ) throws {
        for (labels, value) in try server.values("sum by (app, outcome) (peal_deliveries_total)") {
            prometheus["\(labels["app"] ?? "") \(labels["outcome"] ?? "")"] = Int(value)
        }
        for app in apps {
            for (outcome, count) in try Self.totals(session, app) { redis["\(app) \(outcome)"] = count }
        }
        redisOfAll = try Self.totals(session, "*")
        published = Int(try server.value("sum(peal_gateway_jobs_total)"))
        delivered = simulator.record.summary().delivered
    }

    private static func totals(_ session: RedisSession, _ app: String) throws -> [String: Int] {
        guard case .array(let fields) = try session.command(["HGETALL", "peal:total:{\(app)}"]) else {
            return [:]
        }
        let words = fields.map {
            if case .string(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { "" }
        }
        var totals: [String: Int] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2)
        where DeliveryOutcome(name: words[index]) != nil {
            totals[words[index]] = Int(words[index + 1])
        }
        return totals.filter { $0.value > 0 }
    }

    /// Whether all say the same of so many jobs, each of which is one delivery.
    func agree(jobs: Int) -> Bool {
        // A job that can't be read is nobody's: Redis counts it for all apps together only.
        let known = prometheus.filter { !$0.key.hasPrefix("*") && $0.value > 0 }
        var all: [String: Int] = [:]
        for (key, value) in prometheus where value > 0 {
            all[String(key.drop { $0 != " " }.dropFirst()), default: 0] += value
        }
        return known == redis && all == redisOfAll && all["accepted"] == delivered
            && all.values.reduce(0, +) == jobs
    }

    var description: String {
        func list(_ counts: [String: Int]) -> String {
            counts.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
                .joined(separator: ", ")
        }
        return "prometheus: \(list(prometheus)); redis: \(list(redis)); of all: \(list(redisOfAll)); "
            + "published \(published), delivered \(delivered)"
    }
}
