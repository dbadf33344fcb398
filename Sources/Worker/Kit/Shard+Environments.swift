internal import Core
internal import Decisions
internal import HTTP2
internal import Jobs
internal import Logging
internal import Providers
internal import Redis
internal import Registry

/// Tokens that APNs refuses: whether they belong to its other environment, and how they are kept away from
/// the connections of the good ones.
///
/// APNs says BadDeviceToken to a broken token and to a good one of the other environment alike. So the other
/// environment is asked once, by the side pool of its route. What it accepts is corrected in the registry;
/// what it refuses too is removed.
extension Shard {
    /// Without a way to the other environment a probe counts as made.
    func probeHistory(_ slot: DeliverySlot) -> AttemptHistory {
        guard slot.provider == .apns, otherRoute(slot) == nil else { return slot.history }
        return slot.history.union(.probed)
    }

    /// The app's route to the environment that the delivery did not go to.
    func otherRoute(_ slot: DeliverySlot) -> Int? {
        guard slot.provider == .apns else { return nil }
        let app = traits[Int(jobs[slot.job].app)]
        let route = slot.environment == .production ? app.apnsSandbox : app.apnsProduction
        return route >= 0 ? Int(way(route)) : nil
    }

    /// Asks the other environment about the token, with the same notification.
    func probe(_ delivery: Int32, by other: Int) {
        let slot = deliveries[delivery]
        counts.probes &+= 1
        deliveries[delivery].isProbe = true
        deliveries[delivery].isSuspect = true
        deliveries[delivery].probedAtMs = slot.sentAtMs
        deliveries[delivery].environment = slot.environment == .production ? .sandbox : .production
        deliveries[delivery].route = Int32(other)
        // The block holds everything but the constant headers, which the other route has under a number of
        // its own.
        deliveries[delivery].template = slot.template.flatMap { template in
            routes[Int(slot.route)]?.counterpart(of: template, in: route(other))
        }
        resend(delivery)
    }

    /// A probe that is put off has found nothing out: the next attempt begins with the device's own
    /// environment.
    func forgetProbe(_ delivery: Int32) {
        guard deliveries[delivery].isProbe else { return }
        deliveries[delivery].isProbe = false
        deliveries[delivery].history.subtract(.probed)
    }

    /// Whether a fault says that the credential can't ask this environment at all. That tells nothing of the
    /// token, so it is kept.
    func refusesProbes(_ reason: Reason) -> Bool {
        reason == .apnsBadEnvironmentKeyIDInToken || reason == .apnsBadCertificateEnvironment
    }

    /// Notes a refused token, so that its next notification goes by the side pool.
    func suspect(_ slot: DeliverySlot) {
        guard slot.provider == .apns else { return }
        unsafe suspects.note(Hash64.of(slot.token), nowMs: nowMs)
    }

    /// Whether the delivery goes by the side pool: a probe, a token that was refused lately, or one that was
    /// never accepted while there is reason for care.
    func isSuspect(_ delivery: Int32) -> Bool {
        let slot = deliveries[delivery]
        if slot.isSuspect { return true }
        guard slot.provider == .apns, slot.route >= 0 else { return false }
        let hash = slot.tokenHash != 0 ? slot.tokenHash : unsafe Hash64.of(slot.token)
        // The answer needs it as well, and by then the token has left the processor's caches.
        deliveries[delivery].tokenHash = hash
        if suspects.contains(hash, nowMs: nowMs) {
            counts.quarantined &+= 1
        } else {
            let isKnown = acceptedTokens.contains(hash)
            let place = Int(slot.route)
            screens[place].note(isKnown: isKnown)
            switch screens[place].way(isKnown: isKnown, nowMs: nowMs) {
            case .main: return false
            case .sideIfFree: if !route(place).pool(isSuspect: true).isSlack { return false }
            case .side: break
            }
            counts.screened &+= 1
        }
        deliveries[delivery].isSuspect = true
        return true
    }

    /// Takes note that APNs accepted a token; after a probe the registry is put right.
    func trust(_ delivery: Int32) {
        let slot = deliveries[delivery]
        let hash = slot.tokenHash != 0 ? slot.tokenHash : unsafe Hash64.of(slot.token)
        acceptedTokens.insert(hash)
        guard slot.isSuspect else { return }
        suspects.clear(hash)
        guard slot.isProbe, unsafe !slot.device.isEmpty, slot.registeredAtMs >= 0 else { return }
        scratch.clear()
        text.clear()
        let job = jobs[slot.job].job
        guard let recipient = unsafe job.recipient?.unescaped(into: &scratch) else { return }
        unsafe text.append(array: StoredToken(Array(slot.token), DevicePlatform(slot.platform)).bytes)
        _ = redis?.issue(RedisQuestion.correctEnvironment.tag(UInt64(jobs[slot.job].app), round: 0)) {
            unsafe RegistryCommands.correctEnvironment(
                of: RecipientReference(app: job.app.raw, recipient: recipient), id: slot.device,
                storedToken: text.bytes, registeredAtMs: slot.registeredAtMs,
                isSandbox: slot.environment == .sandbox, into: &$0)
        }
    }
}
