/// Who carries a notification to the device.
package enum Provider: UInt8, CaseIterable, Sendable {
    case apns
    case fcm
    case webPush
    /// Prints instead of sending, for machines without credentials.
    case log

    /// The name in metrics and Redis keys.
    package var name: StaticString {
        switch self {
        case .apns: "apns"
        case .fcm: "fcm"
        case .webPush: "web_push"
        case .log: "log"
        }
    }
}

/// The class of a wait before the next attempt.
package enum BackoffClass: UInt8, CaseIterable, Sendable {
    /// The connection, not the message, was at fault: at once on another one, then from 1 s.
    case connection
    /// The credential must be renewed first; once.
    case refresh
    /// One device takes no more for now.
    case device
    /// The quota of a project, topic or origin is used up; everything under it waits.
    case quota
    /// The server (FCM, Web Push) failed.
    case server
    /// APNs failed: Apple asks for 15 minutes.
    case serverSlow
    /// APNs saw too many provider tokens: 20 minutes without a new one.
    case tokenUpdate

    /// The short name in metrics and documents.
    package var name: StaticString {
        switch self {
        case .connection: "C0"
        case .refresh: "C1"
        case .device: "RD"
        case .quota: "RQ"
        case .server: "RS"
        case .serverSlow: "R15"
        case .tokenUpdate: "RT"
        }
    }
}
