import EventLoop
import Foundation
import Testing

@Suite("Prometheus rules") struct RuleTests {
    /// What an alert may name as its cause.
    static let causes: Set<String> = [
        "provider_unavailable", "credential_refused", "credential_expiring", "redis_away", "kafka_away",
        "app_stuck", "poison_jobs", "bulk_backlog", "lag_growing", "token_storm", "clock_skew", "worker_gone",
        "retry_backlog", "paused", "quota_refused", "broadcast_stuck", "pods_none",
    ]

    @Test("promtool takes the rules, and their tests pass")
    func promtool() throws {
        let check = try DeployFiles.run(["promtool", "check", "rules", "--lint-fatal", DeployFiles.rulesPath])
        #expect(check.code == 0, "\(check.output)")
        let test = try DeployFiles.run(
            ["promtool", "test", "rules", "peal.rules.test.yml"], in: DeployFiles.prometheus)
        #expect(test.code == 0, "\(test.output)")
    }

    @Test(
        "promtool takes the scrape configurations",
        arguments: ["prometheus.yml", "prometheus-kubernetes.yml"])
    func configurations(_ name: String) throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-test")
        defer { Files.removeTree(directory) }
        // Debian's promtool is built without Kubernetes: it gets a list of targets in place of the discovery.
        let text = try DeployFiles.text("deploy/prometheus/\(name)").replacing(
            "kubernetes_sd_configs:\n      - role: pod", with: "static_configs:\n      - targets: [pod]")
        try Files.write(path: "\(directory)/\(name)", text: text)
        try Files.write(
            path: "\(directory)/peal.rules.yml", text: try DeployFiles.text(DeployFiles.rulesPath))
        let check = try DeployFiles.run(["promtool", "check", "config", name], in: directory)
        #expect(check.code == 0, "\(check.output)")
        for job in ["worker", "retry", "gateway", "expand"] { #expect(text.contains(job)) }
    }

    @Test("Every metric and label of the rules exists")
    func names() throws {
        let rules = try DeployFiles.rules()
        let known = KnownSeries(rules: rules)
        for rule in rules {
            #expect(known.faults(in: rule.expression) == [], "\(rule.name)")
            // Templates ask further queries.
            for query in rule.annotations.values.flatMap(Self.queries) {
                #expect(known.faults(in: query) == [], "\(rule.name)")
            }
        }
    }

    @Test("Every cause has an alert, and every alert says what it is about, how bad it is and what to do")
    func alerts() throws {
        let alerts = try DeployFiles.rules().filter(\.isAlert)
        #expect(Set(alerts.compactMap { $0.labels["cause"] }) == Self.causes)
        let tests = try DeployFiles.text("deploy/prometheus/peal.rules.test.yml")
        for alert in alerts {
            #expect(alert.name.hasPrefix("Peal"))
            #expect(["page", "warning", "info"].contains(alert.labels["severity"]), "\(alert.name)")
            #expect(alert.annotations["summary"]?.isEmpty == false, "\(alert.name)")
            #expect(alert.annotations["description"]?.isEmpty == false, "\(alert.name)")
            #expect(tests.contains("alertname=\"\(alert.name)\""), "\(alert.name) has no test")
            // The alert that is named like its cause is the cause's own.
            let words = try #require(alert.labels["cause"]).split(separator: "_").map(\.capitalized)
            let own = "Peal" + words.joined()
            #expect(alerts.contains { $0.name == own }, "no alert is called \(own)")
        }
        #expect(Set(alerts.map(\.name)).count == alerts.count)
    }

    /// What `query` asks in an annotation.
    private static func queries(_ annotation: String) -> [String] {
        annotation.ranges(of: "query \"").map { range in
            String(annotation[range.upperBound...].prefix { $0 != "\"" })
        }
    }
}

@Suite("Names in PromQL") struct PromQLNamesTests {
    @Test("Metrics, matchers and groupings are found, functions and durations are not")
    func names() {
        let names = PromQLNames(
            """
            sum by (a, b) (rate(x_total{l=~"m{n}\\"o", p!="q"}[5m] offset 1m)) / on (a) group_left ()
            clamp_min(peal:y:z, 1) unless topk(3, up) > bool 10 or $v
            """)
        #expect(
            names.selectors == [
                .init(metric: "x_total", labels: ["l", "p"]), .init(metric: "peal:y:z", labels: []),
                .init(metric: "up", labels: []),
            ])
        #expect(names.groupings == ["a", "b", "a"])
    }

    @Test("A name that nobody has is a fault, and so is a label")
    func faults() throws {
        let known = KnownSeries(rules: [])
        #expect(known.faults(in: "sum by (lane) (peal_consumer_lag_records{job=\"x\"})") == [])
        #expect(known.faults(in: "peal_consumer_lag") == ["there is no metric peal_consumer_lag"])
        #expect(known.faults(in: "peal_jobs_open{lane=\"x\"}") == ["peal_jobs_open has no label lane"])
        #expect(
            known.faults(in: "sum by (app) (peal_jobs_open)")
                == ["nothing in the expression has the label app"])
        #expect(known.faults(in: "peal_stage_duration_seconds_bucket{le=\"1\",stage=\"total\"}") == [])
    }
}
