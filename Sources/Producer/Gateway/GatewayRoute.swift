package import HTTPServer
package import Redis

/// What a key may be used for.
package enum Scope: String, Sendable, CaseIterable {
    /// Publish jobs, broadcasts and reads.
    case send
    /// Look at the dashboard and its overview. Who may everything (`admin`) may that as well.
    case read
    /// Register devices, change preferences and subscriptions, for any recipient of the app.
    case register
    /// Credentials, pauses, everything else of the app.
    case admin
}

/// Who asks, once that is known.
package enum Principal: Sendable, Equatable {
    /// A program with an API key of this name; its apps and scopes have been checked against the route.
    case key(String)
    /// A user of an app who showed a token; `recipient` is the token's subject.
    case user(recipient: String)
    /// Nobody in particular: the route is open.
    case anyone
}

/// Who may use a route.
package enum Access: Sendable, Equatable {
    /// Everybody: health, the API's description.
    case open
    /// A program whose key has the scope for the app.
    case key(Scope)
    /// The same, or the user whose recipient the path names (`{recipient}`).
    case keyOrUser(Scope)
    /// A user with a token for the app, whoever it is; handlers take the recipient from the principal.
    case user
    /// The handler finds the app and checks by itself: contracts whose app follows from a header.
    case handler
}

/// One request on its way through a handler.
package struct GatewayCall: Sendable {
    /// The request as it came.
    package let request: HTTPRequest
    /// The values of the path's `{names}`, percent-decoded.
    package let parameters: [String: String]
    /// The app that it is about: `{app}` of the path, or what the contract says; empty for none.
    package var app: String
    /// Who asks.
    package var principal: Principal
    /// Unique, also in the answer's `x-request-id` and in the log.
    package let requestID: String
    /// Milliseconds since 1970 at which it arrived.
    package let nowMs: Int64

    /// Makes a call.
    package init(
        request: HTTPRequest, parameters: [String: String], app: String, principal: Principal,
        requestID: String, nowMs: Int64
    ) {
        self.request = request
        self.parameters = parameters
        self.app = app
        self.principal = principal
        self.requestID = requestID
        self.nowMs = nowMs
    }
}

/// A job that a handler wants published.
package struct Submission: Sendable {
    /// One job as JSON, by the job format; the publisher adds a missing id.
    package var job: [UInt8]
    /// An index of `TopicNames.lanes`.
    package var lane: Int

    /// Makes a submission.
    package init(job: [UInt8], lane: Int = 1) {
        self.job = job
        self.lane = lane
    }
}

/// Jobs that a handler made of a request, and how the request is answered.
package struct JobOrder: Sendable {
    /// The jobs; they may lack an id. All go into one lane, `lane`.
    package var jobs: [[UInt8]]
    /// An index of `TopicNames.lanes`.
    package var lane = 1
    /// Tells the operation and what its path names from others, so that an idempotency key is one request's.
    package var scope: String
    /// Whose the idempotency key is, where that isn't the call's principal.
    package var sender: String?
    /// Whether the jobs' ids follow from the idempotency key and the jobs, for answers that don't tell them.
    /// A repeat of a request that got nowhere then has the same ids, although nothing has kept them.
    package var derivesIDs = false
    package var answer: @Sendable ([Receipt]) -> HTTPResponse

    /// An order of one job, whose id the answer tells.
    package init(job: [UInt8], scope: String, answer: @escaping @Sendable (Receipt) -> HTTPResponse) {
        jobs = [job]
        self.scope = scope
        self.answer = { receipts in answer(receipts.first ?? Receipt(id: "", isScheduled: false)) }
    }

    /// An order of as many jobs as it takes, of a sender's, whose ids are nobody's business.
    package init(jobs: [[UInt8]], scope: String, sender: String, answer: HTTPResponse) {
        self.jobs = jobs
        self.scope = scope
        self.sender = sender
        derivesIDs = true
        self.answer = { _ in answer }
    }
}

/// What became of one submission, once Kafka has acknowledged it.
package struct Receipt: Sendable, Equatable {
    /// The job's id.
    package var id: String
    /// Whether it waits in a retry topic for its time.
    package var isScheduled: Bool

    /// Makes a receipt.
    package init(id: String, isScheduled: Bool) {
        self.id = id
        self.isScheduled = isScheduled
    }
}

/// What a handler wants to happen.
package enum Reply: Sendable {
    /// This answer.
    case answer(HTTPResponse)
    /// Publish the jobs, all checked before any is published; answer once all are acknowledged.
    case publish([Submission], then: @Sendable ([Receipt]) -> HTTPResponse)
    /// The same; once it is known what became of the jobs, `settle` runs on a registry thread, and only then
    /// comes the answer. A failure of `settle` changes nothing about the answer.
    case publishAndSettle(
        [Submission], then: @Sendable ([Receipt]) -> HTTPResponse,
        settle: @Sendable (PublishOutcome, RedisSession) throws -> Void)
    /// Publish the jobs as those of a send are: an `Idempotency-Key` holds, and what has `send_at` is listed.
    case order(JobOrder, GatewayCall)
    /// Go on on a registry thread.
    case ask(@Sendable (RedisSession) throws -> Reply)
}

/// What became of the jobs of one reply.
package enum PublishOutcome: Sendable, Equatable {
    /// Kafka has all of them.
    case acknowledged([Receipt])
    /// Kafka has none of them.
    case refused
    /// Kafka may have some of them.
    case unknown
}

/// What the route does with a call.
package enum RouteWork: Sendable {
    /// Runs on a thread that speaks HTTP, so it never waits; it gives the answer, or has somebody give it.
    case direct(
        @Sendable (GatewayCall, _ answer: @escaping @Sendable (HTTPResponse) -> Void) throws(Problem) -> Void)
    /// Runs on a sending thread and asks Redis nothing.
    case plain(@Sendable (GatewayCall) throws(Problem) -> Reply)
    /// Runs on a registry thread, which may wait for Redis; the session knows the registry's scripts.
    /// A `RedisFailure` is answered 503.
    case registry(@Sendable (GatewayCall, RedisSession) throws -> Reply)
    /// The body is jobs: they are checked and published on a sending thread. See `JobIntake`.
    case jobs
    /// The handler makes one job of the request, which is published as those of `jobs` are: an
    /// `Idempotency-Key` holds, and a job with `send_at` is listed. Runs on a sending thread.
    case job(@Sendable (GatewayCall) throws(Problem) -> JobOrder)
}

/// One operation of the API.
package struct GatewayRoute: Sendable {
    /// In capitals.
    package let method: String
    /// Segments between slashes; `{name}` stands for any one segment.
    package let pattern: String
    /// The `operationId` in the API's description, and the label in metrics.
    package let operation: String
    package let access: Access
    /// What a request may bring beside its body.
    package let form: RequestForm
    package let work: RouteWork

    /// Makes a route.
    package init(
        _ method: String, _ pattern: String, _ operation: String, _ access: Access,
        form: RequestForm = .native(), _ work: RouteWork
    ) {
        self.method = method
        self.pattern = pattern
        self.operation = operation
        self.access = access
        self.form = form
        self.work = work
    }
}
