package import Core
package import Jobs

/// FCM messages (REST reference, projects.messages).
extension Renderer {
    /// The most bytes of a message, without its target.
    package static let maximumFCM = 4096
    /// The most bytes of a message to a topic, without its target.
    package static let maximumFCMTopic = 2048

    /// Appends the body of an FCM request: `{"message":{...}}`.
    ///
    /// - Parameters:
    ///   - job: a parsed job.
    ///   - device: whom it is for.
    ///   - moment: badge, deadline and time.
    ///   - out: what to append to; untouched unless the result is sendable.
    /// - Returns: how it ended.
    package func renderFCM(
        _ job: Job, for device: DeviceView, at moment: RenderMoment, into out: inout ByteBuffer
    ) -> RenderResult {
        guard reaches(job, device.platform) else { return .notForPlatform }
        let start = out.count
        appendFCM(job, device, moment, body: job.body, into: &out)
        let limit = device.targetKind == .topic ? Self.maximumFCMTopic : Self.maximumFCM
        let overhead = unsafe Self.envelope + device.token.count
        guard out.count - start - overhead > limit else { return .ok }
        return fit(job, start: start, limit: limit, overhead: overhead, out: &out) { body, out in
            self.appendFCM(job, device, moment, body: body, into: &out)
        }
    }

    /// The bytes of `{"message":{"token":"",}}`, which don't count against the limit; nor does the token
    /// itself.
    private static let envelope = 25

    /// Whether the platform can receive the job at all.
    private func reaches(_ job: Job, _ platform: Platform) -> Bool {
        if platform == .ios { return true }
        if job.type.isAppleOnly { return false }
        return job.type != .alert || job.hasText || job.fcm != nil || job.dataCount > 0
    }

    private func appendFCM(
        _ job: Job, _ device: DeviceView, _ moment: RenderMoment, body: JSONText?, into out: inout ByteBuffer
    ) {
        out.append("{\"message\":")
        if let patch = job.fcm {
            var base = ByteBuffer(capacity: 0)
            swap(&base, &scratch)
            base.clear()
            appendMessage(job, device, moment, body, &base)
            unsafe JSONMerge.append(
                JSONSlice(raw: base.bytes, isEscaped: false), patchedWith: patch, to: &out)
            swap(&base, &scratch)
        } else {
            appendMessage(job, device, moment, body, &out)
        }
        out.close()
    }

    private func appendMessage(
        _ job: Job, _ device: DeviceView, _ moment: RenderMoment, _ body: JSONText?, _ out: inout ByteBuffer
    ) {
        unsafe out.reserve(job.bytes.count + device.token.count + 256)
        switch device.targetKind {
        case .token: out.append("{\"token\":")
        case .fid: out.append("{\"fid\":")
        case .topic: out.append("{\"topic\":")
        }
        unsafe out.append(jsonString: device.token)
        if device.platform == .ios {
            appendApple(job, moment, body, &out)
        } else {
            appendNotification(job, body, &out)
            out.name("\"data\":{")
            appendCustom(job, moment, body, .fcm, &out)
            out.closeOrTakeBack(",\"data\":{")
            if device.platform == .android {
                appendAndroid(job, moment, &out)
            } else {
                appendWeb(job, moment, &out)
            }
        }
        out.close()
    }

    private func isShown(_ job: Job) -> Bool {
        job.type == .alert && job.hasText && !job.flags.has(.hidden)
    }

    func appendNotification(_ job: Job, _ body: JSONText?, _ out: inout ByteBuffer) {
        guard isShown(job) else { return }
        out.name("\"notification\":{")
        appendTitle(job, &out)
        out.member("\"body\":", body)
        out.member("\"image\":", job.image)
        out.close()
    }

    // MARK: Android

    private func appendAndroid(_ job: Job, _ moment: RenderMoment, _ out: inout ByteBuffer) {
        out.name("\"android\":{\"priority\":")
        if job.priority == .high { out.append("\"HIGH\"") } else { out.append("\"NORMAL\"") }
        if let ttl = Self.remaining(job, moment) {
            out.name("\"ttl\":\"")
            out.append(decimal: ttl)
            out.append("s\"")
        }
        out.member("\"collapse_key\":", job.collapse)
        if isShown(job) {
            out.name("\"notification\":{")
            appendAndroidSound(job, &out)
            out.member("\"click_action\":", job.category)
            if !androidChannel.isEmpty {
                out.name("\"channel_id\":")
                out.append(array: androidChannel)
            }
            if let badge = moment.badge {
                out.name("\"notification_count\":")
                out.append(decimal: min(max(0, badge), Int64(Int32.max)))
            }
            out.closeOrTakeBack(",\"notification\":{")
        }
        out.close()
    }

    private func appendAndroidSound(_ job: Job, _ out: inout ByteBuffer) {
        if job.flags.has(.mute) { return }
        if let sound = job.sound ?? job.criticalSound?.member("name")?.text {
            out.member("\"sound\":", sound)
        } else if !defaultSound.isEmpty {
            out.name("\"sound\":")
            out.append(array: defaultSound)
        } else if job.flags.has(.playSound) {
            out.name("\"sound\":\"default\"")
        }
    }

    /// Seconds until the deadline, at most four weeks; nil without one.
    static func remaining(_ job: Job, _ moment: RenderMoment) -> Int64? {
        if job.isImmediate { return 0 }
        guard let deadline = moment.expiresAtMs else { return nil }
        let (left, overflow) = deadline.subtractingReportingOverflow(moment.nowMs)
        return overflow ? 2_419_200 : min(max(0, left / 1000), 2_419_200)
    }

    // MARK: Web

    private func appendWeb(_ job: Job, _ moment: RenderMoment, _ out: inout ByteBuffer) {
        out.name("\"webpush\":{\"headers\":{\"Urgency\":\"")
        out.append(job.priority.urgency)
        out.append("\"")
        if let ttl = Self.remaining(job, moment) {
            out.name("\"TTL\":\"")
            out.append(decimal: ttl)
            out.append("\"")
        }
        out.close()
        if isShown(job), let url = job.url, url.hasPrefix("https://") {
            out.name("\"fcm_options\":{\"link\":")
            out.quoted(url)
            out.close()
        }
        out.close()
    }

    // MARK: iOS behind FCM

    /// The client app gets the very payload that APNs would have brought, so it stands alone: no notification
    /// and no data beside it, which FCM would copy into the payload a second time.
    private func appendApple(_ job: Job, _ moment: RenderMoment, _ body: JSONText?, _ out: inout ByteBuffer) {
        let head = Self.head(job, moment)
        out.name("\"apns\":{\"headers\":{\"apns-priority\":\"")
        out.append(decimal: Int64(head.priority))
        out.append("\",\"apns-push-type\":\"")
        out.append(head.pushType.word)
        out.append("\"")
        if let expiration = head.expiration {
            out.name("\"apns-expiration\":\"")
            out.append(decimal: expiration)
            out.append("\"")
        }
        out.member("\"apns-collapse-id\":", head.collapseID)
        out.member("\"apns-topic\":", head.topicOverride)
        out.close()
        out.name("\"payload\":")
        appendAPNs(job, moment, body: body, viaFCM: true, into: &out)
        if isShown(job), let image = job.image {
            out.name("\"fcm_options\":{\"image\":")
            out.quoted(image)
            out.close()
        }
        out.close()
    }
}

extension ByteBuffer {
    /// Closes the object that `opening` opened or, when nothing has been written into it, takes it back.
    mutating func closeOrTakeBack(_ opening: StaticString) {
        if unsafe bytes.last == UInt8(ascii: "{") {
            truncate(to: count - opening.utf8CodeUnitCount)
            // The comma is part of the opening except in an empty object, where none was written.
        } else {
            close()
        }
    }
}
