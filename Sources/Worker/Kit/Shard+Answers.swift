internal import Core
internal import Decisions
internal import HTTP2
internal import Jobs
internal import Logging
internal import Providers

/// From a provider's answer to a delivery's outcome or its next attempt.
extension Shard: ResponseSink {
    /// Immediate resends of one delivery before it waits in a retry topic like any other.
    private static let resendsMax: UInt8 = 4

    func responded(tag: UInt64, response: ResponseView) {
        guard let delivery = deliveries.resolve(tag) else { return }
        let slot = deliveries[delivery]
        let status = Int(response.status)
        let lane = jobs[slot.job].lane
        counts.stages.record(.provider, lane: lane, ms: nowMs &- slot.sentAtMs)
        deliveries[delivery].status = Int16(clamping: status)
        if slot.route >= 0, OutcomeTable.isAccepted(slot.provider, status: status) {
            routes[Int(slot.route)]?.succeeded()
            noteAnswer(Int(slot.route))
            if rotation.isUnderWay { accepted(by: slot.route) }
            breakers[Int(jobs[slot.job].app)].note(answered: 1, refused: 0, nowMs: nowMs)
            let latencyMs = nowMs &- jobs[slot.job].publishedMs
            counts.latency.record(UInt64(clamping: latencyMs))
            counts.stages.record(.total, lane: lane, ms: latencyMs)
            if slot.provider == .apns { trust(delivery) }
            if slot.sentNs > 0 { traceAnswer(delivery, error: nil) }
            return end(delivery, .accepted, .accepted)
        }
        let context = DeliveryContext(
            registeredAtMs: slot.registeredAtMs >= 0 ? slot.registeredAtMs : nil,
            // Both environments have refused it only if it was not registered since the first did.
            sentAtMs: slot.isProbe ? min(slot.probedAtMs, slot.sentAtMs) : slot.sentAtMs,
            retryAfterMs: unsafe RetryAfter.parse(response.retryAfter, nowMs: nowMs),
            history: probeHistory(slot))
        let verdict: Verdict
        if slot.provider == .apns {
            verdict = unsafe OutcomeTable.classify(
                apnsStatus: status, body: APNsErrorBody.parse(response.body), context: context)
        } else {
            verdict = unsafe OutcomeTable.classify(
                fcmStatus: status, body: FCMErrorBody.parse(response.body), context: context)
        }
        if verdict.effects.contains(.drainConnection), slot.route >= 0 {
            // Such an answer sticks to the connection it came on.
            routes[Int(slot.route)]?.pool(isSuspect: slot.isSuspect).retireConnection(of: response)
        }
        apply(verdict, to: delivery)
    }

    func failed(tag: UInt64, failure: TransportFailure) {
        guard let delivery = deliveries.resolve(tag) else { return }
        guard failure.code != .closed else { return abandon(delivery) }
        if failure.code == .invalidRequest {
            bury(deliveries[delivery].job, nil, .internalFault, failure.message, delivery)
            return end(delivery, .rejected, .internalFault)
        }
        let fault: TransportFault =
            switch failure.code {
            case .unprocessed, .outOfMemory: .unprocessed
            case .connectFailed, .timedOutUnsent: .connectFailed
            case .timedOutSent: .timedOut
            default: .reset
            }
        let goAway = unsafe failure.goAwayReason.withUnsafeBytes { unsafe APNsErrorBody.parse($0).reason }
        apply(
            OutcomeTable.classify(fault, provider: deliveries[delivery].provider, goAway: goAway),
            to: delivery)
    }

    private func apply(_ verdict: Verdict, to delivery: Int32) {
        let slot = deliveries[delivery]
        if slot.sentNs > 0 { traceAnswer(delivery, error: "\(verdict.reason.label)") }
        carryOut(verdict, slot)
        noteHealth(verdict, slot)
        noteTokens(verdict, slot)
        deliveries[delivery].history = slot.history.after(verdict)
        switch verdict.outcome {
        case .accepted: end(delivery, .accepted, verdict.reason)
        case .retry(let backoff, let afterMs): retry(delivery, backoff, afterMs, verdict)
        case .removeToken(let before):
            // Too many refusals at once say that the configuration is wrong, not the tokens: they are kept.
            if !breakers[Int(jobs[slot.job].app)].isOpen(nowMs: nowMs) {
                if verdict.effects.contains(.suspectToken) {
                    suspect(delivery, registeredBeforeMs: before)
                } else {
                    removeToken(delivery, registeredBeforeMs: before)
                }
            }
            end(delivery, .invalidToken, verdict.reason)
        case .keepToken, .removeChannel: end(delivery, .invalidToken, verdict.reason)
        case .dead:
            bury(slot.job, nil, verdict.reason, "the provider refused the notification", delivery)
            end(delivery, .rejected, verdict.reason)
        case .pauseCredential:
            if slot.isProbe, refusesProbes(verdict.reason) {
                return end(delivery, .invalidToken, .apnsBadDeviceToken)
            }
            if rotation.isUnderWay, let old = standIn(for: slot.route, verdict.reason) {
                return sendInstead(delivery, by: Int(old), verdict.reason)
            }
            let route = route(Int(slot.route))
            // What was under way is refused as well: it is said once.
            if route.availability(nowMs: nowMs) == .ready {
                logger.error(
                    "route.paused",
                    "A credential was refused; its sends are held and tried again by themselves.",
                    ["route": .text(route.definition.name), "reason": .text("\(verdict.reason.label)")])
            }
            route.pause(nowMs: nowMs, forMs: nil, reason: verdict.reason)
            postponeDelivery(delivery, verdict.reason)
        case .probeOtherEnvironment:
            guard let other = otherRoute(slot) else { return end(delivery, .invalidToken, verdict.reason) }
            count(verdict.reason)
            probe(delivery, by: other)
        }
    }

    /// Carries out what a verdict asks beside the delivery's own fate.
    private func carryOut(_ verdict: Verdict, _ slot: DeliverySlot) {
        guard slot.route >= 0, let route = routes[Int(slot.route)] else { return }
        let effects = verdict.effects
        if effects.contains(.refreshCredential) {
            route.definition.bearer?.refuse(version: slot.bearerVersion)
        }
        if effects.contains(.holdMinting) { route.definition.bearer?.holdMinting() }
        if effects.contains(.gateQuota), case .retry(_, let afterMs) = verdict.outcome,
            !slowQuota(slot, waitMs: afterMs)
        {
            route.pause(
                nowMs: nowMs, forMs: max(1000, min(afterMs == 0 ? 60_000 : afterMs, 600_000)),
                reason: verdict.reason)
        }
        if effects.contains(.newReason) || effects.contains(.alertConfiguration) {
            logger.warning(
                "provider.unexpected",
                "A provider's answer points at the configuration or is new to this version.",
                ["route": .text(route.definition.name), "reason": .text("\(verdict.reason.label)")])
        }
    }

    private func noteTokens(_ verdict: Verdict, _ slot: DeliverySlot) {
        let app = Int(jobs[slot.job].app)
        let openings = breakers[app].openings
        var isRefused = verdict.effects.contains(.suspectToken)
        if isRefused { suspect(slot) }
        // What the other environment says decides: one token is one refusal, and a corrected one is none.
        if case .probeOtherEnvironment = verdict.outcome { isRefused = otherRoute(slot) == nil }
        breakers[app].note(answered: 1, refused: isRefused ? 1 : 0, nowMs: nowMs)
        guard breakers[app].openings > openings else { return }
        logger.error(
            "tokens.breaker",
            "Too many tokens are refused at once; none are removed for a while. Check the app's topic, "
                + "environment and credential.", ["app": .text(directory.apps[app].name)])
    }

    private func retry(_ delivery: Int32, _ backoff: BackoffClass, _ afterMs: Int64, _ verdict: Verdict) {
        let slot = deliveries[delivery]
        let job = jobs[slot.job]
        let failure = RetrySchedule.Failure(
            backoff: backoff, attempt: job.headers.sends + 1 + Int(slot.resends),
            firstFailureMs: job.headers.firstFailureMs > 0 ? job.headers.firstFailureMs : nowMs, nowMs: nowMs,
            afterMs: afterMs, deadlineMs: job.deadlineMs,
            isUrgent: settings.urgentEarly && lanes[Int(job.lane)].isUrgent)
        switch settings.schedule.next(after: failure, random: nextRandom()) {
        case .now:
            if slot.resends >= Self.resendsMax || !isCurrent(slot.job) {
                owe(delivery, dueMs: nowMs + 1000, isWait: false, reason: verdict.reason)
            } else {
                count(verdict.reason)
                deliveries[delivery].resends += 1
                counts.resends &+= 1
                resend(delivery)
            }
        case .wait(_, let dueMs):
            owe(
                delivery, dueMs: dueMs, isWait: verdict.effects.contains(.notAnAttempt),
                reason: verdict.reason)
        case .expired:
            count(verdict.reason)
            end(delivery, .expired, .expired)
        case .exhausted:
            count(verdict.reason)
            bury(
                slot.job, nil, .retriesExhausted,
                "every attempt failed, the last one with \(verdict.reason.label)", delivery)
            end(delivery, .dead, .retriesExhausted)
        }
    }

    /// Sends again in the next 100 ms tick, when a renewed credential had time to arrive; or at once.
    func resend(_ delivery: Int32) {
        if deliveries[delivery].history.contains(.refreshed) {
            waitingDeliveries.append(deliveries.reference(delivery))
        } else {
            submit(delivery)
        }
    }

    /// Puts a delivery off until its route may be used again.
    private func postponeDelivery(_ delivery: Int32, _ reason: Reason) {
        let route = route(Int(deliveries[delivery].route))
        var due = nowMs + 30_000
        if case .paused(let until, _) = route.availability(nowMs: nowMs) { due = until }
        // Spread over a tenth of the wait, so that not everything comes back in the same instant.
        let spread = max(1, UInt64(clamping: (due - nowMs) / 10))
        owe(delivery, dueMs: due + Int64(nextRandom() % spread), isWait: true, reason: reason)
    }
}
