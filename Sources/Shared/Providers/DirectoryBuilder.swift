package import Configuration
internal import Core
internal import Decisions
internal import EventLoop
package import HTTP2
internal import Jobs
internal import Rendering
internal import Security

/// Turns a configuration into apps and routes: reads keys, makes TLS contexts, gives credentials to their
/// keeper.
///
/// Apps that share a credential share its route, and with it the connections and the provider token.
package struct DirectoryBuilder {
    private let settings: Settings
    private let keeper: CredentialKeeper?
    private var routes: [RouteDefinition] = []
    private var quotas: [QuotaDefinition] = []
    /// By FCM route: its project.
    private var projects: [Int: String] = [:]
    private var byName: [String: Int] = [:]
    private var bearers: [String: Bearer] = [:]
    private var contexts: [String: TLSContext] = [:]
    /// What the keeper is to do for each bearer.
    private var works: [ObjectIdentifier: CredentialKeeper.Work] = [:]

    /// With a keeper the credentials come alive; without one the configuration is only checked.
    package init(_ settings: Settings, keeper: CredentialKeeper?) {
        self.settings = settings
        self.keeper = keeper
    }

    /// Builds the directory.
    /// - Throws: the first credential that can't be used, with its file and what to fix.
    package mutating func build() throws(CredentialFailure) -> ProviderDirectory {
        var apps: [AppEntry] = []
        for app in settings.apps { apps.append(try entry(app)) }
        return ProviderDirectory(apps: apps, routes: routes, quotas: quotas)
    }

    /// Gives a bearer that this builder made to its keeper.
    func handOver(_ bearer: Bearer, to keeper: CredentialKeeper) {
        if let work = works[ObjectIdentifier(bearer)] { keeper.add(work) }
    }

    private mutating func keep(_ bearer: Bearer, _ work: CredentialKeeper.Work) {
        works[ObjectIdentifier(bearer)] = work
        keeper?.add(work)
    }

    private mutating func entry(_ app: Settings.App) throws(CredentialFailure) -> AppEntry {
        let providers = settings.providers
        var traits = AppTraits()
        if app.delivery == .real {
            if let credential = app.apnsProduction {
                traits.apnsProduction = Int32(
                    try apns(app, credential, .production, providers.apnsProduction))
            }
            if let credential = app.apnsSandbox {
                traits.apnsSandbox = Int32(try apns(app, credential, .sandbox, providers.apnsSandbox))
            }
            if let credential = app.fcm { traits.fcm = Int32(try fcm(app, credential)) }
        }
        traits.outcomes =
            switch app.outcomes {
            case .all: .all
            case .failures: .failures
            case .off: .off
            }
        traits.unreadDefault = Int32(clamping: app.unreadDefault)
        traits.sendsBadge = app.badge
        traits.usesLog = app.isLogOnly
        addLimits(app, &traits)
        return AppEntry(
            name: app.name, render: app.renderSettings, traits: traits, caps: app.caps.map(CapRule.init))
    }

    // MARK: Limits

    private mutating func addLimits(_ app: Settings.App, _ traits: inout AppTraits) {
        traits.hasCaps = !app.caps.isEmpty
        traits.dedupIDsMs = app.dedupIDsMs
        traits.dedupIDsExpected = app.dedupIDsExpected
        if let rate = app.apnsQuota, traits.apnsProduction >= 0 || traits.apnsSandbox >= 0 {
            traits.apnsQuota = add(
                QuotaDefinition(owner: app.name, provider: .apns, perThousandSeconds: rate))
        }
        guard traits.fcm >= 0 else { return }
        // Without a quota of its own an app shares its project's with the project's other apps.
        let project = projects[Int(traits.fcm)] ?? app.name
        let standard = QuotaDefinition(
            owner: "project/\(project)", provider: .fcm,
            perThousandSeconds: Int64(settings.providers.fcmRate) * 1000)
        traits.fcmQuota = add(
            app.fcmQuota.map {
                QuotaDefinition(owner: app.name, provider: .fcm, perThousandSeconds: $0)
            } ?? standard)
    }

    private mutating func add(_ quota: QuotaDefinition) -> Int32 {
        if let known = quotas.firstIndex(of: quota) { return Int32(known) }
        quotas.append(quota)
        return Int32(quotas.count - 1)
    }

    // MARK: APNs

    private mutating func apns(
        _ app: Settings.App, _ credential: Settings.App.APNsCredential, _ environment: PushEnvironment,
        _ endpoint: Settings.Endpoint
    ) throws(CredentialFailure) -> Int {
        if let path = credential.keyFile {
            let identity = "\(credential.teamID)/\(credential.keyID)"
            let name = "apns/\(environment.word)/\(identity)"
            if let known = byName[name] { return known }
            let key = try APNsKey(path: path, keyID: credential.keyID, teamID: credential.teamID)
            // One token serves both environments when the key does; the keeper mints it once.
            let fingerprint = try Self.digest([identity], files: [path])
            let bearer = bearers[identity] ?? Bearer(name: "apns \(identity)", fingerprint: fingerprint)
            if bearers[identity] == nil {
                bearers[identity] = bearer
                keep(bearer, .apns(bearer, key))
            }
            return try add(name, .apns, environment, endpoint, settings.providers.apnsPool, bearer: bearer)
        }
        guard let file = credential.certificateFile else {
            throw CredentialFailure("app \(app.name) has neither an APNs key nor a certificate")
        }
        let name = "apns/\(environment.word)/certificate/\(app.name)"
        return try add(
            name, .apns, environment, endpoint, settings.providers.apnsPool, certificate: file,
            key: credential.certificateKeyFile)
    }

    // MARK: FCM

    private mutating func fcm(
        _ app: Settings.App, _ credential: Settings.App.FCMCredential
    ) throws(CredentialFailure) -> Int {
        let account = try ServiceAccount(path: credential.serviceAccountFile)
        let project = credential.projectID ?? account.projectID
        guard project.utf8.allSatisfy({ $0.isProjectCharacter }) else {
            throw CredentialFailure("the project id of app \(app.name) has characters that no project id has")
        }
        let name = "fcm/\(project)/\(account.email)"
        if let known = byName[name] { return known }
        let token = settings.providers.fcmTokenEndpoint
        let standard = Settings.Endpoint(host: "oauth2.googleapis.com", path: "/token")
        // A token endpoint of one's own replaces the one in the account's file, which may only name Google's.
        let uri = token == standard ? nil : "https://\(token.authority)\(token.path)"
        let bearer = Bearer(
            name: "fcm \(project)",
            fingerprint: try Self.digest([project, uri ?? ""], files: [credential.serviceAccountFile]))
        keep(bearer, .google(bearer, account, tokenURI: uri))
        let route = try add(
            name, .fcm, .production, settings.providers.fcm, settings.providers.fcmPool, bearer: bearer,
            path: Array("/v1/projects/\(project)/messages:send".utf8))
        projects[route] = project
        return route
    }

    // MARK: Routes

    private mutating func add(
        _ name: String, _ provider: Provider, _ environment: PushEnvironment, _ endpoint: Settings.Endpoint,
        _ pool: Settings.Pool, bearer: Bearer? = nil, certificate: String? = nil, key: String? = nil,
        path: [UInt8] = []
    ) throws(CredentialFailure) -> Int {
        let proxy = try Self.proxy(
            provider == .apns ? settings.providers.apnsProxy : settings.providers.fcmProxy)
        var limits = Self.limits(pool)
        // With token authentication APNs allows one stream until it has seen a good token.
        limits.provesFirst = provider == .apns && bearer != nil
        var definition = RouteDefinition(
            provider: provider, environment: environment, name: name,
            endpoint: HTTP2Endpoint(
                host: endpoint.host, port: UInt16(clamping: endpoint.port), serverName: endpoint.host,
                proxy: proxy),
            tls: try context(endpoint, certificate, key), limits: limits,
            sideLimits: Self.sideLimits(limits, pool), bearer: bearer, path: path,
            requestTimeoutMs: UInt64(clamping: pool.requestTimeoutMs))
        definition.fingerprint = try Self.digest(
            [name, bearer?.fingerprint ?? ""],
            files: [endpoint.caFile, certificate, key].compactMap { $0 })
        if let certificate { definition.certificateExpiryMs = try Self.expiryMs(certificate) }
        routes.append(definition)
        byName[name] = routes.count - 1
        return routes.count - 1
    }

    /// A digest of words and of the contents of files.
    private static func digest(_ words: [String], files: [String]) throws(CredentialFailure) -> String {
        var text = words.joined(separator: "\n")
        for file in files { text += "\n" + Hex.encode(SHA256.hash(text: try read(file))) }
        return Hex.encode(SHA256.hash(text: text))
    }

    private static func read(_ path: String) throws(CredentialFailure) -> String {
        do throws(SystemFailure) {
            return try Files.readText(path: path, maxBytes: 4 << 20)
        } catch {
            throw CredentialFailure("\(error)")
        }
    }

    private static func expiryMs(_ certificate: String) throws(CredentialFailure) -> Int64 {
        do throws(SecurityFailure) {
            return try CertificateFile.expiryS(pem: try Self.readPEM(certificate)) * 1000
        } catch {
            throw CredentialFailure("\(certificate): \(error)")
        }
    }

    private static func readPEM(_ path: String) throws(SecurityFailure) -> String {
        do throws(CredentialFailure) {
            return try read(path)
        } catch {
            throw SecurityFailure(.configuration, error.description)
        }
    }

    private static func limits(_ pool: Settings.Pool) -> PoolLimits {
        var limits = PoolLimits()
        limits.connectionsMin = pool.connectionsMin
        limits.connectionsMax = pool.connectionsMax
        limits.streamsMax = pool.streamsMax
        limits.connectMs = UInt64(clamping: pool.connectTimeoutMs)
        limits.pingIdleMs = UInt64(clamping: pool.pingIntervalMs)
        limits.pingQuietMs = UInt64(clamping: pool.idlePingIntervalMs)
        limits.ageMaxMs = UInt64(clamping: pool.connectionAgeMs)
        limits.requestsMax = pool.pendingMax
        limits.connectBurst = max(16, 2 * pool.connectionsMax)
        limits.replaceBurst = max(8, pool.connectionsMax)
        limits.shrunkMs = 500
        return limits
    }

    /// The proxy with its credentials read from their file.
    /// - Throws: when the file can't be used, with its path.
    package static func proxy(_ proxy: Settings.Proxy?) throws(CredentialFailure) -> HTTP2Proxy? {
        guard let proxy else { return nil }
        do throws(ConfigurationFailure) {
            return HTTP2Proxy(
                host: proxy.host, port: UInt16(clamping: proxy.port), credentials: try proxy.credentials())
        } catch {
            throw CredentialFailure("\(error)")
        }
    }

    /// Few connections, none when there is nothing to do.
    private static func sideLimits(_ limits: PoolLimits, _ pool: Settings.Pool) -> PoolLimits {
        var side = limits
        side.connectionsMin = 0
        side.connectionsMax = pool.sideConnectionsMax
        side.requestsMax = min(pool.pendingMax, 512)
        side.idleCloseMs = 60_000
        return side
    }

    private mutating func context(
        _ endpoint: Settings.Endpoint, _ certificate: String?, _ key: String?
    ) throws(CredentialFailure) -> TLSContext {
        let identity = "\(endpoint.caFile ?? "")|\(endpoint.verify)|\(certificate ?? "")|\(key ?? "")"
        if let known = contexts[identity] { return known }
        do throws(SecurityFailure) {
            let made = try TLSContext.client(
                TLSClientOptions(
                    caFile: endpoint.caFile, verifiesPeer: endpoint.verify, certificateFile: certificate,
                    keyFile: key))
            contexts[identity] = made
            return made
        } catch {
            throw CredentialFailure("\(error)")
        }
    }
}

extension CapRule {
    /// The configured cap.
    fileprivate init(_ cap: Settings.App.Cap) {
        let policy: Policy =
            switch cap.policy {
            case .drop: .drop
            case .defer: .wait
            case .replace: .replace
            }
        self.init(
            name: Array(cap.className.utf8), count: Int64(cap.count), windowMs: cap.perMs, policy: policy)
    }
}

extension UInt8 {
    /// Whether it may stand in a project id: it goes into the request path.
    fileprivate var isProjectCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
