internal import Configuration
internal import Core
internal import HTTPServer
internal import Redis
internal import Registry

/// The contract of wallet alerts (profile `dialect`): clients subscribe their FCM token with the user's token
/// and a client key; apps send to wallets.
///
/// The wallet is the recipient, the app of the client key the app. `appId` names who sends: the app itself or
/// one of its `app_ids`.
package struct WalletAlertsContract: Sendable {
    private let apps: GatewayApps
    private let authority: any ContractAuthority
    private let clients: [(app: Settings.App, keys: ClientKeys)]
    private let senders: [String: Settings.App]

    /// Serves every app that has the contract.
    package init(_ apps: GatewayApps, _ authority: any ContractAuthority) {
        self.apps = apps
        self.authority = authority
        let served = apps.with(.walletAlerts)
        clients = served.compactMap { app in
            app.clientKeysFile.map { (app, ClientKeys(path: $0)) }
        }
        var senders: [String: Settings.App] = [:]
        for app in served {
            for id in [app.name] + app.senderIDs where senders[id] == nil { senders[id] = app }
        }
        self.senders = senders
    }

    /// The routes.
    package var routes: [GatewayRoute] {
        [
            GatewayRoute(
                "POST", "/v2/push/subscribe", "walletSubscribe", .handler, form: .contract,
                .registry { call, session in try subscribe(call, session) }),
            GatewayRoute(
                "POST", "/v2/push/unsubscribe", "walletUnsubscribe", .handler, form: .contract,
                .registry { call, session in try unsubscribe(call, session) }),
            GatewayRoute(
                "POST", "/v2/{appId}/send", "walletSend", .handler, form: .contractSend,
                .registry { call, session in try send(call, session) }),
            GatewayRoute(
                "POST", "/v2/{appId}/send-batch", "walletSendBatch", .handler, form: .contractSend,
                .registry { call, session in try sendBatch(call, session) }),
        ]
    }

    // MARK: - Subscriptions

    private struct Subscription {
        let app: Settings.App
        let wallet: String
        let device: String
        let token: String
        let sender: String?
        let body: JSONBody
    }

    private func subscription(_ call: GatewayCall) throws(Problem) -> Subscription {
        guard let key = call.request.header("x-dialect-client-key") else {
            throw .unauthorized("The request needs the header X-Dialect-Client-Key.")
        }
        guard let app = clients.first(where: { $0.keys.contains(key) })?.app else {
            throw .unauthorized("The client key in X-Dialect-Client-Key is unknown.")
        }
        let wallet = try authority.user(try call.requiredBearer(), app: app.name, nowMs: call.nowMs)
        let body = try JSONBody(
            call.request, known: ["fcmToken", "deviceId", "appId"], unknown: .ignored)
        let token = try body.requiredText("fcmToken", bytes: DeviceRecord.maximumTokenBytes)
        let given = try body.text("deviceId", bytes: 256)
        let device: String
        switch given {
        case nil: device = DeviceFields.derivedID("t", token)
        case let id? where Names.isDeviceID(id): device = id
        case let id?: device = DeviceFields.derivedID("d", id)
        }
        let sender = try body.text("appId", bytes: 64)
        if let sender, senders[sender]?.name != app.name {
            throw body.wrong("appId", "The client's app has no such appId; its app_ids lists them.")
        }
        return Subscription(
            app: app, wallet: wallet, device: device, token: token, sender: sender, body: body)
    }

    private func subscribe(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let wanted = try subscription(call)
        // A wallet's subscriptions change one after the other: each reads what the one before has written.
        let lock = RegistryLock(session: session, app: wanted.app.name, name: "alerts:\(wanted.wallet)")
        try lock.take()
        defer { lock.release() }
        let directory = apps.directory(wanted.app.name, session)
        let notes = ContractNotes(session: session, app: wanted.app.name)
        let isKnown = try directory.devices(of: wanted.wallet).contains { $0.id == wanted.device }
        var scope = isKnown ? AlertScope(text: try notes.notes(of: wanted.wallet)[wanted.device]) : .none
        guard scope.subscribe(wanted.sender) else { throw Self.tooMany(wanted.body) }
        let record = try DeviceFields.record(
            wanted.body, field: "fcmToken", platform: .android, token: wanted.token, environment: nil,
            app: wanted.app, nowMs: call.nowMs)
        // The note first: a device that is known without its note would take the alerts of all apps.
        try notes.set(scope.text, of: wanted.wallet, device: wanted.device)
        try directory.register(recipient: wanted.wallet, device: wanted.device, record)
        try settle(wanted, directory, notes, session)
        return .answer(.json(200, "{}\n"))
    }

    private func unsubscribe(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let wanted = try subscription(call)
        // A wallet's subscriptions change one after the other: each reads what the one before has written.
        let lock = RegistryLock(session: session, app: wanted.app.name, name: "alerts:\(wanted.wallet)")
        try lock.take()
        defer { lock.release() }
        let directory = apps.directory(wanted.app.name, session)
        let notes = ContractNotes(session: session, app: wanted.app.name)
        let devices = try directory.devices(of: wanted.wallet)
        guard
            let device =
                (devices.first { $0.id == wanted.device }
                ?? devices.first { $0.record.token == wanted.token })?.id
        else { return .answer(.json(200, "{}\n")) }
        var scope = AlertScope(text: try notes.notes(of: wanted.wallet)[device])
        guard scope.unsubscribe(wanted.sender) else { throw Self.tooMany(wanted.body) }
        if scope.isNone {
            try directory.remove(recipient: wanted.wallet, device: device)
            try notes.set(nil, of: wanted.wallet, device: device)
        } else {
            try notes.set(scope.text, of: wanted.wallet, device: device)
        }
        try settle(wanted, directory, notes, session)
        return .answer(.json(200, "{}\n"))
    }

    /// Puts the wallet into the gateway's own topics, so that broadcasts find it. An app that nobody else
    /// sends through needs none: its broadcasts go to everybody.
    private func settle(
        _ wanted: Subscription, _ directory: DeviceDirectory, _ notes: ContractNotes,
        _ session: RedisSession
    ) throws(RedisFailure) {
        if wanted.app.senderIDs.isEmpty { return }
        let known = try notes.notes(of: wanted.wallet)
        let scopes = try directory.devices(of: wanted.wallet).map { AlertScope(text: known[$0.id]) }
        let topics = AlertAudience.topics(scopes)
        let index = SubscriberIndex(session: session, app: wanted.app.name)
        let before = try index.topics(of: wanted.wallet).filter(AlertAudience.isOwn)
        for topic in before where !topics.contains(topic) { try index.unsubscribe(wanted.wallet, topic) }
        for topic in topics.sorted() where !before.contains(topic) {
            try index.subscribe(wanted.wallet, topic)
        }
    }

    private static func tooMany(_ body: JSONBody) -> Problem {
        body.wrong("appId", "A device may name \(AlertScope.idsMax) apps; subscribe it to all instead.")
    }

    // MARK: - Sends

    /// The app that the path's sender sends through, once its key is checked.
    private func sender(
        _ call: GatewayCall
    ) throws(Problem) -> (app: Settings.App, id: String, key: String) {
        let id = call.parameters["appId"] ?? ""
        // The key is for the sender, not for the app that it sends through: senders can't speak for others.
        let key = call.request.header(Gatekeeper.senderKeyHeader)
        let name: String
        do throws(Problem) {
            name = try authority.key(key, may: .send, app: id)
        } catch {
            guard error.status == 401 else { throw error }
            throw .unauthorized(
                key == nil
                    ? "Send an API key in the header x-dialect-api-key."
                    : "The API key in x-dialect-api-key is not known here.")
        }
        guard let app = senders[id] else {
            throw .notFound("There is no such appId; an app's app_ids lists them.")
        }
        return (app, id, name)
    }

    private func send(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let sender = try sender(call)
        let alert = try WalletAlert(
            try JSONBody(call.request, known: WalletAlert.names, unknown: .ignored), allowsMany: true)
        return try publish([alert], call, sender, session)
    }

    private func sendBatch(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let sender = try sender(call)
        let body = try JSONBody(call.request, known: ["alerts"], unknown: .ignored)
        guard let elements = body.value("alerts")?.array, (1...WalletAlert.batchMax).contains(elements.count)
        else {
            throw body.wrong("alerts", "The field must be a list of 1 to \(WalletAlert.batchMax) alerts.")
        }
        var alerts: [WalletAlert] = []
        for (index, element) in elements.enumerated() {
            do throws(Problem) {
                alerts.append(
                    try WalletAlert(
                        try JSONBody(element, prefix: "", known: WalletAlert.names, unknown: .ignored),
                        allowsMany: false))
            } catch {
                var problem = error
                problem.index = index
                throw problem
            }
        }
        return try publish(alerts, call, sender, session)
    }

    private func publish(
        _ alerts: [WalletAlert], _ call: GatewayCall, _ sender: (app: Settings.App, id: String, key: String),
        _ session: RedisSession
    ) throws -> Reply {
        var jobs: [Submission] = []
        let routing = AlertRouting(
            app: sender.app.name, sender: sender.id, hasOthers: !sender.app.senderIDs.isEmpty,
            session: session)
        for alert in alerts where alert.isPush { jobs += try routing.jobs(alert) }
        return .contractSend(
            jobs, of: call, scope: "\(call.request.path)", sender: sender.key,
            answer: .json(202, "{}\n"))
    }
}
