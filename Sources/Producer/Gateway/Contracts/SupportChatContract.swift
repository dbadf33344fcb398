internal import Configuration
internal import Core
internal import HTTPServer
internal import Redis
internal import Registry

/// The contract of a support chat (profile `concierge`): devices of customers, a push for each message, and
/// reads of conversations.
///
/// The customer is the recipient, the conversation the thread.
package enum SupportChatContract {
    /// The routes, for every app that has the contract.
    package static func routes(_ apps: GatewayApps) -> [GatewayRoute] {
        let customer = "/v1/apps/{app}/customers/{recipient}"
        let conversation = customer + "/conversations/{conversation}"
        return [
            GatewayRoute(
                "POST", customer + "/push-tokens", "chatPutToken", .keyOrUser(.register), form: .contract,
                .registry { call, session in
                    let app = try apps.app(call.app, with: .supportChat)
                    return try putToken(call, app, apps.directory(app.name, session))
                }),
            GatewayRoute(
                "DELETE", customer + "/push-tokens", "chatRemoveToken", .keyOrUser(.register),
                form: .contract,
                .registry { call, session in
                    let app = try apps.app(call.app, with: .supportChat)
                    return try removeToken(call, apps.directory(app.name, session))
                }),
            GatewayRoute(
                "POST", conversation + "/messages", "chatMessage", .key(.send),
                form: .native(
                    idempotencyKey: .refused(
                        instead: "a repeat with the same messageId is no second push.")),
                .plain { call throws(Problem) in
                    _ = try apps.app(call.app, with: .supportChat)
                    return .publish([try message(call)]) { receipts in
                        accepted(receipts)
                    }
                }),
            GatewayRoute(
                "POST", conversation + "/read", "chatRead", .keyOrUser(.register), form: .contract,
                .registry { call, session in
                    let app = try apps.app(call.app, with: .supportChat)
                    return try read(call, apps.directory(app.name, session))
                }),
        ]
    }

    /// The answer to a message that Kafka has.
    static func accepted(_ receipts: [Receipt]) -> HTTPResponse {
        var answer = AnswerObject()
        answer.set("id", receipts.first?.id ?? "")
        return .json(202, answer.text)
    }

    private static func customer(_ call: GatewayCall) throws(Problem) -> String {
        try Names.recipient(call.parameters["recipient"] ?? "", "customer")
    }

    private static func conversation(_ call: GatewayCall) throws(Problem) -> String {
        try Names.recipient(call.parameters["conversation"] ?? "", "conversation")
    }

    private static func putToken(
        _ call: GatewayCall, _ app: Settings.App, _ directory: DeviceDirectory
    ) throws -> Reply {
        let customer = try customer(call)
        let body = try JSONBody(
            call.request, known: ["token", "platform", "environment", "device"], unknown: .ignored)
        let platform = try DeviceFields.platform(body, of: ["ios", "android"])
        let token = try body.requiredText("token", bytes: DeviceRecord.maximumTokenBytes)
        let record = try DeviceFields.record(
            body, platform: platform, token: token,
            environment: try body.word("environment", of: ["production", "sandbox"]), app: app,
            nowMs: call.nowMs)
        let device = try device(body) ?? DeviceFields.derivedID("t", record.token)
        try directory.register(recipient: customer, device: device, record)
        return .answer(.json(200, DeviceFields.answer(device, record).text))
    }

    private static func device(_ body: JSONBody) throws(Problem) -> String? {
        guard let given = try body.text("device", bytes: 256) else { return nil }
        return Names.isDeviceID(given) ? given : DeviceFields.derivedID("d", given)
    }

    private static func removeToken(_ call: GatewayCall, _ directory: DeviceDirectory) throws -> Reply {
        let customer = try customer(call)
        let body = try JSONBody(call.request, known: ["token"], unknown: .ignored)
        let token = try body.requiredText("token", bytes: DeviceRecord.maximumTokenBytes)
        let removed = try directory.removeToken(token, of: customer)
        return .answer(.json(200, "{\"removed\":\(removed)}\n"))
    }

    private static func message(_ call: GatewayCall) throws(Problem) -> Submission {
        let body = try JSONBody(call.request, known: ["messageId", "teamMember", "preview", "ttl"])
        let message = try body.requiredText("messageId", bytes: 128)
        guard let preview = try body.shownText("preview", bytes: 16_384) else {
            throw body.wrong("preview", "The field is missing; write what the notification shows.")
        }
        var job = JobDraft(app: call.app)
        job.address(to: try customer(call))
        job.set("title", try body.shownText("teamMember", bytes: 1024))
        job.set("body", preview)
        job.set("thread", try conversation(call))
        job.set("data", .object([JSONValue.Member(name: "messageId", value: .string(message))]))
        job.set("unread", .number("1"))
        // A repeated request of one message is one push.
        job.set("dedup", "msg:\(message)")
        if let ttl = try body.integer("ttl", in: 0...2_419_200) { job.set("ttl", .number("\(ttl)")) }
        return job.submission()
    }

    private static func read(_ call: GatewayCall, _ directory: DeviceDirectory) throws -> Reply {
        let customer = try customer(call)
        let thread = try conversation(call)
        var device = ""
        if !call.request.body.isEmpty {
            let body = try JSONBody(call.request, known: ["device"], unknown: .ignored)
            device = try self.device(body) ?? ""
        }
        return try NativeReadRoutes.tell(
            .setThread(thread, 0), directory, call, recipient: customer, device: device)
    }
}

extension DeviceDirectory {
    /// Removes whatever device of the recipient has the token; false when none has.
    func removeToken(_ token: String, of recipient: String) throws(RedisFailure) -> Bool {
        // APNs tokens are kept in lower case.
        let wanted = [token, token.lowercased()]
        guard
            let device = try devices(of: recipient).first(where: { device in
                device.record.token == wanted[device.record.platform == .ios ? 1 : 0]
            })
        else { return false }
        return try remove(recipient: recipient, device: device.id)
    }
}
