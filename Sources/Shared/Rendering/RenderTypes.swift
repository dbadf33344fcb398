package import Jobs

/// What an FCM registration is; FCM takes exactly one kind of target for a message.
package enum FCMTargetKind: UInt8, BitwiseCopyable, Sendable, CaseIterable {
    /// A registration token.
    case token
    /// A Firebase installation id.
    case fid
    /// A topic name; its messages may have 2,048 bytes only.
    case topic
}

/// What rendering needs to know of a device.
/// - Valid: as long as the memory that ``token`` points into.
@safe
package struct DeviceView: BitwiseCopyable {
    /// What the device runs.
    package var platform: Platform
    /// Which of Apple's services the token belongs to.
    package var environment: PushEnvironment
    /// What ``token`` is to FCM.
    package var targetKind: FCMTargetKind
    /// The token's text.
    package var token: UnsafeRawBufferPointer

    package init(
        platform: Platform, environment: PushEnvironment = .production, targetKind: FCMTargetKind = .token,
        token: UnsafeRawBufferPointer
    ) {
        self.platform = platform
        self.environment = environment
        self.targetKind = targetKind
        unsafe self.token = token
    }
}

/// What varies from one rendering of a job to the next.
package struct RenderMoment: BitwiseCopyable, Sendable {
    /// The recipient's unread counter, or nil when no badge belongs in the payload.
    package var badge: Int64?
    /// When the job stops being worth sending, milliseconds since 1970; nil when it never does.
    package var expiresAtMs: Int64?
    /// Now, milliseconds since 1970.
    package var nowMs: Int64

    package init(badge: Int64? = nil, expiresAtMs: Int64? = nil, nowMs: Int64) {
        self.badge = badge
        self.expiresAtMs = expiresAtMs
        self.nowMs = nowMs
    }
}

/// How a rendering ended.
package enum RenderResult: BitwiseCopyable, Sendable, Equatable {
    /// The body has been appended.
    case ok
    /// The body has been appended; the text in it is shorter than in the job.
    case truncated
    /// Nothing has been appended: it would be this large, in bytes as the provider counts.
    case tooLarge(Int)
    /// Nothing has been appended: the device's platform can't receive this type of job.
    case notForPlatform

    /// Whether there is a body to send.
    @inlinable package var isSendable: Bool { self == .ok || self == .truncated }
}

/// What belongs in the headers of an APNs request beside its body.
/// - Valid: as long as the job's bytes, which its texts point into.
package struct APNsHead: BitwiseCopyable {
    /// How the rendering ended.
    package var result: RenderResult
    /// `apns-push-type`: one of Apple's, never ``JobType/encrypted`` or ``JobType/badge``.
    package var pushType: JobType
    /// `apns-priority`: 10, 5 or 1.
    package var priority: UInt8
    /// `apns-expiration`: UNIX seconds, 0 for "once, now"; nil leaves it to Apple.
    package var expiration: Int64?
    /// `apns-collapse-id`, at most 64 bytes once unescaped.
    package var collapseID: JSONText?
    /// `apns-topic` from the job's own headers; nil means bundle id plus ``topicSuffix``.
    package var topicOverride: JSONText?

    /// What the push type adds to the bundle id (Apple, "Sending notification requests to APNs").
    package var topicSuffix: StaticString { pushType.topicSuffix }
}

extension JobType {
    /// What the push type adds to the bundle id to make the APNs topic.
    package var topicSuffix: StaticString {
        switch self {
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        case .alert, .background, .encrypted, .badge, .mdm: ""
        }
    }

    /// The most bytes of an APNs payload of this type.
    package var maximumPayload: Int { self == .voip ? 5120 : 4096 }
}
