internal import Core
package import Redis
package import Security

/// What workers read of one app's uploaded credentials.
package struct AppCredentials: Sendable {
    /// Grows with every change; nil when nothing was ever uploaded for the app, or Redis lost it.
    package var version: Int64?
    package var credentials: [StoredCredential.Slot: StoredCredential] = [:]
    /// Those that are stored and can't be opened, with the reason.
    package var unreadable: [StoredCredential.Slot: String] = [:]

    /// Nothing.
    package init() {}
}

/// The provider credentials that were uploaded for apps: `peal:keys:{app}`, sealed at rest.
///
/// A hash with a field for each kind, and `version`, which grows with every change and stays when the last
/// kind is removed. A value is a JSON object: what may be shown, and under `sealed` everything, by
/// AES-256-GCM under the master key, with the app and the kind as additional data. So nobody who reads Redis
/// can send with it, and a value that is moved to another app or kind doesn't open there.
///
/// - Threading: one thread; every call waits for Redis, at most the session's deadline.
package struct CredentialStore {
    private let session: RedisSession
    private let ring: SealingRing

    /// Works on a session that was made with ``scripts`` (``RegistryScripts/all`` has them).
    package init(session: RedisSession, ring: SealingRing) {
        self.session = session
        self.ring = ring
    }

    /// What the session must know.
    package static let scripts = [changeScript]

    /// Stores a credential in place of the one of its kind.
    /// - Returns: what the admin API shows of it.
    /// - Throws: a `RedisFailure`, or a `SecurityFailure` when it can't be sealed; then nothing has changed.
    package func put(
        _ credential: StoredCredential, app: String, by name: String, nowMs: Int64
    ) throws -> CredentialMetadata {
        let metadata = CredentialMetadata(
            credential, uploadedMs: nowMs, uploadedBy: name, masterKeyID: ring.currentID)
        let value = metadata.value(sealed: try seal(credential, app))
        _ = try change(app, credential.slot, value: value, expected: "")
        return metadata
    }

    /// Removes a credential.
    /// - Returns: whether there was one.
    package func remove(_ slot: StoredCredential.Slot, app: String) throws(RedisFailure) -> Bool {
        try change(app, slot, value: "", expected: "")
    }

    /// What may be shown of an app's credentials, by kind.
    package func list(app: String) throws(RedisFailure) -> [CredentialMetadata] {
        let found = try values(app).compactMap { CredentialMetadata(stored: $0.value) }
        return found.sorted { $0.slot.rawValue < $1.slot.rawValue }
    }

    /// The version of each app's credentials, in the same order; nil for an app that has none.
    package func versions(apps: [String]) throws(RedisFailure) -> [Int64?] {
        let replies = try session.pipeline(apps.map { ["HGET", RegistryKeys.uploads(app: $0), "version"] })
        return try replies.map { reply throws(RedisFailure) in
            if case .error(let failure) = reply { throw failure }
            return reply.integer
        }
    }

    /// Reads and opens an app's credentials.
    package func read(app: String) throws(RedisFailure) -> AppCredentials {
        var found = AppCredentials()
        for (field, value) in try session.command("HGETALL", RegistryKeys.uploads(app: app)).pairs {
            if field == "version" { found.version = value.integer }
            guard let slot = StoredCredential.Slot(rawValue: field) else { continue }
            switch open(value.text ?? "", app, slot) {
            case .success(let credential): found.credentials[slot] = credential
            case .failure(let fault): found.unreadable[slot] = fault.sentence
            }
        }
        return found
    }

    /// Seals with the current master key what a former one sealed, so that the former key can go.
    /// - Returns: how many were sealed anew, and which can't be opened, with the reason.
    /// - Throws: a `RedisFailure`, or a `SecurityFailure` when one can't be sealed.
    package func reseal(app: String) throws -> (count: Int, unreadable: [String]) {
        var count = 0
        var unreadable: [String] = []
        for (field, value) in try session.command("HGETALL", RegistryKeys.uploads(app: app)).pairs {
            guard let slot = StoredCredential.Slot(rawValue: field), let text = value.text else { continue }
            switch open(text, app, slot) {
            case .failure(let fault): unreadable.append("\(app)/\(slot.rawValue): \(fault.sentence)")
            case .success(let credential):
                guard let old = (try? JSONValue.parse(text: text)).flatMap(CredentialMetadata.init(stored:)),
                    old.masterKeyID != ring.currentID
                else { continue }
                let metadata = CredentialMetadata(
                    credential, uploadedMs: old.uploadedMs, uploadedBy: old.uploadedBy,
                    masterKeyID: ring.currentID)
                let fresh = metadata.value(sealed: try seal(credential, app))
                // Not if somebody has replaced it meanwhile: what is newer is sealed with the current key.
                if try change(app, slot, value: fresh, expected: text) { count += 1 }
            }
        }
        return (count, unreadable)
    }

    // MARK: Values

    private struct Fault: Error { let sentence: String }

    private func values(_ app: String) throws(RedisFailure) -> [(slot: String, value: JSONValue)] {
        try session.command("HGETALL", RegistryKeys.uploads(app: app)).pairs.compactMap { field, value in
            guard let parsed = try? JSONValue.parse(text: value.text ?? ""), case .object = parsed else {
                return nil
            }
            return (field, parsed)
        }
    }

    private func seal(_ credential: StoredCredential, _ app: String) throws(SecurityFailure) -> [UInt8] {
        var plain = credential.plain
        defer { SecureRandom.wipe(&plain) }
        return try ring.seal(plain, context: Self.context(app, credential.slot))
    }

    private func open(
        _ text: String, _ app: String, _ slot: StoredCredential.Slot
    ) -> Result<StoredCredential, Fault> {
        guard let value = try? JSONValue.parse(text: text), let keyID = value["master_key"]?.string,
            let sealed = (value["sealed"]?.string).flatMap({ Base64.decode($0.utf8) })
        else { return .failure(Fault(sentence: "the stored value is damaged; upload the credential again")) }
        guard ring.ids.contains(keyID) else {
            return .failure(
                Fault(
                    sentence: "it is sealed with the master key \(keyID.prefix(8)), but the keys here are "
                        + "\(ring.ids.joined(separator: ", ")); add the file to credentials.former_key_files")
            )
        }
        guard var plain = ring.open(sealed, keyID: keyID, context: Self.context(app, slot)) else {
            return .failure(
                Fault(sentence: "it was changed, or moved from another app; upload the credential again"))
        }
        defer { SecureRandom.wipe(&plain) }
        guard let credential = StoredCredential(plain: plain), credential.slot == slot else {
            return .failure(Fault(sentence: "it is of an unknown form; upload the credential again"))
        }
        return .success(credential)
    }

    private static func context(_ app: String, _ slot: StoredCredential.Slot) -> [UInt8] {
        Array("\(RegistryKeys.uploads(app: app)) \(slot.rawValue)".utf8)
    }

    private func change(
        _ app: String, _ slot: StoredCredential.Slot, value: String, expected: String
    ) throws(RedisFailure) -> Bool {
        let reply = try session.run { out in
            out.begin(Self.changeScript, keys: 1, arguments: 3)
            out.argument(text: RegistryKeys.uploads(app: app))
            out.argument(text: slot.rawValue)
            out.argument(text: value)
            out.argument(text: expected)
        }
        guard let version = reply.integer else {
            throw RedisFailure(.protocolBroken, "the change was answered with something else")
        }
        return version > 0
    }

    /// Changes one kind and raises the version, in one step. The version is at least the server's time in ms,
    /// so that one that begins anew after a loss of data is no number that was there before.
    ///
    /// - Keys: uploads. Arguments: the kind, its value ('' to remove it), the value that must be there (''
    ///   for any). Returns: the new version; 0 when nothing was changed.
    static let changeScript = RedisScript(
        name: "change_uploads",
        source: """
            if ARGV[3]~='' and redis.call('HGET',KEYS[1],ARGV[1])~=ARGV[3] then return 0 end
            if ARGV[2]=='' then
             if redis.call('HDEL',KEYS[1],ARGV[1])==0 then return 0 end
            else redis.call('HSET',KEYS[1],ARGV[1],ARGV[2]) end
            local t=redis.call('TIME')
            local now=t[1]*1000+math.floor(t[2]/1000)
            local last=tonumber(redis.call('HGET',KEYS[1],'version')) or 0
            local version=string.format('%.0f',math.max(last+1,now))
            redis.call('HSET',KEYS[1],'version',version)
            return tonumber(version)
            """)
}
