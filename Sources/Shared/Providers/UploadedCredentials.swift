package import Configuration
internal import EventLoop
package import Logging
package import Redis
package import Registry
package import Security

/// What is known of one app's uploaded credentials.
package enum AppUploads: Sendable {
    /// Redis has not been read yet: nobody knows whether there are any.
    case unknown
    /// `isWhole` unless something is stored that can't be opened.
    case known([StoredCredential.Slot: StoredCredential], isWhole: Bool)

    /// Those that can be used.
    var credentials: [StoredCredential.Slot: StoredCredential] {
        if case .known(let credentials, _) = self { credentials } else { [:] }
    }

    /// Whether the app certainly has none.
    var isSurelyNone: Bool {
        if case .known(let credentials, let isWhole) = self { credentials.isEmpty && isWhole } else { false }
    }
}

/// Follows the credentials that are uploaded for apps.
///
/// The last known state holds while Redis is away or has lost it: a removal always leaves the version behind,
/// so a hash that is gone altogether is a loss of data and not a wish.
/// - Threading: one thread at a time. ``poll()`` waits for Redis, a second at most.
package final class UploadedCredentials {
    /// Between two polls, in ms.
    package static let everyMs = 2_000
    private static let timeoutMs: UInt64 = 1_000

    private var apps: [String] = []
    private let session: RedisSession?
    private let logger: Logger
    private var ring: SealingRing?
    private var store: CredentialStore?
    private var versions: [String: Int64] = [:]
    private var isAway = false
    /// By app.
    package private(set) var known: [String: AppUploads] = [:]
    /// By app: why something that is stored isn't used.
    private var faults: [String: String] = [:]
    private var ringFault: String?

    /// Follows every app of the settings that takes uploads; nil without a master key.
    package init?(_ settings: Settings, redis: RedisClientOptions, logger: Logger) {
        guard settings.credentials.masterKeyFile != nil else { return nil }
        var options = redis
        options.timeoutMs = min(options.timeoutMs, Self.timeoutMs)
        options.connectTimeoutMs = min(options.connectTimeoutMs, Self.timeoutMs)
        options.backoffLastMs = 200
        options.clientName = "peal-uploads"
        options.scripts = []
        session = try? RedisSession(options: options)
        self.logger = logger
        adopt(settings)
    }

    deinit { session?.close() }

    /// What is wrong with what is stored, for the log and `readyz`.
    package var complaints: [String] {
        (ringFault.map { [$0] } ?? []) + faults.keys.sorted().compactMap { faults[$0] }
    }

    /// Follows the apps of these settings from now on and reads the master keys again; when those can't be
    /// used, the ones before stay.
    /// - Returns: whether ``poll()`` has something new to read.
    @discardableResult
    package func adopt(_ settings: Settings) -> Bool {
        let before = apps
        apps = settings.apps.filter { settings.takesUploads($0) }.map(\.name)
        for app in before where !apps.contains(app) {
            known[app] = nil
            versions[app] = nil
            faults[app] = nil
        }
        for app in apps where known[app] == nil { known[app] = .unknown }
        return adopt(settings.credentials) || apps != before
    }

    private func adopt(_ settings: Settings.Credentials) -> Bool {
        do {
            let fresh = try settings.ring()
            let isChange = fresh?.ids != ring?.ids
            ringFault = nil
            guard isChange, let fresh, let session else { return false }
            ring = fresh
            store = CredentialStore(session: session, ring: fresh)
            // What couldn't be opened may be now.
            versions.removeAll()
            return true
        } catch {
            let sentence = "the master key of the uploaded credentials can't be used: \(error)"
            if ringFault != sentence { logger.error("uploads.no_master_key", "\(sentence)") }
            ringFault = sentence
            return false
        }
    }

    /// Reads what has changed since the last call; whether anything has.
    package func poll() -> Bool {
        guard let store, !apps.isEmpty else { return false }
        var isChange = false
        do throws(RedisFailure) {
            let now = try store.versions(apps: apps)
            for (app, version) in zip(apps, now) {
                if try follow(app, version, store) { isChange = true }
            }
            if isAway { logger.notice("uploads.back", "The uploaded credentials can be read again.") }
            isAway = false
        } catch {
            // Redis's own trouble is told by those who need it for every job; once is enough here.
            if !isAway {
                logger.warning(
                    "uploads.away",
                    "The uploaded credentials can't be read from Redis; those that are known stay in use: "
                        + error.message)
            }
            isAway = true
        }
        return isChange
    }

    private func follow(
        _ app: String, _ version: Int64?, _ store: CredentialStore
    ) throws(RedisFailure) -> Bool {
        guard let version else {
            if case .known(let credentials, _) = known[app], !credentials.isEmpty {
                note(
                    "Redis has lost the uploaded credentials of app \(app); those that are known stay in use "
                        + "until this process ends. Upload them again.", of: app)
                return false
            }
            guard case .unknown = known[app] else { return false }
            known[app] = .known([:], isWhole: true)
            return true
        }
        guard versions[app] != version else { return false }
        let found = try store.read(app: app)
        var credentials = found.credentials
        for (slot, reason) in found.unreadable {
            credentials[slot] = known[app]?.credentials[slot]
            note("the uploaded credential \(app)/\(slot.rawValue) can't be used: \(reason)", of: app)
        }
        if found.unreadable.isEmpty { faults[app] = nil }
        versions[app] = found.version ?? version
        known[app] = .known(credentials, isWhole: found.unreadable.isEmpty)
        return true
    }

    private func note(_ sentence: String, of app: String) {
        guard faults[app] != sentence else { return }
        faults[app] = sentence
        logger.error("uploads.unusable", "\(sentence)", ["app": .text(app)])
    }
}

extension Settings.Credentials {
    /// The master keys out of their files; nil when none is configured.
    /// - Throws: which file can't be used and why, never what is in it.
    package func ring() throws(CredentialFailure) -> SealingRing? {
        guard let masterKeyFile else { return nil }
        var current = ""
        var former: [String] = []
        var file = masterKeyFile
        do {
            current = try SecretFile.readLine(file)
            _ = try SealingRing(current: current)
            for next in formerKeyFiles {
                file = next
                former.append(try SecretFile.readLine(file))
                _ = try SealingRing(current: former[former.count - 1])
            }
            return try SealingRing(current: current, former: former)
        } catch let failure as SecurityFailure {
            throw CredentialFailure("\(file): \(failure.message)")
        } catch {
            throw CredentialFailure("\(error)")
        }
    }
}
