internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Providers
internal import Redis
internal import Registry

/// A token that is taken away from a recipient.
struct RemovedToken {
    var app: Int32
    /// Who its notifications went by.
    var provider: Provider
    var recipient: [UInt8]
    var token: StoredToken
    /// Only if it was registered before, in ms since 1970; 0: whenever.
    var beforeMs: Int64
}

/// The removal of tokens: those that providers have no use for any more, and those that went stale.
extension Shard {
    /// Removals that may be under way; what is refused above it is removed after another send.
    private static let removalsMax = 20_000

    /// Removes a delivery's token if the device still has it and was registered before the given time.
    func removeToken(_ delivery: Int32, registeredBeforeMs: Int64) {
        let slot = deliveries[delivery]
        guard unsafe !slot.device.isEmpty else { return }
        scratch.clear()
        let job = jobs[slot.job].job
        guard let recipient = unsafe job.recipient?.unescaped(into: &scratch) else { return }
        let removed = unsafe RemovedToken(
            app: jobs[slot.job].app, provider: slot.provider, recipient: Array(recipient),
            token: StoredToken(Array(slot.token), DevicePlatform(slot.platform)), beforeMs: registeredBeforeMs
        )
        _ = unsafe remove(removed, device: Array(slot.device))
    }

    /// Whether the device was registered so long ago that it counts as gone.
    func isStale(_ device: DeviceView) -> Bool {
        settings.staleAfterMs > 0 && device.registeredAtMs < nowMs - settings.staleAfterMs
    }

    /// Removes a stale device, unless it registers again meanwhile.
    func removeStale(_ index: Int32, _ id: UnsafeRawBufferPointer, _ device: DeviceView) {
        scratch.clear()
        text.clear()
        guard let recipient = unsafe jobs[index].job.recipient?.unescaped(into: &scratch) else { return }
        device.appendToken(to: &text)
        let destination = traits[Int(jobs[index].app)].destination(
            platform: Platform(device.platform), environment: device.isSandbox ? .sandbox : .production)
        let removed = unsafe RemovedToken(
            app: jobs[index].app, provider: destination.provider, recipient: Array(recipient),
            token: StoredToken(text.array, device.platform), beforeMs: device.registeredAtMs + 1)
        _ = unsafe remove(removed, device: Array(id))
    }

    /// Asks Redis to remove a device with its token; true when it need not be asked again.
    func remove(_ removed: RemovedToken, device: [UInt8]) -> Bool {
        guard let redis, openRemovals.count < Self.removalsMax else { return false }
        lastRemoval &+= 1
        let number = lastRemoval
        openRemovals[number] = removed
        let app = Array(directory.apps[Int(removed.app)].name.utf8)
        let refusal = redis.issue(RedisQuestion.removeDevice.tag(number, round: 0)) { out in
            unsafe app.withUnsafeBytes { app in
                unsafe removed.recipient.withUnsafeBytes { recipient in
                    unsafe device.withUnsafeBytes { device in
                        unsafe removed.token.bytes.withUnsafeBytes { token in
                            unsafe RegistryCommands.removeDevice(
                                of: RecipientReference(app: app, recipient: recipient), id: device,
                                storedToken: token, beforeMs: removed.beforeMs, into: &out)
                        }
                    }
                }
            }
        }
        guard let refusal else { return true }
        openRemovals[number] = nil
        return refusal == .malformed
    }

    /// Takes Redis's answer. The token's owner lies elsewhere and goes after the device: it stays if the
    /// token was registered again meanwhile.
    func removed(_ number: UInt64, isRemoved: Bool) {
        guard let removed = openRemovals.removeValue(forKey: number), isRemoved else { return }
        counts.series.add(SeriesKey(.tokenRemoved, app: removed.app, provider: removed.provider.rawValue))
        counters.add(app: Int(removed.app), field: CounterField.tokensRemoved)
        let latest = removed.beforeMs > 0 ? removed.beforeMs - 1 : nowMs
        let owned = OwnedToken(
            app: directory.apps[Int(removed.app)].name, recipient: removed.recipient, token: removed.token,
            latestMs: latest)
        _ = redis?.issue(RedisQuestion.tell.tag(0, round: 0)) { RegistryCommands.release(owned, into: &$0) }
    }
}

extension DevicePlatform {
    /// The same platform in the registry's words.
    init(_ platform: Platform) {
        switch platform {
        case .ios: self = .ios
        case .android: self = .android
        case .web: self = .web
        }
    }
}
