internal import Core
internal import Decisions
internal import HTTPServer
internal import Redis
internal import Registry

/// What `POST /v1/control` asks for: to pause, resume or cancel something, as `peal control` does.
struct DashboardOrder: Equatable {
    /// Nil to resume.
    let action: ControlEntry.Action?
    let subject: ControlEntry.Subject
    let reason: String
    /// How long it is in force, in ms; nil until it is taken back.
    let durationMs: Int64?

    /// Reads a request.
    /// - Throws: 400 with what is missing or contradictory.
    init(_ request: HTTPRequest) throws(Problem) {
        let body = try JSONBody(
            request, known: ["action", "app", "provider", "campaign", "job", "reason", "for_seconds"])
        guard let verb = try body.word("action", of: ["pause", "resume", "cancel"]) else {
            throw .badRequest("Say what to do: pause, resume or cancel.", field: "action")
        }
        action = ControlEntry.Action(rawValue: verb)
        reason = try body.shownText("reason", bytes: 256) ?? ""
        durationMs = try body.integer("for_seconds", in: 1...31_622_400).map { $0 * 1_000 }
        subject = try Self.subject(body)
        if action == .cancel, !subject.canBeCancelled {
            throw .badRequest(
                "Only a campaign or a job can be cancelled; pause the app or the provider.", field: "action")
        }
        if action == nil, durationMs != nil {
            throw .badRequest("To resume takes no time; leave the field out.", field: "for_seconds")
        }
    }

    private static func subject(_ body: JSONBody) throws(Problem) -> ControlEntry.Subject {
        let app = try body.text("app", bytes: 64)
        if let app, !APIKey.isName(app) { throw body.wrong("app", "The field is the name of an app.") }
        let others = try (
            body.text("provider", bytes: 16), body.text("campaign", bytes: 128), body.text("job", bytes: 128)
        )
        switch others {
        case (nil, nil, nil):
            guard let app else {
                throw .badRequest("Say what: an app, a provider, a campaign or a job.", field: "app")
            }
            return .app(app)
        case (let name?, nil, nil):
            guard let provider = Provider(name: name), provider != .log else {
                throw body.wrong("provider", "The field is apns, fcm or web_push.")
            }
            return .provider(provider, app: app)
        case (nil, let name?, nil):
            guard let app, !name.isEmpty else { throw needsApp("campaign") }
            return .campaign(app: app, name: name)
        case (nil, nil, let id?):
            guard let app, !id.isEmpty else { throw needsApp("job") }
            return .job(app: app, id: id)
        default:
            throw .badRequest("Name one of provider, campaign and job.", field: "provider")
        }
    }

    private static func needsApp(_ field: String) -> Problem {
        .badRequest("A \(field) has a name, and belongs to an app: name both.", field: field)
    }

    /// The app that the caller's key has to be good for; `*` for all of them.
    var scopeApp: String {
        switch subject {
        case .app(let app), .campaign(let app, _), .job(let app, _): app
        case .provider(_, let app): app ?? "*"
        }
    }

    /// Puts it in force.
    func carryOut(by name: String, _ session: RedisSession) throws -> HTTPResponse {
        let store = ControlStore(session: session)
        var answer = AnswerObject()
        answer.set("subject", subject.field)
        if let action {
            let now = try store.nowMs()
            let memoryMs = action == .cancel ? ControlStore.jobMemoryMs : nil
            let version = try store.set(
                ControlEntry(
                    subject, action, by: name, atMs: now, reason: reason,
                    untilMs: (durationMs ?? jobMemory(memoryMs)).map { now + $0 }))
            answer.set("action", action.rawValue)
            answer.set("changed", true)
            answer.set("version", version)
        } else {
            let version = try store.remove(subject)
            answer.set("action", "resume")
            answer.set("changed", version != nil)
            answer.set("version", version.map { JSONValue.number("\($0)") } ?? JSONValue.null)
        }
        return .json(200, answer.text)
    }

    /// A cancelled job's id is not remembered for ever.
    private func jobMemory(_ memoryMs: Int64?) -> Int64? {
        if case .job = subject { return memoryMs }
        return nil
    }
}
