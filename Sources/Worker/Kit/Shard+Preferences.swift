internal import Core
internal import Decisions
internal import Jobs
internal import Logging
internal import Registry

/// What recipients want: mutes and quiet hours.
extension Shard {
    /// Whether the job ends or waits because of its recipient's preferences. Quiet hours without a time zone
    /// are left for ``isQuiet(_:_:)``, which knows the devices.
    func isHeldBack(_ index: Int32, _ preferences: PreferencesView) -> Bool {
        let job = jobs[index].job
        let isSilent = job.type == .background || job.type == .badge
        var isMuted = !isSilent && (preferences.mutedUntilMs ?? 0) > nowMs
        if !isSilent, !isMuted {
            let mutesKind = unsafe mutes(preferences.mutedKinds, job.kind)
            let mutesTopic = unsafe mutes(preferences.mutedTopics, job.topic)
            let mutesThread = unsafe mutes(preferences.mutedThreads, job.thread)
            isMuted = mutesKind || mutesTopic || mutesThread
        }
        var end: Int64?
        if !isMuted, mayBeHeld(index), let quiet = unsafe QuietHours(preferences.quietHours) {
            if unsafe preferences.timeZone.isEmpty {
                jobs[index].quiet = quiet
            } else {
                end = quiet.end(atMs: nowMs, unsafe zone(EscapedText.unescape(preferences.timeZone)))
            }
        }
        return obeys(index, isMuted: isMuted, quietEndMs: end)
    }

    /// Whether the job waits for the end of quiet hours in the time zone of the recipient's devices: of the
    /// one registered last that tells one, else UTC.
    func isQuiet(_ index: Int32, _ devices: DeviceList) -> Bool {
        guard let quiet = jobs[index].quiet else { return false }
        var name = ""
        var list = devices
        while let listed = list.next() {
            let own = unsafe listed.device.timeZone
            if unsafe !own.isEmpty, !isStale(listed.device) {
                name = unsafe String(decoding: own, as: UTF8.self)
            }
        }
        return obeys(
            index, isMuted: false, quietEndMs: quiet.end(atMs: nowMs, name.isEmpty ? .utc : zone(name)))
    }

    /// Whether quiet hours could hold the job at all; else nobody looks at the clock for it.
    private func mayBeHeld(_ index: Int32) -> Bool {
        isShown(jobs[index].job) && !lanes[Int(jobs[index].lane)].isUrgent
    }

    /// Whether a person sees it: an alert or an encrypted notification.
    func isShown(_ job: Job) -> Bool {
        job.type == .alert && !job.flags.contains(.hidden) || job.type == .encrypted
    }

    private func mutes(_ list: UnsafeRawBufferPointer, _ name: JSONText?) -> Bool {
        guard unsafe !list.isEmpty, let name else { return false }
        text.clear()
        return unsafe PreferencesView.contains(list, name.unescaped(into: &text))
    }

    /// Does what the preferences say; true when the job goes no further.
    private func obeys(_ index: Int32, isMuted: Bool, quietEndMs: Int64?) -> Bool {
        let job = jobs[index].job
        let ruling = PreferenceRuling.of(
            isSilent: job.type == .background || job.type == .badge,
            isShown: isShown(job), isUrgent: lanes[Int(jobs[index].lane)].isUrgent, isMuted: isMuted,
            quietEndMs: quietEndMs,
            deadlineMs: jobs[index].deadlineMs)
        switch ruling {
        case .send: return false
        case .mute:
            giveBackCap(index)
            conclude(index, .muted, .muted)
        case .expire:
            giveBackCap(index)
            conclude(index, .expired, .quietHours)
        case .wait(let until):
            giveBackCap(index)
            counts.quietWaits &+= 1
            count(.quietHours)
            postpone(index, forMs: until - nowMs, reason: .quietHours)
        }
        return true
    }

    private func zone(_ name: String) -> TimeZoneTable {
        let (table, isNew) = timeZones.zone(name)
        if let table { return table }
        if isNew {
            let known = TimeZoneTable.isName(name) ? name : "a name that none can have"
            logger.warning(
                "zone.unknown",
                "A recipient's time zone is not to be found; its quiet hours count in UTC. Install tzdata if "
                    + "no zone is there, or correct the preferences.",
                ["zone": .text(known), "folder": .text(timeZones.folder)])
        }
        return .utc
    }
}
