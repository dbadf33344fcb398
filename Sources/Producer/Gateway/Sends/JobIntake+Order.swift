internal import HTTPServer

extension JobIntake {
    /// What is to happen with jobs that a handler made: they are published at once, or on a registry thread
    /// when Redis has to know of them. `claimMs` is how long a claim keeps others off.
    /// - Throws: what is wrong with a job or the idempotency key.
    func reply(
        to order: JobOrder, of call: GatewayCall, claimMs: Int64, nowMs: Int64
    ) throws(Problem) -> Reply {
        var send = Send()
        send.idempotencyKey = try Self.idempotencyKey(call.request)
        send.scope = order.scope
        send.lane = order.lane
        send.derivesIDs = order.derivesIDs
        let sender = order.sender ?? call.keyName
        var ranges: [Range<Int>] = []
        for job in order.jobs {
            let start = ranges.last?.upperBound ?? 0
            ranges.append(start..<start + job.count)
        }
        let outcome = unsafe Array(order.jobs.joined()).withUnsafeBytes {
            (bytes: UnsafeRawBufferPointer) -> Result<PreparedSend, Problem> in
            do throws(Problem) {
                unsafe try check(
                    bytes, ranges, nowMs: nowMs, isBatch: false, allows: { _ in true })
            } catch {
                return .failure(error)
            }
            return .success(
                unsafe call.request.body.withUnsafeBytes { body in
                    unsafe prepare(
                        send, keyName: sender, bodyDigest: body, nowMs: nowMs)
                })
        }
        var prepared = try outcome.get()
        prepared.claimMs = claimMs
        prepared.answer = order.answer
        guard prepared.idempotency != nil || prepared.isScheduled else { return prepared.plainReply() }
        return .ask { [prepared] session in try prepared.begin(session) }
    }
}
