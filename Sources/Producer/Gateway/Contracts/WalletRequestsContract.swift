internal import Configuration
internal import Core
internal import HTTPServer
internal import Redis
internal import Registry
internal import Security

/// The contract of encrypted wallet requests (profile `wallet`): clients register under a project, a relay
/// pushes sealed messages to them.
///
/// The project is the app, the client the recipient; it has one device. A message is passed on as it stands:
/// it is never opened, logged or put into an error.
package struct WalletRequestsContract: Sendable {
    /// The id of a client's only device.
    static let device = "client"

    private let apps: GatewayApps
    private let authority: any ContractAuthority
    /// By app.
    private let relays: [String: RelaySignature]

    /// Serves every app that has the contract.
    package init(_ apps: GatewayApps, _ authority: any ContractAuthority) {
        self.apps = apps
        self.authority = authority
        var relays: [String: RelaySignature] = [:]
        for app in apps.with(.walletRequests) {
            relays[app.name] = app.relayKey.flatMap { RelaySignature(publicKey: $0) }
        }
        self.relays = relays
    }

    /// The routes.
    package var routes: [GatewayRoute] {
        [
            GatewayRoute(
                "POST", "/{project}/clients", "walletRegisterClient", .handler, form: .contract,
                .registry { call, session in try register(call, session) }),
            GatewayRoute(
                "DELETE", "/{project}/clients/{id}", "walletRemoveClient", .handler, form: .contract,
                .registry { call, session in try remove(call, session) }),
            GatewayRoute(
                "POST", "/{project}/clients/{id}", "walletPush", .handler, form: .contractSend,
                .plain { call throws(Problem) in try push(call) }),
        ]
    }

    /// The answer that clients of this contract know.
    private static func success(_ status: Int) -> HTTPResponse {
        .json(status, "{\"status\":\"SUCCESS\",\"errors\":null,\"fields\":null}\n")
    }

    private func project(_ call: GatewayCall) throws(Problem) -> Settings.App {
        try apps.app(call.parameters["project"] ?? "", with: .walletRequests)
    }

    /// A client's id without what marks it as a key.
    private static func clientID(_ text: String) throws(Problem) -> String {
        let mark = "did:key:"
        return try Names.recipient(
            text.hasPrefix(mark) ? String(text.dropFirst(mark.count)) : text, "client_id")
    }

    /// Lets a program with the scope `register` pass, and the client itself by its own token.
    private func admit(_ call: GatewayCall, _ client: String, _ app: Settings.App) throws(Problem) {
        let key = call.request.header("x-api-key")
        // Some clients put their token into the query, as `auth`. It ends with its hour; an API key doesn't,
        // and addresses are kept in many logs.
        let query = key == nil && call.bearer == nil ? call.request.query("auth") : nil
        if let query, !Self.isToken(query) {
            throw .unauthorized(
                "The query's auth takes the client's own token; send an API key as X-Api-Key.")
        }
        guard key == nil, let token = call.bearer ?? query, Self.isToken(token) else {
            _ = try authority.key(key ?? call.bearer, may: .register, app: app.name)
            return
        }
        let user = try Self.clientID(try authority.user(token, app: app.name, nowMs: call.nowMs))
        guard user.hasSameBytes(as: client) else { throw .forbidden("The token is another client's.") }
    }

    /// Whether it has the form of a JSON Web Token.
    private static func isToken(_ text: String) -> Bool {
        text.utf8.count { $0 == UInt8(ascii: ".") } == 2
    }

    /// Lets the app's relay pass by its signature, and a program with the scope `send`.
    /// - Returns: who it is; no key has a name like a relay's.
    private func admitSender(_ call: GatewayCall, _ app: Settings.App) throws(Problem) -> String {
        if let relay = relays[app.name], RelaySignature.isShown(by: call.request) {
            try relay.check(call.request, nowMs: call.nowMs)
            return "relay:\(app.name)"
        }
        let key = call.request.header("x-api-key") ?? call.bearer
        return try authority.key(key, may: .send, app: app.name)
    }

    private func register(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let app = try project(call)
        let body = try JSONBody(
            call.request, known: ["client_id", "type", "token", "always_raw"], unknown: .ignored)
        let client = try Self.clientID(try body.requiredText("client_id", bytes: 256))
        try admit(call, client, app)
        guard let type = try body.word("type", of: ["apns", "apns-sandbox", "fcm"]) else {
            throw body.wrong("type", "The field is missing; write apns, apns-sandbox or fcm.")
        }
        let token = try body.requiredText("token", bytes: DeviceRecord.maximumTokenBytes)
        let isRaw = body.value("always_raw") == .null ? false : try body.flag("always_raw") ?? false
        let record = try DeviceFields.record(
            body, platform: type == "fcm" ? .android : .ios, token: token,
            environment: type == "apns-sandbox" ? "sandbox" : "production", app: app, nowMs: call.nowMs)
        try ContractNotes(session: session, app: app.name)
            .set(isRaw ? "always_raw" : nil, of: client, device: Self.device)
        try apps.directory(app.name, session)
            .register(recipient: client, device: Self.device, record)
        return .answer(Self.success(200))
    }

    private func remove(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let app = try project(call)
        let client = try Self.clientID(call.parameters["id"] ?? "")
        try admit(call, client, app)
        let directory = apps.directory(app.name, session)
        try directory.remove(recipient: client, device: Self.device)
        try ContractNotes(session: session, app: app.name).set(nil, of: client, device: Self.device)
        return .answer(Self.success(200))
    }

    private func push(_ call: GatewayCall) throws(Problem) -> Reply {
        let app = try project(call)
        let sender = try admitSender(call, app)
        let client = try Self.clientID(call.parameters["id"] ?? "")
        let body = try JSONBody(call.request, known: ["message", "topic", "tag"], unknown: .ignored)
        guard let message = body.value("message")?.string, !message.isEmpty else {
            throw body.wrong("message", "The field must be a string that isn't empty.")
        }
        let topic = try body.requiredText("topic", bytes: 256)
        guard let tag = body.value("tag"),
            tag.integer.map({ (0...4_294_967_295).contains($0) }) ?? (tag.string != nil)
        else {
            throw body.wrong("tag", "The field must be a whole number from 0 to 4294967295, or a string.")
        }
        var job = JobDraft(app: app.name)
        job.address(to: client)
        job.set("type", "encrypted")
        job.set("message", message)
        job.set("topic", topic)
        job.set("tag", tag)
        // A relay may tell a message twice; the client gets it once.
        job.set("dedup", "wc:\(Hex.encode(SHA256.hash(text: message)))")
        return .contractSend(
            [job.submission()], of: call, scope: call.request.path, sender: sender,
            answer: Self.success(202))
    }
}
