internal import Configuration
internal import Core
internal import Decisions
internal import EventLoop
internal import HTTP2
internal import Jobs
internal import Logging
internal import Providers
internal import Services
internal import Terminal

/// Whether the providers can be reached, and whether they take the credentials. Nothing is asked of them
/// unless the operator wants it.
struct ProviderChecks {
    /// A token that no device can have: one byte long.
    static let impossibleToken = "00"

    private let settings: Settings
    private let request: CheckRequest

    init(_ settings: Settings, _ request: CheckRequest) {
        self.settings = settings
        self.request = request
    }

    var lines: [CheckReport.Line] {
        guard request.connects || request.probesAPNs || request.fcmToken != nil else {
            return [.init("providers", .skipped, "not asked; --connect and --probe-apns do that")]
        }
        var lines: [CheckReport.Line] = []
        var reached: Set<String> = []
        let keeper = CredentialKeeper(keeping, logger: .silent)
        defer { keeper.stop() }
        for app in settings.apps where request.wants(app.name) {
            // What can't be read has been told already.
            guard let directory = try? directory(of: app, keeper) else { continue }
            for route in directory.routes {
                let place = "\(route.endpoint.host):\(route.endpoint.port)"
                if request.connects, reached.insert("\(place) \(route.name)").inserted {
                    lines.append(connect(route, place))
                }
                if let line = probe(route, app) { lines.append(line) }
            }
        }
        if lines.isEmpty {
            lines.append(.init("providers", .skipped, "no app has a credential to ask a provider with"))
        }
        return lines
    }

    private func directory(
        of app: Settings.App, _ keeper: CredentialKeeper
    ) throws(CredentialFailure) -> ProviderDirectory {
        var uploads: UploadedCredentials?
        if settings.takesUploads(app), let options = try? settings.redisOptions(scripts: []) {
            uploads = UploadedCredentials(settings, redis: options, logger: .silent)
            _ = uploads?.poll()
        }
        return try CredentialChecks.directory(of: app, settings, uploads, keeper: keeper)
    }

    /// The provider tokens are those that the pods share, where there are some: Apple refuses a key whose
    /// token changes often.
    private var keeping: KeeperOptions {
        var options = KeeperOptions()
        options.caFile = settings.providers.fcmTokenEndpoint.caFile
        options.verifiesPeer = settings.providers.fcmTokenEndpoint.verify
        options.proxy = try? DirectoryBuilder.proxy(settings.providers.fcmProxy)
        options.appleTokenAgeMs = settings.providers.apnsTokenAgeMs
        options.redis = try? settings.redisOptions(scripts: [])
        options.pod = "peal-check"
        return options
    }

    // MARK: Connecting

    private func connect(_ route: RouteDefinition, _ place: String) -> CheckReport.Line {
        let name = Self.part(route.provider)
        guard let exchange = ProbeExchange(route) else {
            return .init(name, .bad, "no descriptors are left; raise ulimit -n")
        }
        defer { exchange.close() }
        let startMs = Clock.monotonicMs
        if let why = exchange.connect(timeoutMs: UInt64(request.timeoutMs)) {
            return .init(
                name, .bad, "\(place) can't be reached: \(why)",
                fix: "let outgoing TLS to it pass, or name a proxy under providers.\(name).proxy")
        }
        let took = Human.duration(ms: Double(Clock.monotonicMs - startMs))
        return .init(name, .good, "\(place) speaks HTTP/2 over TLS with us (\(took))")
    }

    private static func part(_ provider: Provider) -> String { "\(provider.name)" }

    // MARK: Probing

    private func probe(_ route: RouteDefinition, _ app: Settings.App) -> CheckReport.Line? {
        let part = "app \(app.name)"
        let body: String
        let path: String
        switch route.provider {
        case .apns where request.probesAPNs:
            guard !app.topic.isEmpty else {
                return .init(part, .skipped, "\(route.name): without a topic APNs can't be asked")
            }
            body = #"{"aps":{"content-available":1}}"#
            path = "/3/device/\(Self.impossibleToken)"
        case .fcm where request.fcmToken != nil:
            var message = JSONObject()
            message.set("token", request.fcmToken ?? "")
            message.set("data", .object([.init(name: "peal", value: .string("check"))]))
            var whole = JSONObject()
            whole.set("validate_only", true)
            whole.set("message", message.value)
            body = whole.value.text
            path = String(decoding: route.path, as: UTF8.self)
        default: return nil
        }
        guard let exchange = ProbeExchange(route) else {
            return .init(part, .bad, "no descriptors are left; raise ulimit -n")
        }
        defer { exchange.close() }
        let answer = exchange.send(
            path: path, body: body, topic: route.provider == .apns ? app.topic : nil,
            timeoutMs: UInt64(request.timeoutMs))
        return Self.judge(answer, route: route.name, provider: route.provider, part: part)
    }

    /// What an answer says about the credential.
    static func judge(
        _ answer: ProbeExchange.Answer, route: String, provider: Provider, part: String
    ) -> CheckReport.Line {
        switch answer {
        case .noCredential(let why):
            return .init(
                part, .bad, "\(route): there is no provider token: \(why)",
                fix: provider == .fcm
                    ? "see whether the service account is still allowed to send"
                    : "check the key, its id and team")
        case .failed(let why):
            return .init(part, .bad, "\(route): no answer: \(why)", fix: "peal check --connect")
        case .answered(let status, let bytes):
            return provider == .apns
                ? apns(status, bytes, route, part) : fcm(status, bytes, route, part)
        }
    }

    private static func apns(
        _ status: Int, _ bytes: [UInt8], _ route: String, _ part: String
    ) -> CheckReport.Line {
        let body = unsafe bytes.withUnsafeBytes { unsafe APNsErrorBody.parse($0) }
        let reason = Reason(apns: body.reason, status: status).label
        switch (status, body.reason) {
        case (400, .badDeviceToken), (410, _), (200, _):
            return .init(part, .good, "\(route): APNs takes the credential and the topic")
        case (400, .deviceTokenNotForTopic), (400, .topicDisallowed), (403, .topicMismatch), (400, .badTopic):
            return .init(
                part, .bad, "\(route): APNs knows the credential, but it is not for this topic (\(reason))",
                fix: "set apps.*.apns.topic to the bundle id that the key or certificate is for")
        case (403, _):
            return .init(
                part, .bad, "\(route): APNs refuses the credential (\(reason))",
                fix: "check key_id, team_id and the environment, and whether the key was revoked")
        default:
            return .init(part, .warn, "\(route): APNs answers \(status) (\(reason)), which decides nothing")
        }
    }

    private static func fcm(
        _ status: Int, _ bytes: [UInt8], _ route: String, _ part: String
    ) -> CheckReport.Line {
        let body = unsafe bytes.withUnsafeBytes { unsafe FCMErrorBody.parse($0) }
        switch status {
        case 200: return .init(part, .good, "\(route): FCM would take a message to this token")
        case 400 where body.badField != .other, 404 where body.code == .unregistered:
            return .init(
                part, .warn, "\(route): FCM takes the credential, but not the token (\(status))",
                fix: "use a token of this project that an app has just got")
        case 401, 403:
            return .init(
                part, .bad,
                body.code == .senderIDMismatch
                    ? "\(route): the token is that of another project"
                    : "\(route): FCM refuses the credential (\(status))",
                fix: "check project_id, and that the service account may send messages in it")
        case 404: return .init(part, .bad, "\(route): FCM knows no such project", fix: "check project_id")
        default: return .init(part, .warn, "\(route): FCM answers \(status), which decides nothing")
        }
    }
}

/// One connection to a provider by a route, driven to an answer.
///
/// - Threading: one thread; every call ends within its time.
final class ProbeExchange {
    enum Answer: Equatable {
        /// No token came of the credential.
        case noCredential(String)
        /// No answer came.
        case failed(String)
        case answered(status: Int, body: [UInt8])
    }

    private let loop: EventLoop
    private let route: Route
    private let inbox: Inbox

    private final class Inbox: ResponseSink {
        var answer: Answer?

        func responded(tag: UInt64, response: ResponseView) {
            answer = .answered(status: Int(response.status), body: unsafe Array(response.body))
        }

        func failed(tag: UInt64, failure: TransportFailure) { answer = .failed(failure.message) }
    }

    /// Nil when the system has no descriptor left.
    init?(_ definition: RouteDefinition) {
        guard let loop = try? EventLoop() else { return nil }
        self.loop = loop
        inbox = Inbox()
        route = Route(definition, loop: loop, sink: inbox)
    }

    /// Makes a connection.
    /// - Returns: why there is none; nil when there is.
    func connect(timeoutMs: UInt64) -> String? {
        route.pool.warmUp()
        let endMs = Clock.monotonicMs + timeoutMs
        while Clock.monotonicMs < endMs {
            loop.runOnce(maxWaitMs: 20)
            let now = route.pool.snapshot
            if now.open > 0 { return nil }
            if now.connectFailures > 0 { return now.lastFailure }
        }
        return "nothing answered within \(Human.duration(ms: Double(timeoutMs)))"
    }

    /// Sends one request once the credential has a value.
    func send(path: String, body: String, topic: String?, timeoutMs: UInt64) -> Answer {
        // A token may have to be traded first, over another connection.
        let readyMs = Clock.monotonicMs + timeoutMs
        loop.runOnce(maxWaitMs: 0)
        route.refresh()
        while case .pending = route.availability(nowMs: Clock.wallMs) {
            guard Clock.monotonicMs < readyMs else { return .noCredential("none came in time") }
            loop.runOnce(maxWaitMs: 20)
            route.refresh()
        }
        if case .paused(_, let reason) = route.availability(nowMs: Clock.wallMs) {
            return .noCredential(route.explanation.isEmpty ? "\(reason.label)" : route.explanation)
        }
        let template =
            topic.map { topic in
                route.template(
                    app: 0, pushType: .background, priority: 5, topic: { topic }, hasOwnTopic: false)
            } ?? route.template()
        guard let template else { return .failed("the request can't be made") }
        let pathBytes = Array(path.utf8)
        let bodyBytes = Array(body.utf8)
        return unsafe pathBytes.withUnsafeBytes { path in
            unsafe bodyBytes.withUnsafeBytes { body in
                unsafe exchange(
                    OutgoingRequest(
                        template: template, tag: 1, deadlineMs: loop.nowMs + timeoutMs, path: path, body: body
                    ),
                    timeoutMs)
            }
        }
    }

    /// Waits for the answer, or closes the pool: nothing refers to the request's memory afterwards.
    private func exchange(_ request: OutgoingRequest, _ timeoutMs: UInt64) -> Answer {
        guard route.pool.submit(request) else { return .failed("the pool is full") }
        let endMs = Clock.monotonicMs + timeoutMs + 1000
        while inbox.answer == nil, Clock.monotonicMs < endMs { loop.runOnce(maxWaitMs: 20) }
        if inbox.answer == nil || route.pool.unfinished > 0 { route.close() }
        return inbox.answer ?? .failed("none came in time")
    }

    /// Ends the connection.
    func close() { route.close() }
}
