internal import Configuration
internal import Core
internal import HTTPServer
internal import Redis
internal import Registry

/// The contract of creators' deep links (profile `creator`): a client registers its token with its user's
/// token alone; a backend sends notifications that lead somewhere.
package struct CreatorContract: Sendable {
    private let apps: GatewayApps
    private let authority: any ContractAuthority
    private let served: [Settings.App]

    /// Serves every app that has the contract.
    package init(_ apps: GatewayApps, _ authority: any ContractAuthority) {
        self.apps = apps
        self.authority = authority
        served = apps.with(.creator)
    }

    /// The routes.
    package var routes: [GatewayRoute] {
        [
            GatewayRoute(
                "POST", "/api/creator/device_tokens", "creatorPutToken", .handler, form: .contract,
                .registry { call, session in try putToken(call, session) }),
            GatewayRoute(
                "DELETE", "/api/creator/device_tokens", "creatorRemoveToken", .handler, form: .contract,
                .registry { call, session in try removeToken(call, session) }),
            GatewayRoute(
                "POST", "/v1/apps/{app}/creators/{recipient}/notifications", "creatorNotify", .key(.send),
                form: .native(idempotencyKey: .taken),
                .job { call throws(Problem) in
                    let app = try apps.app(call.app, with: .creator)
                    let job = try Self.notification(call, app).job
                    return JobOrder(job: job, scope: call.request.path) { receipt in
                        SupportChatContract.accepted([receipt])
                    }
                }),
        ]
    }

    /// The app whose keys and audience the user's token fits, and the user.
    private func user(_ call: GatewayCall) throws(Problem) -> (app: Settings.App, user: String) {
        let token = try call.requiredBearer()
        var refusal = Problem.unauthorized("No app has the creator contract.")
        for app in served {
            do throws(Problem) {
                return (app, try authority.user(token, app: app.name, nowMs: call.nowMs))
            } catch {
                refusal = error
            }
        }
        throw refusal
    }

    private func putToken(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let (app, user) = try user(call)
        let body = try JSONBody(
            call.request, known: ["token", "platform", "environment"], unknown: .ignored)
        let platform = try DeviceFields.platform(body, of: ["ios", "android", "web"])
        let token = try body.requiredText("token", bytes: DeviceRecord.maximumTokenBytes)
        let environment = try body.word("environment", of: ["production", "sandbox"])
        let record = try DeviceFields.record(
            body, platform: platform, token: token, environment: environment, app: app, nowMs: call.nowMs)
        let device = DeviceFields.derivedID("t", record.token)
        try apps.directory(app.name, session).register(recipient: user, device: device, record)
        return .answer(.json(200, DeviceFields.answer(device, record).text))
    }

    private func removeToken(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let (app, user) = try user(call)
        let body = try JSONBody(call.request, known: ["token"], unknown: .ignored)
        let token = try body.requiredText("token", bytes: DeviceRecord.maximumTokenBytes)
        let removed = try apps.directory(app.name, session).removeToken(token, of: user)
        return .answer(.json(200, "{\"removed\":\(removed)}\n"))
    }

    private static func notification(
        _ call: GatewayCall, _ app: Settings.App
    ) throws(Problem) -> Submission {
        let known = [
            "title", "body", "kind", "target_url", "dedup_key", "image", "avatar", "sender", "channel_id",
            "data",
        ]
        let body = try JSONBody(call.request, known: known)
        var job = JobDraft(app: app.name)
        job.address(to: try NativeDeviceRoutes.recipient(call))
        job.set("title", try body.shownText("title", bytes: 16_384))
        job.set("body", try body.shownText("body", bytes: 16_384))
        job.set("kind", try body.requiredText("kind", bytes: 128))
        if let link = try body.text("target_url", bytes: LinkRule.bytesMax) {
            if let fault = LinkRule(hosts: app.linkHosts).fault(in: link) {
                throw body.wrong("target_url", fault)
            }
            job.set("url", link)
        }
        job.set("dedup", try body.text("dedup_key", bytes: 256))
        job.set("image", try picture(body, "image"))
        job.set("thread", try body.text("channel_id", bytes: 256))
        job.set("data", try data(body))
        return job.submission()
    }

    /// A picture's address: the client's extension loads it, so nothing but https will do.
    private static func picture(_ body: JSONBody, _ name: String) throws(Problem) -> String? {
        guard let address = try body.text(name, bytes: 2048) else { return nil }
        guard address.lowercased().hasPrefix("https://") else {
            throw body.wrong(name, "The address of a picture must begin with https://.")
        }
        return address
    }

    /// The members that the client's extension reads beside the profile's own.
    private static func data(_ body: JSONBody) throws(Problem) -> JSONValue? {
        var members: [JSONValue.Member] = []
        if let given = body.value("data") {
            guard let own = given.members else { throw body.wrong("data", "The field must be an object.") }
            members = own
        }
        func add(_ name: String, _ text: String?) throws(Problem) {
            guard let text else { return }
            if members.contains(where: { $0.name == name }) {
                throw body.wrong("data", "data has \(name), which another field of the request sets.")
            }
            members.append(JSONValue.Member(name: name, value: .string(text)))
        }
        try add("avatar", try picture(body, "avatar"))
        if let sender = try body.object("sender", known: ["id", "name", "avatar"]) {
            try add("sender_id", try sender.text("id", bytes: 256))
            try add("sender_name", try sender.requiredText("name", bytes: 256))
            try add("sender_avatar", try picture(sender, "avatar"))
        }
        return members.isEmpty ? nil : .object(members)
    }
}
