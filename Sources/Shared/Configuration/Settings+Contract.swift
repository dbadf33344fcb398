package import Rendering
internal import Core

extension Settings.App {
    /// Which client's contract the gateway serves for an app, beside the native API.
    package enum Contract: String, CaseIterable, Sendable {
        case none
        /// Subscriptions and sends of a wallet's alerts (profile `dialect`).
        case walletAlerts = "wallet_alerts"
        /// A support chat's tokens, messages and reads (profile `concierge`).
        case supportChat = "support_chat"
        /// Deep links to creators (profile `creator`).
        case creator
        /// Sealed requests to wallets (profile `wallet`).
        case walletRequests = "wallet_requests"

        /// The payload profile that its clients understand; nil when there are none.
        package var profile: PayloadProfile? {
            switch self {
            case .none: nil
            case .walletAlerts: .dialect
            case .supportChat: .concierge
            case .creator: .creator
            case .walletRequests: .wallet
            }
        }
    }

    /// Reads what belongs to the contract.
    mutating func readContract(_ section: SectionReader) {
        contract = section.choice("contract", contract)
        clientKeysFile = section.file("client_keys_file")
        senderIDs = section.texts("app_ids", [])
        linkHosts = section.texts("link_hosts", []).map { $0.lowercased() }
        relayKey = section.optionalText("relay_key").map { $0.lowercased() }
        func needs(_ key: String, _ needed: Contract) {
            if section.has(key), contract != needed {
                section.context.report(
                    .conflict, at: section.place,
                    "\(section.name(key)) belongs to contract: \(needed.rawValue); set that or take it out")
            }
        }
        needs("client_keys_file", .walletAlerts)
        needs("app_ids", .walletAlerts)
        needs("link_hosts", .creator)
        needs("relay_key", .walletRequests)
        if let relayKey, relayKey.utf8.count != 64 || Hex.decode(relayKey.utf8) == nil {
            section.context.report(
                .badValue, at: section.place,
                "\(section.name("relay_key")) must be the relay's Ed25519 public key, 64 hexadecimal digits")
        }
        if contract == .walletAlerts, clientKeysFile == nil {
            section.context.report(
                .missing, at: section.place,
                "\(section.name("client_keys_file")) is missing; write the path of a file with one "
                    + "'name:SHA-256 of the client key' a line")
        }
        for id in senderIDs where !Self.isPlainID(id) {
            section.context.report(
                .badValue, at: section.place,
                "\(section.name("app_ids")): an id has 1 to 64 letters, digits, '.', '_' and '-'")
        }
        for host in linkHosts where !Self.isPlainID(host) {
            section.context.report(
                .badValue, at: section.place,
                "\(section.name("link_hosts")): write host names alone, like example.com")
        }
    }

    private static func isPlainID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
    }
}
