internal import Core
internal import Decisions
internal import HTTPServer
internal import Redis
internal import Registry

/// The operations on jobs: send, list what is scheduled, cancel it.
package enum SendRoutes {
    /// How long after its time a cancelled job is still remembered, in ms: it may come late.
    private static let lateMs: Int64 = 7 * 86_400_000

    /// The routes, for these apps.
    package static func routes(_ apps: AppNames) -> [GatewayRoute] {
        [
            GatewayRoute(
                "POST", "/v1/jobs", "sendJobs", .key(.send),
                form: .native(query: ["lane"], idempotencyKey: .taken), .jobs),
            GatewayRoute(
                "GET", "/v1/apps/{app}/scheduled", "listScheduled", .key(.send),
                form: .native(query: ["limit", "after"]),
                .registry { call, session in
                    try check(call, apps)
                    return .answer(try list(call, session))
                }),
            GatewayRoute(
                "DELETE", "/v1/apps/{app}/scheduled/{id}", "cancelScheduled", .key(.send),
                .registry { call, session in
                    try check(call, apps)
                    return .answer(try cancel(call, session))
                }),
        ]
    }

    private static func check(_ call: GatewayCall, _ apps: AppNames) throws(Problem) {
        guard apps.contains(call.app) else { throw .notFound(apps.fault(call.app)) }
    }

    private static func list(_ call: GatewayCall, _ session: RedisSession) throws -> HTTPResponse {
        var limit = 100
        if let text = call.request.query("limit") {
            guard let value = Int(text), (1...ScheduledStore.pageMax).contains(value) else {
                throw Problem.badRequest(
                    "The limit is a number from 1 to \(ScheduledStore.pageMax).", field: "limit")
            }
            limit = value
        }
        let cursor = call.request.query("after")
        if let cursor, !ScheduledStore.isCursor(cursor) {
            throw Problem.badRequest(
                "The cursor isn't one; take it from \"next\" of the page before.", field: "after")
        }
        let page = try ScheduledStore(session: session, app: call.app).page(after: cursor, limit: limit)
        var out = ByteBuffer(capacity: 256 + page.entries.count * 128)
        out.append("{\"jobs\":[")
        for (index, entry) in page.entries.enumerated() {
            out.append(index == 0 ? "{\"id\":" : ",{\"id\":")
            out.append(jsonString: entry.id)
            out.append(",\"send_at\":")
            out.append(jsonString: Timestamp.rfc3339(ms: entry.dueMs))
            if !entry.about.isEmpty {
                out.append(",")
                out.append(text: entry.about)
            }
            out.append("}")
        }
        out.append("],\"next\":")
        if let next = page.next { out.append(jsonString: next) } else { out.append("null") }
        out.append("}\n")
        return .json(200, bytes: out.array)
    }

    private static func cancel(_ call: GatewayCall, _ session: RedisSession) throws -> HTTPResponse {
        let id = call.parameters["id"] ?? ""
        let scheduled = ScheduledStore(session: session, app: call.app)
        guard let dueMs = try scheduled.dueMs(of: id), dueMs > call.nowMs else {
            throw Problem.notFound("No job of this id waits for its time; it may have been sent.")
        }
        let by = if case .key(let name) = call.principal { name } else { "" }
        let entry = ControlEntry(
            .job(app: call.app, id: id), .cancel, by: by, atMs: call.nowMs, reason: "cancelled over HTTP",
            untilMs: dueMs + lateMs)
        do throws(RedisFailure) {
            _ = try ControlStore(session: session).set(entry)
        } catch {
            guard error.code == .refused else { throw error }
            throw Problem(
                429, "control_full", "Too many jobs are cancelled or paused",
                detail: "At most \(ControlState.entriesMax) can be at a time; repeat the request later.",
                retryAfterSeconds: 60)
        }
        try scheduled.remove([id])
        return HTTPResponse(status: 204)
    }
}
