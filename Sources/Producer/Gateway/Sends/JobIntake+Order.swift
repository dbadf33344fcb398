internal import HTTPServer

extension JobIntake {
    /// What is to happen with a job that a handler made: it is published at once, or on a registry thread
    /// when Redis has to know of it. `claimMs` is how long a claim keeps others off.
    /// - Throws: what is wrong with the job or the idempotency key.
    func reply(
        to order: JobOrder, of call: GatewayCall, claimMs: Int64, nowMs: Int64
    ) throws(Problem) -> Reply {
        var send = Send()
        send.idempotencyKey = try Self.idempotencyKey(call.request)
        send.scope = order.scope
        let outcome = unsafe order.job.withUnsafeBytes {
            (bytes: UnsafeRawBufferPointer) -> Result<PreparedSend, Problem> in
            do throws(Problem) {
                unsafe try check(
                    bytes, [0..<bytes.count], nowMs: nowMs, isBatch: false, allows: { _ in true })
            } catch {
                return .failure(error)
            }
            return .success(
                unsafe call.request.body.withUnsafeBytes { body in
                    unsafe prepare(
                        send, keyName: call.keyName, bodyDigest: body, nowMs: nowMs)
                })
        }
        var prepared = try outcome.get()
        prepared.claimMs = claimMs
        prepared.answer = { receipts in order.answer(receipts.first ?? Receipt(id: "", isScheduled: false)) }
        guard prepared.idempotency != nil || prepared.isScheduled else { return prepared.plainReply() }
        return .ask { [prepared] session in try prepared.begin(session) }
    }
}
