import Configuration
import Testing

@Suite("contracts of apps")
struct ContractTests {
    private func result(_ app: String) throws -> Settings { try load("apps:\n  a: {\(app)}\n") }

    @Test("each contract with what belongs to it")
    func good() throws {
        #expect(try result("").app("a")?.contract == Settings.App.Contract.none)
        let wallet = try result(
            "contract: wallet_alerts, client_keys_file: /k/keys, app_ids: [dapp-1, dapp-2]")
        #expect(wallet.app("a")?.contract == .walletAlerts)
        #expect(wallet.app("a")?.clientKeysFile == "/k/keys")
        #expect(wallet.app("a")?.senderIDs == ["dapp-1", "dapp-2"])
        #expect(wallet.files.contains("/k/keys"))
        let creator = try result("contract: creator, link_hosts: [A.example.com]")
        #expect(creator.app("a")?.linkHosts == ["a.example.com"])
        #expect(try result("contract: support_chat").app("a")?.contract == .supportChat)
        #expect(try result("contract: wallet_requests").app("a")?.contract == .walletRequests)
    }

    @Test("a contract with another profile than its clients expect is odd")
    func profile() throws {
        let odd = try result("contract: creator")
        #expect(odd.warnings.count == 1)
        #expect(odd.warnings.first?.contains("clients of this contract expect profile: creator") == true)
        #expect(try result("contract: creator, profile: creator").warnings == [])
        #expect(try result("profile: wallet").warnings == [])
    }

    @Test(
        "what does not fit is said",
        arguments: [
            ("contract: chat", "contract"), ("contract: wallet_alerts", "client_keys_file"),
            ("client_keys_file: k", "wallet_alerts"), ("app_ids: [a]", "wallet_alerts"),
            ("contract: support_chat, link_hosts: [a.example.com]", "creator"),
            ("contract: creator, link_hosts: ['https://a.example.com/']", "link_hosts"),
            ("contract: wallet_alerts, client_keys_file: k, app_ids: ['a b']", "app_ids"),
            ("contract: wallet_requests, relay_key: abc", "relay_key"), ("relay_key: abc", "wallet_requests"),
        ])
    func bad(app: String, word: String) {
        let failure = #expect(throws: ConfigurationFailure.self) { try result(app) }
        #expect("\(failure.map { "\($0)" } ?? "")".contains(word))
    }
}
