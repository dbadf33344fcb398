internal import HTTPServer

extension RequestForm {
    /// An operation of a client's contract that publishes: it takes an `Idempotency-Key`.
    static let contractSend = RequestForm(query: nil, idempotencyKey: .taken)
}

extension Reply {
    /// Publishes the jobs that a contract's send came to, and answers so once Kafka has them. An
    /// `Idempotency-Key` is the sender's.
    static func contractSend(
        _ jobs: [Submission], of call: GatewayCall, scope: String, sender: String, answer: HTTPResponse
    ) -> Reply {
        // Without the header Redis has nothing to remember, and the jobs need not be looked at twice.
        guard call.request.header("idempotency-key") == nil else {
            return .order(
                JobOrder(jobs: jobs.map(\.job), scope: scope, sender: sender, answer: answer), call)
        }
        return jobs.isEmpty ? .answer(answer) : .publish(jobs) { _ in answer }
    }
}
