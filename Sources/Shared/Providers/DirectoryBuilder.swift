package import Configuration
internal import Core
internal import Decisions
internal import EventLoop
package import HTTP2
internal import Jobs
internal import Registry
internal import Rendering
internal import Security

/// Turns a configuration into apps and routes: reads keys, makes TLS contexts, gives credentials to their
/// keeper.
///
/// Apps that share a credential share its route, and with it the connections and the provider token.
package struct DirectoryBuilder {
    let settings: Settings
    private let keeper: CredentialKeeper?
    /// By app: what was uploaded for it.
    private let uploads: [String: AppUploads]
    /// Why uploaded credentials aren't used; they hold up nothing but their own app.
    package internal(set) var complaints: [String] = []
    private var routes: [RouteDefinition] = []
    private var quotas: [QuotaDefinition] = []
    /// By FCM route: its project.
    private var projects: [Int: String] = [:]
    private var byName: [String: Int] = [:]
    /// By fingerprint.
    private var bearers: [String: Bearer] = [:]
    private var contexts: [String: TLSContext] = [:]
    /// What the keeper is to do for each bearer.
    private var works: [ObjectIdentifier: CredentialKeeper.Work] = [:]

    /// With a keeper the credentials come alive; without one the configuration is only checked.
    package init(
        _ settings: Settings, keeper: CredentialKeeper?, uploads: [String: AppUploads] = [:]
    ) {
        self.settings = settings
        self.keeper = keeper
        self.uploads = uploads
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
        var render = app.renderSettings
        traits.usesLog = app.isLogOnly
        if settings.takesUploads(app) {
            let uploads = self.uploads[app.name] ?? .unknown
            // While nobody knows whether there is a credential, printing would lose pushes: they wait.
            traits.usesLog = app.isLogOnly && uploads.isSurelyNone
            addUploads(uploads.credentials, app, &traits, &render)
        } else if app.delivery == .real {
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
        traits.unreadByThread = app.unreadByThread
        traits.sendsBadge = app.badge
        addLimits(app, &traits)
        return AppEntry(
            name: app.name, render: render, traits: traits, caps: app.caps.map(CapRule.init))
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
            let pem = try Self.read(path)
            let key = try APNsKey(
                pem: pem, source: path, keyID: credential.keyID, teamID: credential.teamID)
            let bearer = bearer(key, pem: pem, name: "apns \(identity)")
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

    /// The provider token of a key. One token serves both environments, and every app that has the same key,
    /// so that the keeper mints it once.
    mutating func bearer(_ key: APNsKey, pem: String, name: String) -> Bearer {
        let fingerprint = Self.digest(["\(key.teamID)/\(key.keyID)"], contents: [pem])
        if let known = bearers[fingerprint] { return known }
        let bearer = Bearer(name: name, fingerprint: fingerprint)
        bearers[fingerprint] = bearer
        keep(bearer, .apns(bearer, key))
        return bearer
    }

    // MARK: FCM

    private mutating func fcm(
        _ app: Settings.App, _ credential: Settings.App.FCMCredential
    ) throws(CredentialFailure) -> Int {
        let file = credential.serviceAccountFile
        let json = try Self.read(file)
        let account = try ServiceAccount(json: json, source: file)
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
        return try addFCM(account, json: json, project: project, name: name, tokenURI: uri)
    }

    /// Adds the route of a service account.
    mutating func addFCM(
        _ account: ServiceAccount, json: String, project: String, name: String, tokenURI: String?
    ) throws(CredentialFailure) -> Int {
        let bearer = Bearer(
            name: "fcm \(project)",
            fingerprint: Self.digest([project, tokenURI ?? ""], contents: [json]))
        keep(bearer, .google(bearer, account, tokenURI: tokenURI))
        let route = try add(
            name, .fcm, .production, settings.providers.fcm, settings.providers.fcmPool, bearer: bearer,
            path: Array("/v1/projects/\(project)/messages:send".utf8))
        projects[route] = project
        return route
    }

    // MARK: Routes

    /// `certificate` and `key` are files, `identity` the same as text; `words` make the route another one
    /// when they change.
    mutating func add(
        _ name: String, _ provider: Provider, _ environment: PushEnvironment, _ endpoint: Settings.Endpoint,
        _ pool: Settings.Pool, bearer: Bearer? = nil, certificate: String? = nil, key: String? = nil,
        identity: ClientIdentity? = nil, words: [String] = [], path: [UInt8] = []
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
            tls: try context(endpoint, certificate, key, identity), limits: limits,
            sideLimits: Self.sideLimits(limits, pool), bearer: bearer, path: path,
            requestTimeoutMs: UInt64(clamping: pool.requestTimeoutMs))
        definition.fingerprint = try Self.digest(
            [name, bearer?.fingerprint ?? ""] + words,
            files: [endpoint.caFile, certificate, key].compactMap { $0 })
        if let certificate { definition.certificateExpiryMs = try Self.expiryMs(certificate) }
        routes.append(definition)
        byName[name] = routes.count - 1
        return routes.count - 1
    }

    /// Notes when a route's certificate expires.
    mutating func expires(_ route: Int, _ expiryMs: Int64?) { routes[route].certificateExpiryMs = expiryMs }

    /// A digest of words and of the contents of files.
    private static func digest(_ words: [String], files: [String]) throws(CredentialFailure) -> String {
        var contents: [String] = []
        for file in files { contents.append(try read(file)) }
        return digest(words, contents: contents)
    }

    private static func digest(_ words: [String], contents: [String]) -> String {
        var text = words.joined(separator: "\n")
        for content in contents { text += "\n" + Hex.encode(SHA256.hash(text: content)) }
        return Hex.encode(SHA256.hash(text: text))
    }

    static func read(_ path: String) throws(CredentialFailure) -> String {
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
        _ endpoint: Settings.Endpoint, _ certificate: String?, _ key: String?, _ own: ClientIdentity?
    ) throws(CredentialFailure) -> TLSContext {
        let digest = own.map { Self.digest([], contents: [$0.certificatePEM, $0.keyPEM]) } ?? ""
        let identity =
            "\(endpoint.caFile ?? "")|\(endpoint.verify)|\(certificate ?? "")|\(key ?? "")|\(digest)"
        if let known = contexts[identity] { return known }
        do throws(SecurityFailure) {
            let made = try TLSContext.client(
                TLSClientOptions(
                    caFile: endpoint.caFile, verifiesPeer: endpoint.verify, certificateFile: certificate,
                    keyFile: key, identity: own))
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
    var isProjectCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
