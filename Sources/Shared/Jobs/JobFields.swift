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
    /// Every device of one recipient but some.
    case others
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

    /// Whether all of `flags` are set: `contains` without the generic call.
    @inlinable package func has(_ flags: Self) -> Bool { rawValue & flags.rawValue == flags.rawValue }

    /// `type` was written, not derived.
    @inlinable package static var typeGiven: JobFlags { JobFlags(rawValue: 1 << 0) }
    /// `priority` was written.
    @inlinable package static var priorityGiven: JobFlags { JobFlags(rawValue: 1 << 1) }
    /// `ttl` was written.
    @inlinable package static var hasTTL: JobFlags { JobFlags(rawValue: 1 << 2) }
    /// `unread` was written.
    @inlinable package static var hasUnread: JobFlags { JobFlags(rawValue: 1 << 3) }
    /// `send_at` was written.
    @inlinable package static var hasSendAt: JobFlags { JobFlags(rawValue: 1 << 4) }
    /// `expires_at` was written.
    @inlinable package static var hasExpiresAt: JobFlags { JobFlags(rawValue: 1 << 5) }
    /// `push.playNotificationSound` is false.
    @inlinable package static var mute: JobFlags { JobFlags(rawValue: 1 << 6) }
    /// `push.showNotification` is false: the text goes along as data and nothing is shown.
    @inlinable package static var hidden: JobFlags { JobFlags(rawValue: 1 << 7) }
    /// `sound` is an object (a critical alert), not a word.
    @inlinable package static var soundIsObject: JobFlags { JobFlags(rawValue: 1 << 8) }
    /// `tag` is a number, not a string.
    @inlinable package static var tagIsNumber: JobFlags { JobFlags(rawValue: 1 << 9) }
    /// Every value in `data` is a string.
    @inlinable package static var dataIsAllStrings: JobFlags { JobFlags(rawValue: 1 << 10) }
    /// `push.playNotificationSound` is true.
    @inlinable package static var playSound: JobFlags { JobFlags(rawValue: 1 << 11) }
    /// `to.environment` was written.
    @inlinable package static var environmentGiven: JobFlags { JobFlags(rawValue: 1 << 12) }
}

/// The names that payload profiles write, as far as a job's `data` already holds them.
///
/// A profile leaves out its own field when the sender wrote a data member of that name, so no name appears
/// twice.
package struct DataKeys: OptionSet, BitwiseCopyable, Sendable {
    package let rawValue: UInt32
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Whether all of `flags` are set: `contains` without the generic call.
    @inlinable package func has(_ flags: Self) -> Bool { rawValue & flags.rawValue == flags.rawValue }

    @inlinable package static var source: DataKeys { DataKeys(rawValue: 1 << 0) }
    @inlinable package static var conversationId: DataKeys { DataKeys(rawValue: 1 << 1) }
    @inlinable package static var messageId: DataKeys { DataKeys(rawValue: 1 << 2) }
    @inlinable package static var unread: DataKeys { DataKeys(rawValue: 1 << 3) }
    @inlinable package static var title: DataKeys { DataKeys(rawValue: 1 << 4) }
    @inlinable package static var body: DataKeys { DataKeys(rawValue: 1 << 5) }
    @inlinable package static var image: DataKeys { DataKeys(rawValue: 1 << 6) }
    @inlinable package static var appId: DataKeys { DataKeys(rawValue: 1 << 7) }
    @inlinable package static var notificationId: DataKeys { DataKeys(rawValue: 1 << 8) }
    @inlinable package static var targetURL: DataKeys { DataKeys(rawValue: 1 << 9) }
    @inlinable package static var kind: DataKeys { DataKeys(rawValue: 1 << 10) }
    @inlinable package static var dedupKey: DataKeys { DataKeys(rawValue: 1 << 11) }
    @inlinable package static var url: DataKeys { DataKeys(rawValue: 1 << 12) }
    @inlinable package static var message: DataKeys { DataKeys(rawValue: 1 << 13) }
    @inlinable package static var topic: DataKeys { DataKeys(rawValue: 1 << 14) }
    @inlinable package static var tag: DataKeys { DataKeys(rawValue: 1 << 15) }
    @inlinable package static var senderAvatar: DataKeys { DataKeys(rawValue: 1 << 16) }
    @inlinable package static var avatar: DataKeys { DataKeys(rawValue: 1 << 17) }
    @inlinable package static var channelId: DataKeys { DataKeys(rawValue: 1 << 18) }
    @inlinable package static var fcmOptions: DataKeys { DataKeys(rawValue: 1 << 19) }
    @inlinable package static var concierge: DataKeys { DataKeys(rawValue: 1 << 20) }
    @inlinable package static var subtitle: DataKeys { DataKeys(rawValue: 1 << 21) }
}
