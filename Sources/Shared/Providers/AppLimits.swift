package import Decisions

/// A per-recipient cap of one class of notifications.
package struct CapRule: Sendable, Equatable {
    /// What becomes of a notification above the cap.
    package enum Policy: UInt8, Sendable, CaseIterable {
        case drop, wait, replace
    }

    /// The class that everything belongs to that has no cap of its own.
    package static let standardClass = Array("default".utf8)

    /// The class.
    package let name: [UInt8]
    /// The most notifications in any window.
    package let count: Int64
    package let windowMs: Int64
    package let policy: Policy

    package init(name: [UInt8], count: Int64, windowMs: Int64, policy: Policy) {
        self.name = name
        self.count = count
        self.windowMs = windowMs
        self.policy = policy
    }
}

/// A quota at a provider: the bucket that all pods lease from.
package struct QuotaDefinition: Sendable, Equatable {
    /// The app, or the Firebase project when all its apps share the quota.
    package let owner: String
    package let provider: Provider
    /// Notifications in a thousand seconds.
    package let perThousandSeconds: Int64

    package init(owner: String, provider: Provider, perThousandSeconds: Int64) {
        self.owner = owner
        self.provider = provider
        self.perThousandSeconds = perThousandSeconds
    }
}
