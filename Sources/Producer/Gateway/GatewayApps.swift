package import Configuration
internal import Redis
internal import Registry

/// The configured apps, as handlers look them up.
package struct GatewayApps: Sendable {
    private let apps: [String: Settings.App]
    private let names: AppNames
    private let registry: Settings.Registry
    /// The time zones that devices and preferences may name.
    let zones: ZoneNames

    /// Takes the apps of a configuration.
    package init(_ settings: Settings) {
        registry = settings.registry
        zones = ZoneNames(folder: settings.registry.zoneFolder)
        names = AppNames(settings.apps.map(\.name))
        apps = Dictionary(settings.apps.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The app of this name.
    /// - Throws: 404 when there is none.
    package func app(_ name: String) throws(Problem) -> Settings.App {
        guard let app = apps[name] else {
            throw .notFound(names.fault(name))
        }
        return app
    }

    /// The app of this name, when it has the contract.
    /// - Throws: 404 when there is none, also when it has another contract: then it hasn't this path.
    package func app(_ name: String, with contract: Settings.App.Contract) throws(Problem) -> Settings.App {
        let app = try app(name)
        guard app.contract == contract else {
            throw .notFound(
                "The app doesn't have this contract; its setting is contract: \(contract.rawValue).")
        }
        return app
    }

    /// The apps with a contract, by name.
    package func with(_ contract: Settings.App.Contract) -> [Settings.App] {
        apps.values.filter { $0.contract == contract }.sorted { $0.name < $1.name }
    }

    /// The registry of an app, by the rules of the configuration.
    func directory(_ app: String, _ session: RedisSession) -> DeviceDirectory {
        DeviceDirectory(
            session: session, app: app, devicesMax: registry.devicesMax,
            staleAfterMs: registry.staleAfterMs)
    }
}
