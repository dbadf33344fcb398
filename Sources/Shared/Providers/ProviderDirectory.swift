package import Decisions
package import Jobs
package import Rendering

/// Which outcome events an app publishes.
package enum OutcomeLevel: Sendable {
    case all
    case failures
    case off
}

/// One app as a worker sees it: how its payloads look and by which routes they go.
package struct AppEntry: Sendable {
    package let name: String
    package let render: RenderSettings
    package let outcomes: OutcomeLevel
    /// What a notification with text but without `unread` adds to the recipient's counter.
    package let unreadDefault: Int32
    /// Whether the counter goes out as a badge.
    package let sendsBadge: Bool
    /// Indices into ``ProviderDirectory/routes``; nil where the app has no credential.
    package let apnsProduction: Int?
    package let apnsSandbox: Int?
    package let fcm: Int?
    /// Whether devices without a route are printed instead of sent.
    package let usesLog: Bool

    package init(
        name: String, render: RenderSettings, outcomes: OutcomeLevel, unreadDefault: Int32, sendsBadge: Bool,
        apnsProduction: Int?, apnsSandbox: Int?,
        fcm: Int?, usesLog: Bool
    ) {
        self.name = name
        self.render = render
        self.outcomes = outcomes
        self.unreadDefault = unreadDefault
        self.sendsBadge = sendsBadge
        self.apnsProduction = apnsProduction
        self.apnsSandbox = apnsSandbox
        self.fcm = fcm
        self.usesLog = usesLog
    }

    /// The way to a device.
    package func destination(platform: Platform, environment: PushEnvironment, isFCMToken: Bool)
        -> Destination
    {
        let route: Int?
        let provider: Provider
        if platform == .ios, !isFCMToken {
            provider = .apns
            route = environment == .sandbox ? apnsSandbox : apnsProduction
        } else {
            provider = .fcm
            route = fcm
        }
        if let route { return .route(route, provider) }
        return usesLog ? .log(provider) : .none(provider)
    }
}

/// Where a delivery goes.
package enum Destination: Equatable, Sendable {
    case route(Int, Provider)
    /// Printed, not sent.
    case log(Provider)
    /// The app has no credential for this provider.
    case none(Provider)
}

/// Every app and every route of a process. Immutable; a reload makes a new one.
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
