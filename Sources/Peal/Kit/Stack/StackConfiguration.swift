internal import SimulatorKit

/// The configuration file that the stack writes for its programs.
struct StackConfiguration {
    let options: StackOptions
    let brokers: String
    let redisSocket: String
    let endpoints: Simulator.Endpoints
    let credentialDirectory: String
    let keyID: String
    let teamID: String
    /// The gateways' API keys; empty for none.
    var keysFile = ""

    /// Waits that suit a run of seconds: the simulator's outages are short.
    private static let shortWaits = [
        "delays:", "  connection: 200ms", "  device: 500ms", "  quota: 500ms", "  server: 500ms",
        "  apns_server: 500ms",
        "  token_update: 2s",
    ]

    /// The file's text.
    func text(
        workerPort: UInt16, retryPort: UInt16, expandPort: UInt16? = nil, gatewayPort: UInt16? = nil
    ) -> String {
        let files = ThrowAwayCredentials.fileNames
        let ca = "ca_file: \(quoted("\(credentialDirectory)/\(files.ca)"))"
        func endpoint(_ port: UInt16?) -> String { "{host: 127.0.0.1, port: \(port ?? 1), \(ca)}" }
        var out = "# Written by peal for one run.\n"
        out += section(
            "kafka",
            [
                "brokers: \(quoted(brokers))",
                // The embedded broker lets a rebalance last as long as a session.
                "session.timeout.ms: 6000", "heartbeat.interval.ms: 1000", "fetch.wait.max.ms: 10",
            ])
        out += section("redis", ["url: \(quoted("unix://\(redisSocket)"))"])
        out += section(
            "topics",
            [
                "prefix: \(quoted(options.topicPrefix))", "partitions: \(options.partitions)",
                "replication: 1",
                "retry_tiers: [\(Self.tiers(options).joined(separator: ", "))]",
            ])
        out += section("worker", ["commit_interval: 250ms"])
        out += section("retry", options.hasShortWaits ? Self.shortWaits : [])
        out += section(
            "http",
            [
                "worker: 127.0.0.1:\(workerPort)", "retry: 127.0.0.1:\(retryPort)",
                "expand: \(expandPort.map { "127.0.0.1:\($0)" } ?? "off")",
                gatewayPort.map { "gateway: 127.0.0.1:\($0)" } ?? "gateway: off",
            ])
        out += section("gateway", keysFile.isEmpty ? [] : ["keys_file: \(quoted(keysFile))"])
        out += "providers:\n  apns:\n"
        out += "    production: \(endpoint(endpoints.apns))\n    sandbox: \(endpoint(endpoints.sandbox))\n"
        out += merged("providers.apns", [], indent: 4)
        out += "  fcm:\n    endpoint: \(endpoint(endpoints.fcm))\n"
        out += "    token_endpoint: {host: 127.0.0.1, port: \(endpoints.fcm ?? 1), path: /token, \(ca)}\n"
        out += merged("providers.fcm", [], indent: 4)
        let breaker = options.hasShortWaits ? ["circuit: {open: 500ms, open_max: 1s}"] : []
        out += merged("providers", breaker, indent: 2)
        out += section("log", ["level: \(options.logLevel)", "format: human"])
        out += "apps:\n"
        for app in options.apps { out += self.app(app) }
        return out
    }

    /// The retry topics' names, which are their delays.
    static func tiers(_ options: StackOptions) -> [String] {
        options.hasShortWaits ? ["250ms", "1s", "10s"] : ["1s", "10s", "1m", "5m", "15m", "1h"]
    }

    private func section(_ name: String, _ own: [String]) -> String {
        let text = merged(name, own, indent: 2)
        return text.isEmpty ? "" : "\(name):\n" + text
    }

    /// A section's lines, the options' in place of the stack's own of the same key.
    private func merged(_ name: String, _ own: [String], indent: Int) -> String {
        let extra = options.settings[name] ?? []
        let overridden = Set(extra.map { $0.prefix { $0 != ":" } })
        let kept = own.filter { !overridden.contains($0.prefix { $0 != ":" }) } + extra
        let space = String(repeating: " ", count: indent)
        return kept.map { "\(space)\($0)\n" }.joined()
    }

    private func app(_ app: StackApp) -> String {
        let files = ThrowAwayCredentials.fileNames
        let key = quoted("\(credentialDirectory)/\(files.key)")
        return """
              \(app.name):
                title: \(quoted(app.name))
                profile: \(app.profile)
                oversize: \(app.oversize)
                outcomes: \(app.outcomes)
                show_team_names: true
            \(contract(app))
                apns:
                  topic: \(app.topic)
                  key_file: \(key)
                  key_id: \(keyID)
                  team_id: \(teamID)
                  both_environments: true
                fcm: {service_account_file: \(quoted("\(credentialDirectory)/\(files.account)"))}

            """
    }

    /// What the gateway needs to know of the app, when there is one: the contract of its profile's clients,
    /// and who its users are.
    private func contract(_ app: StackApp) -> String {
        guard !keysFile.isEmpty else { return "    contract: none" }
        var lines = [
            "users: {secret_file: \(quoted("\(keysFile).users")), audience: \(quoted(app.name))}"
        ]
        switch app.profile {
        case "concierge": lines.append("contract: support_chat")
        case "dialect":
            lines += ["contract: wallet_alerts", "client_keys_file: \(quoted("\(keysFile).clients"))"]
        case "creator": lines.append("contract: creator")
        case "wallet": lines.append("contract: wallet_requests")
        default: break
        }
        return lines.map { "    \($0)" }.joined(separator: "\n")
    }

    /// A double-quoted YAML scalar.
    private func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }
}
