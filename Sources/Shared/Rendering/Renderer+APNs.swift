package import Core
package import Jobs

/// APNs payloads (Apple, "Generating a remote notification").
extension Renderer {
    /// Appends the body of an APNs request and returns what belongs in its headers.
    ///
    /// - Parameters:
    ///   - job: a parsed job.
    ///   - moment: badge, deadline and time.
    ///   - out: what to append to; untouched unless the result is sendable.
    /// - Returns: the headers' content, with the result in it.
    package func renderAPNs(_ job: Job, at moment: RenderMoment, into out: inout ByteBuffer) -> APNsHead {
        var head = Self.head(job, moment)
        let start = out.count
        appendAPNs(job, moment, body: job.body, viaFCM: false, into: &out)
        let limit = head.pushType.maximumPayload
        if out.count - start > limit {
            head.result = fit(job, start: start, limit: limit, overhead: 0, out: &out) { body, out in
                self.appendAPNs(job, moment, body: body, viaFCM: false, into: &out)
            }
        }
        return head
    }

    /// What belongs in the headers, with the job's own on top.
    static func head(_ job: Job, _ moment: RenderMoment) -> APNsHead {
        var type = job.type
        if type == .encrypted || type == .badge { type = .alert }
        if job.flags.has(.hidden) { type = .background }
        var expiration = moment.expiresAtMs.map { max(0, $0 / 1000) }
        if type == .pushtotalk || job.isImmediate || type == .voip && expiration == nil { expiration = 0 }
        var head = APNsHead(
            result: .ok, pushType: type, priority: job.priority.rawValue, expiration: expiration,
            collapseID: job.collapse, topicOverride: nil)
        if let headers = job.apnsHeaders { override(&head, headers) }
        return head
    }

    private static func override(_ head: inout APNsHead, _ headers: JSONSlice) {
        var members = headers.members
        while let member = members.next() {
            guard let header = APNsHeader.named(member.name), let value = member.value.text else { continue }
            switch header {
            case .topic: head.topicOverride = value
            case .pushType: head.pushType = JobType.apnsType(value) ?? head.pushType
            case .priority: head.priority = value.equals("10") ? 10 : value.equals("5") ? 5 : 1
            case .expiration: head.expiration = decimal(value)
            case .collapseID: head.collapseID = value
            }
        }
    }

    /// The value of at most twelve digits; the parser lets nothing else through.
    private static func decimal(_ text: JSONText) -> Int64 {
        var value: Int64 = 0
        for index in unsafe 0..<min(12, text.raw.count) {
            let digit = unsafe text.raw[index] &- 48
            if digit < 10 { value = value * 10 + Int64(digit) }
        }
        return value
    }

    /// Appends the payload, merged with the job's own.
    func appendAPNs(
        _ job: Job, _ moment: RenderMoment, body: JSONText?, viaFCM: Bool, into out: inout ByteBuffer
    ) {
        guard let patch = job.apnsPayload else {
            return appendPlainAPNs(job, moment, body, viaFCM, &out)
        }
        if job.type == .mdm { return unsafe out.append(patch.raw) }
        var base = ByteBuffer(capacity: 0)
        swap(&base, &mergeBase)
        base.clear()
        appendPlainAPNs(job, moment, body, viaFCM, &base)
        unsafe JSONMerge.append(JSONSlice(raw: base.bytes, isEscaped: false), patchedWith: patch, to: &out)
        swap(&base, &mergeBase)
    }

    private func appendPlainAPNs(
        _ job: Job, _ moment: RenderMoment, _ body: JSONText?, _ viaFCM: Bool, _ out: inout ByteBuffer
    ) {
        unsafe out.reserve(Int(job.bytes.count) + 256)
        out.append("{\"aps\":{")
        if job.flags.has(.hidden) || job.type == .background {
            out.append("\"content-available\":1")
        } else if job.type == .encrypted {
            appendEncryptedAPS(moment, &out)
        } else {
            appendAPS(job, moment, body, &out)
        }
        out.close()
        appendCustom(job, moment, body, .apns(viaFCM: viaFCM), &out)
        out.close()
    }

    private func appendEncryptedAPS(_ moment: RenderMoment, _ out: inout ByteBuffer) {
        if !encryptedTitle.isEmpty {
            out.append("\"alert\":{\"title\":")
            out.append(array: encryptedTitle)
            out.append("},")
        }
        out.append("\"content-available\":1,\"mutable-content\":1")
        if let badge = moment.badge { appendBadge(badge, &out) }
    }

    private func appendBadge(_ badge: Int64, _ out: inout ByteBuffer) {
        out.name("\"badge\":")
        out.append(decimal: max(0, badge))
    }

    private func appendAPS(_ job: Job, _ moment: RenderMoment, _ body: JSONText?, _ out: inout ByteBuffer) {
        if job.hasText {
            out.append("\"alert\":{")
            appendTitle(job, &out)
            out.member("\"subtitle\":", job.subtitle)
            out.member("\"body\":", body)
            out.close()
        }
        if let badge = moment.badge { appendBadge(badge, &out) }
        appendSound(job, &out)
        out.member("\"thread-id\":", thread(job))
        out.member("\"category\":", job.category)
        if isMutable(job) { out.name("\"mutable-content\":1") }
        if job.type == .widgets || job.type == .controls { out.name("\"content-changed\":true") }
    }

    /// Appends the title: the job's or, where team names aren't shown, the app's.
    func appendTitle(_ job: Job, _ out: inout ByteBuffer) {
        if settings.profile == .concierge, !appName.isEmpty, !settings.showTeamNames || job.title == nil {
            out.name("\"title\":")
            out.append(array: appName)
        } else {
            out.member("\"title\":", job.title)
        }
    }

    private func appendSound(_ job: Job, _ out: inout ByteBuffer) {
        if job.flags.has(.mute) { return }
        if let sound = job.criticalSound {
            out.name("\"sound\":")
            unsafe out.append(sound.raw)
        } else if let sound = job.sound {
            out.member("\"sound\":", sound)
        } else if job.hasText, job.flags.has(.playSound) && defaultSound.isEmpty {
            out.name("\"sound\":\"default\"")
        } else if job.hasText, !defaultSound.isEmpty {
            out.name("\"sound\":")
            out.append(array: defaultSound)
        }
    }

    /// What groups the notification: the job's thread or, for support chats, the conversation in its data.
    private func thread(_ job: Job) -> JSONText? {
        if let thread = job.thread { return thread }
        guard settings.profile == .concierge, job.dataKeys.has(.conversationId) else { return nil }
        return job.data?.member("conversationId")?.text
    }

    /// Whether the client's service extension has something to fetch.
    private func isMutable(_ job: Job) -> Bool {
        if job.image != nil { return true }
        return settings.profile == .creator && (job.dataKeys.has(.senderAvatar) || job.dataKeys.has(.avatar))
    }
}
