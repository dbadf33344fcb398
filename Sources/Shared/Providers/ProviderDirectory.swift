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
    /// Whether the counter goes out as a badge.
    package var sendsBadge = true
    /// Whether devices without a route are printed instead of sent.
    package var usesLog = false
    /// Indices into ``ProviderDirectory/routes``; -1 where the app has no credential.
    package var apnsProduction: Int32 = -1
    package var apnsSandbox: Int32 = -1
    package var fcm: Int32 = -1

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

    package init(name: String, render: RenderSettings, traits: AppTraits) {
        self.name = name
        self.render = render
        self.traits = traits
    }
}

/// Where a delivery goes.
package enum Destination: Equatable, Sendable {
    case route(Int32, Provider)
    /// Printed, not sent.
    case log(Provider)
    /// The app has no credential for this provider.
    case none(Provider)
}

/// Every app and every route of a process. Immutable.
package struct ProviderDirectory: Sendable {
    package let apps: [AppEntry]
    package let routes: [RouteDefinition]
    private let indices: [String: Int]

    package init(apps: [AppEntry], routes: [RouteDefinition]) {
        self.apps = apps
        self.routes = routes
        indices = Dictionary(apps.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The app's index; nil when it isn't configured.
    package func index(of name: String) -> Int? { indices[name] }
}
