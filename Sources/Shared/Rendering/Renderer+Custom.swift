import Core
import Jobs

/// Where the sender's own members go.
enum CustomPlace: Equatable {
    /// Beside `aps`, values as they are.
    case apns(viaFCM: Bool)
    /// In FCM's data, every value a string.
    case fcm

    var asStrings: Bool { self == .fcm }
}

/// The members beside `aps`, and those in FCM's data: what makes a profile.
extension Renderer {
    /// Appends the members that the profile puts beside `aps` or into FCM's data.
    func appendCustom(
        _ job: Job, _ moment: RenderMoment, _ body: JSONText?, _ place: CustomPlace, _ out: inout ByteBuffer
    ) {
        if job.type == .encrypted { return appendEncrypted(job, place, &out) }
        switch settings.profile {
        case .concierge: return appendConcierge(job, moment, body, place, &out)
        case .dialect: appendDialect(job, place, &out)
        case .creator: appendCreator(job, &out)
        case .plain, .wallet: appendPlain(job, &out)
        }
        if job.flags.has(.hidden) { appendHiddenText(job, body, &out) }
        if place == .fcm, job.type == .badge, free(job, .unread) { appendUnread(moment, place, &out) }
        if settings.profile != .dialect { appendData(job, leavingOut: DataKeys(rawValue: 0), place, &out) }
    }

    private func free(_ job: Job, _ key: DataKeys) -> Bool { !job.dataKeys.has(key) }

    private func appendEncrypted(_ job: Job, _ place: CustomPlace, _ out: inout ByteBuffer) {
        if free(job, .message) { out.member("\"message\":", job.message) }
        if free(job, .topic) { out.member("\"topic\":", job.topic) }
        if free(job, .tag) {
            out.member("\"tag\":", job.tag)
            if let tag = job.numericTag {
                out.name("\"tag\":")
                out.value(tag, asString: place.asStrings)
            }
        }
        appendData(job, leavingOut: DataKeys(rawValue: 0), place, &out)
    }

    private func appendPlain(_ job: Job, _ out: inout ByteBuffer) {
        if free(job, .url) { out.member("\"url\":", job.url) }
        if free(job, .kind) { out.member("\"kind\":", job.kind) }
        if free(job, .image) { out.member("\"image\":", job.image) }
    }

    private func appendCreator(_ job: Job, _ out: inout ByteBuffer) {
        if free(job, .targetURL) { out.member("\"target_url\":", job.url) }
        if free(job, .kind) { out.member("\"kind\":", job.kind) }
        if free(job, .dedupKey) { out.member("\"dedup_key\":", job.dedup) }
        if free(job, .channelId) { out.member("\"channel_id\":", job.thread) }
        if free(job, .image) { out.member("\"image\":", job.image) }
    }

    private func appendDialect(_ job: Job, _ place: CustomPlace, _ out: inout ByteBuffer) {
        appendData(job, leavingOut: DataKeys(rawValue: 0), place, &out)
        if free(job, .appId) { out.member("\"appId\":", job.app) }
        if free(job, .notificationId) { out.member("\"notificationId\":", job.id) }
        if free(job, .url) { out.member("\"url\":", job.url) }
        if free(job, .kind) { out.member("\"kind\":", job.kind) }
        // The member that Firebase's service extension reads the image from, and which FCM writes by itself.
        if place == .apns(viaFCM: false), free(job, .fcmOptions), let image = job.image {
            out.name("\"fcm_options\":{\"image\":")
            out.quoted(image)
            out.close()
        }
    }

    private func appendHiddenText(_ job: Job, _ body: JSONText?, _ out: inout ByteBuffer) {
        if free(job, .title) { out.member("\"title\":", job.title) }
        if free(job, .subtitle) { out.member("\"subtitle\":", job.subtitle) }
        if free(job, .body) { out.member("\"body\":", body) }
        if settings.profile == .dialect, free(job, .image) { out.member("\"image\":", job.image) }
    }

    private func appendUnread(_ moment: RenderMoment, _ place: CustomPlace, _ out: inout ByteBuffer) {
        guard let badge = moment.badge else { return }
        out.name("\"unread\":")
        if place.asStrings { out.append(byte: UInt8(ascii: "\"")) }
        out.append(decimal: max(0, badge))
        if place.asStrings { out.append(byte: UInt8(ascii: "\"")) }
    }

    // MARK: concierge

    private func appendConcierge(
        _ job: Job, _ moment: RenderMoment, _ body: JSONText?, _ place: CustomPlace, _ out: inout ByteBuffer
    ) {
        if !place.asStrings { out.name("\"concierge\":{") }
        out.name("\"source\":")
        if let source = own(job, .source, "source") {
            out.value(source, asString: place.asStrings)
        } else {
            out.append("\"concierge\"")
        }
        if let conversation = own(job, .conversationId, "conversationId") {
            out.name("\"conversationId\":")
            out.value(conversation, asString: place.asStrings)
        } else {
            out.member("\"conversationId\":", job.thread)
        }
        if let message = own(job, .messageId, "messageId") {
            out.name("\"messageId\":")
            out.value(message, asString: place.asStrings)
        }
        var written = DataKeys.ofConcierge
        if moment.badge != nil {
            appendUnread(moment, place, &out)
            written = DataKeys(rawValue: written.rawValue | DataKeys.unread.rawValue)
        }
        if place == .fcm || job.flags.has(.hidden), job.hasText {
            if free(job, .title) { appendTitle(job, &out) }
            if free(job, .body) { out.member("\"body\":", body) }
        }
        appendData(job, leavingOut: written, place, &out)
        if !place.asStrings { out.close() }
    }

    private func own(_ job: Job, _ key: DataKeys, _ name: StaticString) -> JSONSlice? {
        job.dataKeys.has(key) ? job.data?.member(name) : nil
    }

    // MARK: data

    /// Appends the members of data but those that have been written before.
    private func appendData(
        _ job: Job, leavingOut written: DataKeys, _ place: CustomPlace, _ out: inout ByteBuffer
    ) {
        guard job.dataCount > 0, let data = job.data else { return }
        let left = written.rawValue & job.dataKeys.rawValue
        if left == 0, !place.asStrings || job.flags.has(.dataIsAllStrings) {
            // Nothing to leave out and nothing to change: what stands between the braces is copied as it is.
            out.comma()
            unsafe out.append(UnsafeRawBufferPointer(rebasing: data.raw[1..<data.raw.count - 1]))
            return
        }
        if left.nonzeroBitCount == Int(job.dataCount) { return }
        var members = data.members
        while let member = members.next() {
            if left != 0, DataKeys(rawValue: left).names(member.name) { continue }
            out.comma()
            out.quoted(member.name)
            out.append(byte: UInt8(ascii: ":"))
            out.value(member.value, asString: place.asStrings)
        }
    }
}

extension DataKeys {
    /// The names that the `concierge` profile writes itself, save for the badge's.
    fileprivate static var ofConcierge: DataKeys {
        DataKeys(rawValue: source.rawValue | conversationId.rawValue | messageId.rawValue)
    }

    /// Whether the name is one of those that the `concierge` profile writes itself.
    fileprivate func names(_ name: JSONText) -> Bool {
        has(.source) && name.equals("source")
            || has(.conversationId) && name.equals("conversationId")
            || has(.messageId) && name.equals("messageId") || has(.unread) && name.equals("unread")
    }
}
