internal import Configuration
internal import Decisions
internal import Jobs
internal import Registry
internal import Rendering
internal import Security

/// Routes of credentials that were uploaded.
///
/// They are an app's own, even when two apps uploaded the same key: whoever may upload for one app can't
/// reach into another's connections, and each has its own topic.
extension DirectoryBuilder {
    /// Adds the routes of an app's uploaded credentials. One that can't be used is complained of and leaves
    /// its deliveries waiting.
    mutating func addUploads(
        _ credentials: [StoredCredential.Slot: StoredCredential], _ app: Settings.App,
        _ traits: inout AppTraits, _ render: inout RenderSettings
    ) {
        let main = credentials[.apns]
        let sandbox = credentials[.apnsSandbox] ?? main.flatMap { $0.environment == .production ? nil : $0 }
        if let topic = [main, sandbox].compactMap({ $0?.topic }).first(where: { !$0.isEmpty }) {
            render.bundleID = topic
        }
        let topic = render.bundleID
        if let main, main.environment != .sandbox {
            traits.apnsProduction = attempt(app, main) { builder throws(CredentialFailure) in
                try builder.uploadedAPNs(app, main, .production, topic)
            }
        }
        if let sandbox {
            traits.apnsSandbox = attempt(app, sandbox) { builder throws(CredentialFailure) in
                try builder.uploadedAPNs(app, sandbox, .sandbox, topic)
            }
        }
        if let account = credentials[.fcm] {
            traits.fcm = attempt(app, account) { builder throws(CredentialFailure) in
                try builder.uploadedFCM(app, account)
            }
        }
    }

    private mutating func attempt(
        _ app: Settings.App, _ credential: StoredCredential,
        _ make: (inout DirectoryBuilder) throws(CredentialFailure) -> Int
    ) -> Int32 {
        do throws(CredentialFailure) {
            return Int32(try make(&self))
        } catch {
            complaints.append(
                "the uploaded credential \(app.name)/\(credential.slot.rawValue) can't be used: \(error)")
            return -1
        }
    }

    private mutating func uploadedAPNs(
        _ app: Settings.App, _ credential: StoredCredential, _ environment: PushEnvironment, _ topic: String
    ) throws(CredentialFailure) -> Int {
        guard !topic.isEmpty else {
            throw CredentialFailure(
                "it has no topic; upload it with one, or write apps.\(app.name).apns.topic")
        }
        let providers = settings.providers
        let endpoint = environment == .sandbox ? providers.apnsSandbox : providers.apnsProduction
        if credential.form == .certificate {
            let identity = ClientIdentity(
                certificatePEM: credential.certificate, keyPEM: credential.secret)
            let route = try add(
                "apns/\(environment.word)/certificate/\(app.name)/uploaded", .apns, environment, endpoint,
                providers.apnsPool, identity: identity, words: [topic, credential.fingerprint])
            expires(route, credential.expiryMs)
            return route
        }
        let name = "\(credential.teamID)/\(credential.keyID)"
        let key = try APNsKey(
            pem: credential.secret, source: "the uploaded key", keyID: credential.keyID,
            teamID: credential.teamID)
        let bearer = bearer(key, pem: credential.secret, name: "apns \(name) of \(app.name)")
        return try add(
            "apns/\(environment.word)/\(name)/\(app.name)/uploaded", .apns, environment, endpoint,
            providers.apnsPool, bearer: bearer, words: [topic])
    }

    private mutating func uploadedFCM(
        _ app: Settings.App, _ credential: StoredCredential
    ) throws(CredentialFailure) -> Int {
        let account = try ServiceAccount(json: credential.secret, source: "the uploaded service account")
        let token = settings.providers.fcmTokenEndpoint
        // Always the configured endpoint: an uploaded file must not choose where this process connects to.
        return try addFCM(
            account, json: credential.secret, project: credential.project,
            name: "fcm/\(credential.project)/\(account.email)/\(app.name)/uploaded",
            tokenURI: "https://\(token.authority)\(token.path)")
    }
}
