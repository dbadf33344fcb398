package import Core

/// Where a value lies in a job: 4 bytes, since a job has fewer than 65,536.
@usableFromInline
struct JobSpan: BitwiseCopyable, Sendable {
    @usableFromInline var offset: UInt16 = 0
    @usableFromInline var length: UInt16 = 0

    @inlinable init() {}
    @inlinable init(offset: UInt16, length: UInt16) {
        self.offset = offset
        self.length = length
    }
}

/// One notification job, read in place: a pointer to the sender's bytes, where each field lies in them, and
/// the fields that are numbers or words.
///
/// - Size: about 200 bytes without any reference, so tens of thousands can wait in flight.
/// - Ownership: it borrows the record's bytes; whoever holds the job keeps them where they are (see
///   ``rebase(to:)``).
/// - Validity: everything in it has been checked by ``JobParser``; no accessor can fail or trap.
@safe
package struct Job: BitwiseCopyable {
    @usableFromInline var base: UnsafeRawPointer?
    @usableFromInline var length: UInt32 = 0
    /// A bit for each text field that has a backslash in it.
    @usableFromInline var escapes: UInt32 = 0

    /// What the job carries besides its texts.
    package internal(set) var flags: JobFlags = []
    /// The profile names that `data` already holds.
    package internal(set) var dataKeys: DataKeys = []
    /// When to send it, milliseconds since 1970; 0 without ``JobFlags/hasSendAt``.
    package internal(set) var sendAtMs: Int64 = 0
    /// When it is worthless, milliseconds since 1970; 0 without ``JobFlags/hasExpiresAt``.
    package internal(set) var expiresAtMs: Int64 = 0
    /// Seconds that it is worth something, from when it was published or is to be sent; see
    /// ``JobFlags/hasTTL``.
    package internal(set) var ttlSeconds: UInt32 = 0
    /// What to add to the recipient's unread counter; 0 when the job doesn't say.
    package internal(set) var unread: Int32 = 0
    /// The number of members in `data`.
    package internal(set) var dataCount: UInt16 = 0
    /// The number of device ids in `to.devices` or `to.except`.
    package internal(set) var deviceCount: UInt16 = 0
    /// The offset of the job's opening brace, for ``JobLine``.
    @usableFromInline var openBrace: UInt16 = 0

    /// What kind of push it is.
    package internal(set) var type: JobType = .alert
    /// How urgent it is.
    package internal(set) var priority: JobPriority = .high
    /// Whom it is for.
    package internal(set) var target: JobTarget = .recipient
    /// The platform of `to.token`; only with ``JobTarget/token``.
    package internal(set) var platform: Platform = .ios
    /// The environment of `to.token`; only with ``JobTarget/token``.
    package internal(set) var environment: PushEnvironment = .production

    @usableFromInline var idSpan = JobSpan()
    @usableFromInline var appSpan = JobSpan()
    /// The recipient, the token or the topic of `to`: a job names one of them.
    @usableFromInline var toSpan = JobSpan()
    /// The whole value of `to`, for ``JobLine``.
    var targetSpan = JobSpan()
    @usableFromInline var devicesSpan = JobSpan()
    @usableFromInline var titleSpan = JobSpan()
    @usableFromInline var subtitleSpan = JobSpan()
    @usableFromInline var bodySpan = JobSpan()
    @usableFromInline var imageSpan = JobSpan()
    @usableFromInline var kindSpan = JobSpan()
    @usableFromInline var categorySpan = JobSpan()
    @usableFromInline var threadSpan = JobSpan()
    @usableFromInline var urlSpan = JobSpan()
    @usableFromInline var soundSpan = JobSpan()
    @usableFromInline var dataSpan = JobSpan()
    @usableFromInline var collapseSpan = JobSpan()
    @usableFromInline var dedupSpan = JobSpan()
    @usableFromInline var topicSpan = JobSpan()
    @usableFromInline var campaignSpan = JobSpan()
    @usableFromInline var messageSpan = JobSpan()
    @usableFromInline var tagSpan = JobSpan()
    @usableFromInline var headersSpan = JobSpan()
    @usableFromInline var payloadSpan = JobSpan()
    @usableFromInline var fcmSpan = JobSpan()

    /// A job with nothing in it, to parse into.
    package init() { unsafe base = nil }

    /// The whole record, as the sender wrote it.
    @inlinable package var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: base, count: Int(length))
    }

    /// Points the job at a copy of the same bytes.
    /// - Parameter copy: as many bytes as ``bytes``, with the same content.
    @inlinable package mutating func rebase(to copy: UnsafeRawPointer) { unsafe base = copy }

    @inlinable func slice(_ span: JobSpan) -> UnsafeRawBufferPointer? {
        guard span.length > 0, let base = unsafe base else { return nil }
        return unsafe UnsafeRawBufferPointer(start: base + Int(span.offset), count: Int(span.length))
    }

    @inlinable func text(_ span: JobSpan, _ field: JobField) -> JSONText? {
        guard let raw = unsafe slice(span) else { return nil }
        return unsafe JSONText(raw: raw, isEscaped: escapes & field.bit != 0)
    }

    /// The job's id, or nil when the sender left it to the producer.
    @inlinable package var id: JSONText? { text(idSpan, .id) }
    /// The app that sends; every parsed job has one. 1 to 64 of `A-Z a-z 0-9 . _ -`.
    @inlinable package var app: JSONText {
        unsafe JSONText(raw: slice(appSpan) ?? UnsafeRawBufferPointer(start: nil, count: 0), isEscaped: false)
    }
    /// The recipient, for ``JobTarget/recipient``, ``JobTarget/devices`` and ``JobTarget/others``.
    @inlinable package var recipient: JSONText? {
        target == .recipient || target == .devices || target == .others ? text(toSpan, .to) : nil
    }
    /// The device token, for ``JobTarget/token``.
    @inlinable package var token: JSONText? { target == .token ? text(toSpan, .to) : nil }
    /// The subscribers' topic, for ``JobTarget/topic``.
    @inlinable package var audience: JSONText? { target == .topic ? text(toSpan, .to) : nil }
    /// The device ids, for ``JobTarget/devices`` and ``JobTarget/others``: an array of strings, see
    /// ``deviceCount``.
    @inlinable package var devices: JSONElements {
        unsafe JSONElements(slice(devicesSpan) ?? UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// The title to show.
    @inlinable package var title: JSONText? { text(titleSpan, .title) }
    /// The subtitle to show; Apple only.
    @inlinable package var subtitle: JSONText? { text(subtitleSpan, .subtitle) }
    /// The body to show.
    @inlinable package var body: JSONText? { text(bodySpan, .body) }
    /// The address of an image to show.
    @inlinable package var image: JSONText? { text(imageSpan, .image) }
    /// The sender's kind of notification.
    @inlinable package var kind: JSONText? { text(kindSpan, .kind) }
    /// The registered category (Apple) or click action (Android).
    @inlinable package var category: JSONText? { text(categorySpan, .category) }
    /// What groups notifications in the list.
    @inlinable package var thread: JSONText? { text(threadSpan, .thread) }
    /// Where a tap leads.
    @inlinable package var url: JSONText? { text(urlSpan, .url) }
    /// The sound's name; nil when there is none or it is an object.
    @inlinable package var sound: JSONText? {
        flags.has(.soundIsObject) ? nil : text(soundSpan, .sound)
    }
    /// The sound of a critical alert, an object, when it is one.
    @inlinable package var criticalSound: JSONSlice? {
        flags.has(.soundIsObject) ? object(soundSpan) : nil
    }
    /// The sender's own members: an object.
    @inlinable package var data: JSONSlice? { object(dataSpan) }
    /// The collapse id, 1 to 64 bytes.
    @inlinable package var collapse: JSONText? { text(collapseSpan, .collapse) }
    /// The key under which a second job of the same content is dropped.
    @inlinable package var dedup: JSONText? { text(dedupSpan, .dedup) }
    /// The topic that recipients can opt out of; for encrypted jobs the relay's topic.
    @inlinable package var topic: JSONText? { text(topicSpan, .topic) }
    /// The campaign that can be paused by name.
    @inlinable package var campaign: JSONText? { text(campaignSpan, .campaign) }
    /// What the sender sealed; only with ``JobType/encrypted``.
    @inlinable package var message: JSONText? { text(messageSpan, .message) }
    /// The tag that goes with ``message``, a string.
    @inlinable package var tag: JSONText? { flags.has(.tagIsNumber) ? nil : text(tagSpan, .tag) }
    /// The tag that goes with ``message``, when it is a number.
    @inlinable package var numericTag: JSONSlice? { flags.has(.tagIsNumber) ? object(tagSpan) : nil }
    /// `apns.headers`: an object of strings.
    @inlinable package var apnsHeaders: JSONSlice? { object(headersSpan) }
    /// `apns.payload`: an object, merged into what is rendered for APNs.
    @inlinable package var apnsPayload: JSONSlice? { object(payloadSpan) }
    /// `fcm`: an object, merged into the message that is rendered for FCM.
    @inlinable package var fcm: JSONSlice? { object(fcmSpan) }

    @inlinable func object(_ span: JobSpan) -> JSONSlice? {
        guard let raw = unsafe slice(span) else { return nil }
        return unsafe JSONSlice(raw: raw, isEscaped: false)
    }

    /// Whether there is something to show.
    @inlinable package var hasText: Bool {
        titleSpan.length > 0 || subtitleSpan.length > 0 || bodySpan.length > 0
    }

    /// Whether the badge belongs in what is sent: the job counts something or is about nothing else.
    @inlinable package var wantsBadge: Bool { flags.has(.hasUnread) || type == .badge }

    /// Whether the job is for now or never: `ttl` 0. The providers are told not to store it.
    @inlinable package var isImmediate: Bool { flags.has(.hasTTL) && ttlSeconds == 0 }

    /// How long a job with `ttl` 0 may take to reach the provider, in milliseconds.
    package static let immediateGraceMs: Int64 = 60_000

    /// When the job stops being worth sending, milliseconds since 1970.
    /// - Parameter publishedAtMs: when it was published; `ttl` counts from then, or from `send_at` when that
    ///   is given.
    /// - Returns: the deadline, or nil when there is none.
    @inlinable package func deadlineMs(publishedAtMs: Int64) -> Int64? {
        if flags.has(.hasExpiresAt) { return expiresAtMs }
        guard flags.has(.hasTTL) else { return nil }
        let from = flags.has(.hasSendAt) ? max(sendAtMs, publishedAtMs) : publishedAtMs
        let wait = ttlSeconds == 0 ? Job.immediateGraceMs : Int64(ttlSeconds) * 1000
        let (sum, overflow) = from.addingReportingOverflow(wait)
        return overflow ? Int64.max : sum
    }

    /// Appends the Kafka key: `app/recipient`, `app/token`, `app/topic` or `app/*`.
    package func appendPartitionKey(to buffer: inout ByteBuffer) {
        app.append(to: &buffer)
        buffer.append(byte: UInt8(ascii: "/"))
        if let to = text(toSpan, .to) {
            to.append(to: &buffer)
        } else {
            buffer.append(byte: UInt8(ascii: "*"))
        }
    }
}
