internal import Core

/// One alert as a sender of the wallet-alerts contract writes it.
struct WalletAlert: Sendable {
    /// Whom it is for.
    enum Audience: Sendable, Equatable {
        case wallets([String])
        case everybody
    }

    static let names = ["recipient", "channels", "message", "topicId", "data", "push"]
    static let batchMax = 500
    static let walletsMax = 10_000
    private static let channels = ["PUSH", "IN_APP", "EMAIL", "TELEGRAM"]

    let audience: Audience
    /// Whether its channels name PUSH; else there is nothing to send here.
    let isPush: Bool
    let topic: String?
    /// The job's members but for its app and target.
    let content: [JSONValue.Member]

    /// Reads an alert. `allowsMany`: it may be for several wallets or for all.
    init(_ body: JSONBody, allowsMany: Bool) throws(Problem) {
        audience = try Self.audience(body, allowsMany: allowsMany)
        guard let names = try body.texts("channels", count: 16, bytes: 64), !names.isEmpty else {
            throw body.wrong("channels", "The field must be a list that names at least one channel.")
        }
        for name in names where !Self.channels.contains(name) {
            throw body.wrong(
                "channels", "The channels are \(Self.channels.joined(separator: ", ")), in capitals.")
        }
        isPush = names.contains("PUSH")
        topic = body.value("topicId") == .null ? nil : try body.text("topicId", bytes: 256)
        // The gateway's own topics lead past what devices have subscribed to.
        if let topic, !NativeTopicRoutes.isUsable(topic) {
            throw body.wrong("topicId", NativeTopicRoutes.rule)
        }
        content = try Self.content(body, topic: topic)
    }

    private static func audience(_ body: JSONBody, allowsMany: Bool) throws(Problem) -> Audience {
        let known = ["type", "walletAddress", "walletAddresses"]
        guard let recipient = try body.object("recipient", known: known, unknown: .ignored) else {
            throw body.wrong("recipient", "The field is missing.")
        }
        let types = allowsMany ? ["subscriber", "subscribers", "all-subscribers", "all"] : ["subscriber"]
        switch try recipient.word("type", of: types) {
        case nil: throw recipient.wrong("type", "The field is missing.")
        case "subscriber": return .wallets([try recipient.requiredText("walletAddress", bytes: 256)])
        case "subscribers":
            let list = try recipient.texts("walletAddresses", count: walletsMax, bytes: 256)
            guard let wallets = list, !wallets.isEmpty else {
                throw recipient.wrong("walletAddresses", "The field must name at least one wallet.")
            }
            return .wallets(wallets)
        default: return .everybody
        }
    }

    private static func content(_ body: JSONBody, topic: String?) throws(Problem) -> [JSONValue.Member] {
        let known = ["title", "body", "image", "actions"]
        guard let message = try body.object("message", known: known, unknown: .ignored) else {
            throw body.wrong("message", "The field is missing.")
        }
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ value: JSONValue?) {
            if let value { members.append(JSONValue.Member(name: name, value: value)) }
        }
        for name in ["title", "body"] {
            guard let text = try message.shownText(name, bytes: 16_384) else {
                throw message.wrong(name, "The field is missing.")
            }
            add(name, .string(text))
        }
        add("image", try message.text("image", bytes: 2048).map { JSONValue.string($0) })
        add("topic", topic.map { JSONValue.string($0) })
        if let data = body.value("data") {
            guard data.members != nil else { throw body.wrong("data", "The field must be an object.") }
            add("data", data)
        }
        let switches = ["playNotificationSound", "showNotification"]
        if let push = try body.object("push", known: switches, unknown: .ignored) {
            var given: [JSONValue.Member] = []
            for name in switches {
                guard let value = try push.flag(name) else { continue }
                given.append(JSONValue.Member(name: name, value: .bool(value)))
            }
            if !given.isEmpty { add("push", .object(given)) }
        }
        return members
    }
}
