internal import Configuration
internal import Core
internal import HTTPServer
internal import ProducerKit
internal import Redis
internal import Registry

/// Reads and the unread counter.
package enum NativeReadRoutes {
    /// The routes.
    package static func routes(_ apps: GatewayApps) -> [GatewayRoute] {
        let recipient = "/v1/apps/{app}/recipients/{recipient}"
        return [
            GatewayRoute(
                "POST", recipient + "/read", "read", .keyOrUser(.register),
                form: .native(
                    idempotencyKey: .refused(
                        instead: "set and clear may be repeated; add counts every time.")),
                .registry { call, session in
                    let app = try apps.app(call.app)
                    return try read(call, apps.directory(app.name, session))
                }),
            GatewayRoute(
                "GET", recipient + "/unread", "unread", .keyOrUser(.register),
                .registry { call, session in
                    let app = try apps.app(call.app)
                    let directory = apps.directory(app.name, session)
                    let recipient = try NativeDeviceRoutes.recipient(call)
                    return .answer(try unread(directory, of: recipient))
                }),
        ]
    }

    private static func unread(
        _ directory: DeviceDirectory, of recipient: String
    ) throws(RedisFailure) -> HTTPResponse {
        var threads = AnswerObject()
        for thread in try directory.unreadByThread(of: recipient).sorted(by: { $0.key < $1.key }) {
            threads.set(thread.key, thread.value)
        }
        var answer = AnswerObject()
        answer.set("unread", try directory.unread(of: recipient))
        answer.set("threads", threads.value)
        return .json(200, answer.text)
    }

    private static func read(_ call: GatewayCall, _ directory: DeviceDirectory) throws -> Reply {
        let reader = try NativeDeviceRoutes.recipient(call)
        let body = try JSONBody(call.request, known: ["set", "add", "clear", "thread", "device", "as_of_ms"])
        let device = try body.text("device", bytes: 64) ?? ""
        if !device.isEmpty { _ = try Names.device(device) }
        return try tell(try change(body), directory, call, recipient: reader, device: device)
    }

    /// What the body says about the counter.
    static func change(_ body: JSONBody) throws(Problem) -> UnreadChange {
        let count = try body.integer("set", in: 0...1_000_000_000)
        let delta = try body.integer("add", in: -1_000_000_000...1_000_000_000)
        let clear = try body.flag("clear")
        let asOfMs = try body.integer("as_of_ms", in: 0...(1 << 52))
        if clear == false { throw body.wrong("clear", "The field can only be true; leave it out otherwise.") }
        if let thread = try body.text("thread", bytes: 256) {
            if asOfMs != nil {
                throw body.wrong("as_of_ms", "The field is about the whole counter, not a thread.")
            }
            switch (count, delta, clear) {
            case (let count?, nil, nil): return .setThread(thread, count)
            case (nil, nil, true?): return .setThread(thread, 0)
            default: throw body.wrong("thread", "A thread goes with exactly one of set and clear.")
            }
        }
        switch (count, delta, clear) {
        case (let count?, nil, nil): return .set(count, asOfMs: asOfMs ?? 0)
        case (nil, let delta?, nil):
            if asOfMs != nil { throw body.wrong("as_of_ms", "The field goes with set or clear.") }
            return .add(delta)
        case (nil, nil, true?): return .set(0, asOfMs: asOfMs ?? 0)
        default:
            throw .badRequest("The body needs exactly one of set, add and clear.", field: "set")
        }
    }

    /// Carries a read out and has the other devices told.
    static func tell(
        _ change: UnreadChange, _ directory: DeviceDirectory, _ call: GatewayCall, recipient: String,
        device: String
    ) throws(RedisFailure) -> Reply {
        let read = try directory.read(change, of: recipient, device: device, claimMs: BadgeSync.claimMs)
        guard read.isOurs else { return .answer(answer(read.unread)) }
        let job = BadgeSync.job(
            app: call.app, recipient: recipient, device: device, nowMs: call.nowMs)
        return .publishAndSettle([Submission(job: job)]) { _ in
            answer(read.unread)
        } settle: { outcome, session in
            // Who reads next publishes the push that this one could not.
            if case .acknowledged = outcome { return }
            try DeviceDirectory(session: session, app: call.app).giveBackSync(of: recipient, device: device)
        }
    }

    private static func answer(_ unread: Int64) -> HTTPResponse { .json(200, "{\"unread\":\(unread)}\n") }
}
