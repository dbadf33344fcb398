/// Which of the two services a request went to.
package enum Provider: UInt8, Sendable, CaseIterable {
    case apns
    case fcm

    /// The word used in the record, the fault script and metrics.
    package var name: String { self == .apns ? "apns" : "fcm" }
}

/// Which of APNs' two worlds a listener stands for; FCM has only one.
package enum PushEnvironment: UInt8, Sendable, CaseIterable {
    case production
    case sandbox

    /// The word used in the record and the fault script.
    package var name: String { self == .production ? "production" : "sandbox" }
}
