internal import Core
internal import Decisions
internal import HTTPServer
internal import Redis
internal import Registry

/// Broadcasts to a topic or to everybody: sending, progress, pausing and cancelling.
package enum NativeBroadcastRoutes {
    /// The routes.
    package static func routes(_ apps: GatewayApps) -> [GatewayRoute] {
        let broadcasts = "/v1/apps/{app}/broadcasts"
        let one = broadcasts + "/{broadcast}"
        func control(_ verb: String, _ action: ControlEntry.Action?) -> GatewayRoute {
            GatewayRoute(
                "POST", "\(one)/\(verb)", "\(verb)Broadcast", .key(.send),
                .registry { call, session in
                    _ = try apps.app(call.app)
                    return .answer(try order(action, call, session))
                })
        }
        return [
            GatewayRoute(
                "POST", broadcasts, "broadcast", .key(.send), form: .native(idempotencyKey: .taken),
                .job { call throws(Problem) in
                    _ = try apps.app(call.app)
                    return try send(call)
                }),
            GatewayRoute(
                "GET", one, "broadcastStatus", .key(.send),
                .registry { call, session in
                    _ = try apps.app(call.app)
                    let id = try broadcast(call)
                    guard
                        let status = try BroadcastDirectory(session: session)
                            .status(app: call.app, id: id, nowMs: call.nowMs)
                    else {
                        throw unknown
                    }
                    return .answer(.json(200, answer(id, status).text))
                }),
            control("pause", .pause), control("resume", nil), control("cancel", .cancel),
        ]
    }

    private static var unknown: Problem {
        .notFound(
            "No broadcast of this id is known; a new one is known once its expansion has begun, an old one "
                + "for 30 days.")
    }

    private static func broadcast(_ call: GatewayCall) throws(Problem) -> String {
        let id = call.parameters["broadcast"] ?? ""
        guard (1...128).contains(id.utf8.count), Names.isPrintable(id) else {
            throw .badRequest("A broadcast's id has 1 to 128 bytes.", field: "broadcast")
        }
        return id
    }

    private static func send(_ call: GatewayCall) throws(Problem) -> JobOrder {
        let members = try JSONBody.members(of: call.request)
        func text(_ name: String) -> JSONValue? { members.last { $0.name == name }?.value }
        if let app = text("app"), app.string != call.app {
            throw .badRequest("The path names the app; leave the field out.", field: "app")
        }
        guard let target = text("to")?.members,
            target.contains(where: { ["topic", "all"].contains($0.name) })
        else {
            throw .badRequest(
                "A broadcast goes to {\"topic\": ...} or {\"all\": true}; send other jobs to /v1/jobs.",
                field: "to")
        }
        var job = JobDraft(members)
        job.set("app", call.app)
        let campaign = text("campaign")?.string
        return JobOrder(job: job.submission().job, scope: "broadcast:\(call.app)") { receipt in
            var answer = AnswerObject()
            answer.set("id", receipt.id)
            answer.set("campaign", campaign ?? receipt.id)
            answer.set("scheduled", receipt.isScheduled)
            return .json(202, answer.text)
        }
    }

    private static func answer(_ id: String, _ status: BroadcastStatus) -> AnswerObject {
        var answer = AnswerObject()
        answer.set("id", id)
        answer.set("campaign", status.campaign)
        answer.set("state", status.state.rawValue)
        answer.set("audience", status.audience)
        answer.set("recipients", status.recipients)
        answer.set("parts", Int64(status.parts))
        answer.set("parts_done", Int64(status.partsDone))
        answer.set("started_ms", status.startedMs)
        if let finishedMs = status.finishedMs { answer.set("finished_ms", finishedMs) }
        return answer
    }

    /// Pauses, cancels or resumes (nil). What is listed for later and not known yet is meant by its own id,
    /// as a job and as the campaign that it becomes. An id that nobody knows is refused, or made-up ids would
    /// fill the table of orders, which all apps share.
    private static func order(
        _ action: ControlEntry.Action?, _ call: GatewayCall, _ session: RedisSession
    ) throws -> HTTPResponse {
        let id = try broadcast(call)
        let store = ControlStore(session: session)
        let known = try BroadcastDirectory(session: session).status(
            app: call.app, id: id, nowMs: call.nowMs)
        var subjects: [ControlEntry.Subject] = [
            .campaign(app: call.app, name: known.map(\.campaign) ?? id)
        ]
        if known == nil || action == nil { subjects.append(.job(app: call.app, id: id)) }
        let earlier = try store.read().entries.filter {
            $0.isInForce(nowMs: call.nowMs) && subjects.contains($0.subject)
        }
        // One that was paused while it was listed waits without being listed once its time has come.
        if known == nil, earlier.isEmpty,
            try ScheduledStore(session: session, app: call.app).dueMs(of: id) == nil
        {
            throw unknown
        }
        let isCancelled = known?.state == .cancelled || earlier.contains { $0.action == .cancel }
        if action != .cancel, isCancelled {
            throw Problem.conflict("The broadcast is cancelled, and that is for good; send a new one.")
        }
        for subject in subjects {
            guard let action else {
                _ = try store.remove(subject)
                continue
            }
            _ = try store.set(
                ControlEntry(
                    subject, action, by: call.keyName, atMs: call.nowMs, reason: "asked over HTTP",
                    untilMs: action == .cancel ? call.nowMs + ControlStore.jobMemoryMs : nil))
        }
        var answer = AnswerObject()
        answer.set("id", id)
        answer.set("known", known != nil)
        answer.set("order", action?.rawValue ?? "resume")
        return .json(200, answer.text)
    }
}

extension GatewayCall {
    /// The key's name, for what is written down about who did something.
    var keyName: String {
        if case .key(let name) = principal { return name }
        return "gateway"
    }
}
