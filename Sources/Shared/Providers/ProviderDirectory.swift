package import Decisions
package import Jobs
package import Rendering

/// Which outcome events an app publishes.
package enum OutcomeLevel: UInt8, BitwiseCopyable, Sendable {
    case all
    case failures
    case off
}

/// What the path of a job needs of its app: plain data, so that reading it costs no reference count.
package struct AppTraits: BitwiseCopyable, Sendable {
    package var outcomes: OutcomeLevel = .all
    /// What a notification with text but without `unread` adds to the recipient's counter.
    package var unreadDefault: Int32 = 0
    /// Whether the counter is also kept by thread.
    package var unreadByThread = false
    /// Whether the counter goes out as a badge.
    package var sendsBadge = true
    /// Whether devices without a route are printed instead of sent.
    package var usesLog = false
    /// Indices into ``ProviderDirectory/routes``; -1 where the app has no credential.
    package var apnsProduction: Int32 = -1
    package var apnsSandbox: Int32 = -1
    package var fcm: Int32 = -1
    /// Whether the app has caps.
    package var hasCaps = false
    /// How long a second job of one id is dropped, in ms, and how many are expected in that time; 0 for
    /// never.
    package var dedupIDsMs: Int64 = 0
    package var dedupIDsExpected: Int64 = 0
    /// Indices into ``ProviderDirectory/quotas``; -1 for no bound.
    package var apnsQuota: Int32 = -1
    package var fcmQuota: Int32 = -1

    package init() {}

    /// The way to a device.
    package func destination(platform: Platform, environment: PushEnvironment) -> Destination {
        let route: Int32
        let provider: Provider
        if platform == .ios {
            provider = .apns
            route = environment == .sandbox ? apnsSandbox : apnsProduction
        } else {
            provider = .fcm
            route = fcm
        }
        if route >= 0 { return .route(route, provider) }
        return usesLog ? .log(provider) : .none(provider)
    }
}

/// One app as a worker sees it: how its payloads look and by which routes they go.
package struct AppEntry: Sendable {
    package let name: String
    package let render: RenderSettings
    package let traits: AppTraits
    package let caps: [CapRule]

    package init(name: String, render: RenderSettings, traits: AppTraits, caps: [CapRule] = []) {
        self.name = name
        self.render = render
        self.traits = traits
        self.caps = caps
    }
}

/// Where a delivery goes.
package enum Destination: Equatable, Sendable {
    case route(Int32, Provider)
    /// Printed, not sent.
    case log(Provider)
    /// The app has no credential for this provider.
    case none(Provider)

    /// Who would carry it.
    package var provider: Provider {
        switch self {
        case .route(_, let provider), .log(let provider), .none(let provider): provider
        }
    }
}

/// Every app and every route of a process. Immutable.
package struct ProviderDirectory: Sendable {
    package let apps: [AppEntry]
    package let routes: [RouteDefinition]
    package let quotas: [QuotaDefinition]
    private let indices: [String: Int]

    package init(apps: [AppEntry], routes: [RouteDefinition], quotas: [QuotaDefinition] = []) {
        self.apps = apps
        self.routes = routes
        self.quotas = quotas
        indices = Dictionary(apps.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The app's index; nil when it isn't configured.
    package func index(of name: String) -> Int? { indices[name] }
}
