/// What kind of push a job asks for: Peal's own kinds and every APNs push type.
package enum JobType: UInt8, BitwiseCopyable, Sendable, CaseIterable {
    case alert, background, encrypted, badge, voip, complication, fileprovider, location, liveactivity
    case pushtotalk, widgets, controls, mdm

    /// The word in the job.
    package var word: StaticString {
        switch self {
        case .alert: "alert"
        case .background: "background"
        case .encrypted: "encrypted"
        case .badge: "badge"
        case .voip: "voip"
        case .complication: "complication"
        case .fileprovider: "fileprovider"
        case .location: "location"
        case .liveactivity: "liveactivity"
        case .pushtotalk: "pushtotalk"
        case .widgets: "widgets"
        case .controls: "controls"
        case .mdm: "mdm"
        }
    }

    /// Whether only APNs knows this type, so that no other platform can receive it.
    package var isAppleOnly: Bool {
        switch self {
        case .alert, .background, .encrypted, .badge: false
        default: true
        }
    }

    /// The priority of a job that doesn't name one (Apple, "Sending notification requests to APNs").
    package var defaultPriority: JobPriority {
        switch self {
        case .background, .badge, .fileprovider, .location, .widgets, .controls: .normal
        default: .high
        }
    }
}

/// How urgent a job is for the device.
package enum JobPriority: UInt8, BitwiseCopyable, Sendable, CaseIterable {
    /// Power aware, never wakes the device: APNs 1, FCM NORMAL.
    case low = 1
    /// Power aware: APNs 5, FCM NORMAL.
    case normal = 5
    /// Now: APNs 10, FCM HIGH.
    case high = 10
}

/// What a device runs.
package enum Platform: UInt8, BitwiseCopyable, Sendable, CaseIterable {
    case ios, android, web

    /// The word in jobs, records and metrics.
    package var word: StaticString {
        switch self {
        case .ios: "ios"
        case .android: "android"
        case .web: "web"
        }
    }
}

/// Which of Apple's two services a token belongs to.
package enum PushEnvironment: UInt8, BitwiseCopyable, Sendable, CaseIterable {
    case production, sandbox

    /// The word in jobs, records and metrics.
    package var word: StaticString {
        switch self {
        case .production: "production"
        case .sandbox: "sandbox"
        }
    }
}

/// Whom a job is for.
package enum JobTarget: UInt8, BitwiseCopyable, Sendable, CaseIterable {
    /// Every device of one recipient.
    case recipient
    /// Some devices of one recipient.
    case devices
    /// One token, with no recipient behind it.
    case token
    /// Every subscriber of a topic.
    case topic
    /// Every recipient of the app.
    case all
}

/// What a job carries besides its spans.
package struct JobFlags: OptionSet, BitwiseCopyable, Sendable {
    package let rawValue: UInt32
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// `type` was written, not derived.
    package static let typeGiven = JobFlags(rawValue: 1 << 0)
    /// `priority` was written.
    package static let priorityGiven = JobFlags(rawValue: 1 << 1)
    /// `ttl` was written.
    package static let hasTTL = JobFlags(rawValue: 1 << 2)
    /// `unread` was written.
    package static let hasUnread = JobFlags(rawValue: 1 << 3)
    /// `send_at` was written.
    package static let hasSendAt = JobFlags(rawValue: 1 << 4)
    /// `expires_at` was written.
    package static let hasExpiresAt = JobFlags(rawValue: 1 << 5)
    /// `push.playNotificationSound` is false.
    package static let mute = JobFlags(rawValue: 1 << 6)
    /// `push.showNotification` is false: the text goes along as data and nothing is shown.
    package static let hidden = JobFlags(rawValue: 1 << 7)
    /// `sound` is an object (a critical alert), not a word.
    package static let soundIsObject = JobFlags(rawValue: 1 << 8)
    /// `tag` is a number, not a string.
    package static let tagIsNumber = JobFlags(rawValue: 1 << 9)
    /// Every value in `data` is a string.
    package static let dataIsAllStrings = JobFlags(rawValue: 1 << 10)
    /// `push.playNotificationSound` is true.
    package static let playSound = JobFlags(rawValue: 1 << 11)
    /// `to.environment` was written.
    package static let environmentGiven = JobFlags(rawValue: 1 << 12)
}

/// The names that payload profiles write, as far as a job's `data` already holds them.
///
/// A profile leaves out its own field when the sender wrote a data member of that name, so no name appears
/// twice.
package struct DataKeys: OptionSet, BitwiseCopyable, Sendable {
    package let rawValue: UInt32
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let source = DataKeys(rawValue: 1 << 0)
    package static let conversationId = DataKeys(rawValue: 1 << 1)
    package static let messageId = DataKeys(rawValue: 1 << 2)
    package static let unread = DataKeys(rawValue: 1 << 3)
    package static let title = DataKeys(rawValue: 1 << 4)
    package static let body = DataKeys(rawValue: 1 << 5)
    package static let image = DataKeys(rawValue: 1 << 6)
    package static let appId = DataKeys(rawValue: 1 << 7)
    package static let notificationId = DataKeys(rawValue: 1 << 8)
    package static let targetURL = DataKeys(rawValue: 1 << 9)
    package static let kind = DataKeys(rawValue: 1 << 10)
    package static let dedupKey = DataKeys(rawValue: 1 << 11)
    package static let url = DataKeys(rawValue: 1 << 12)
    package static let message = DataKeys(rawValue: 1 << 13)
    package static let topic = DataKeys(rawValue: 1 << 14)
    package static let tag = DataKeys(rawValue: 1 << 15)
    package static let senderAvatar = DataKeys(rawValue: 1 << 16)
    package static let avatar = DataKeys(rawValue: 1 << 17)
    package static let channelId = DataKeys(rawValue: 1 << 18)
    package static let fcmOptions = DataKeys(rawValue: 1 << 19)
    package static let concierge = DataKeys(rawValue: 1 << 20)
    package static let subtitle = DataKeys(rawValue: 1 << 21)
}
