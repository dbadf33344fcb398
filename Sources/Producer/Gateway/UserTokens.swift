package import Configuration
internal import EventLoop
package import Logging
package import Providers
internal import Security

/// The tokens of the apps' users: checks them by the keys that the configuration names.
///
/// A key file that changes is read again within some seconds; one that can't be used leaves the keys before
/// in use, and the log says why.
/// - Threading: any; a look at the files, a few times a minute, runs on the caller's thread.
package final class UserTokens: Sendable {
    /// Between two looks at an app's files, in ms.
    private static let lookMs: UInt64 = 5_000
    private static let fileBytesMax = 256 << 10

    private struct Entry: Sendable {
        var users: Settings.App.Users
        var verifier: TokenVerifier
        var stamps: [FileStamp?]
        var lookedMs: UInt64
        /// What the last look complained of; nil when all was well.
        var fault: String?
    }

    private let entries: Locked<[String: Entry]>
    private let logger: Logger

    /// Reads the keys of every app that has `users`.
    /// - Throws: the first file that can't be used, with what to fix and never with what is in it.
    package init(_ settings: Settings, logger: Logger) throws(CredentialFailure) {
        var found: [String: Entry] = [:]
        for app in settings.apps {
            guard let users = app.users else { continue }
            let stamps = Self.stamps(users)
            found[app.name] = Entry(
                users: users, verifier: try Self.verifier(users), stamps: stamps,
                lookedMs: Clock.monotonicMs)
        }
        entries = Locked(found)
        self.logger = logger
    }

    /// Whether the app has users who show tokens.
    package func isKnown(app: String) -> Bool { entries.withLock { $0[app] != nil } }

    /// Checks a token for an app at `nowMs` (ms since 1970).
    /// - Returns: the recipient that it is about.
    /// - Throws: a 401 that says what is wrong and repeats nothing of the token.
    package func verify(_ token: String, app: String, nowMs: Int64) throws(Problem) -> String {
        look(app)
        guard let verifier = entries.withLock({ $0[app]?.verifier }) else {
            // The same for an app that there isn't: who asks without a key learns no names.
            throw .unauthorized(
                "This app takes no user tokens; apps.<app>.users of the configuration allows them.")
        }
        do throws(TokenRefusal) {
            return try verifier.verify(token, nowMs: nowMs).subject
        } catch {
            throw .unauthorized(error.description)
        }
    }

    /// Looks at every app's files now.
    package func reload() {
        for app in entries.withLock({ Array($0.keys) }) {
            entries.withLock { $0[app]?.lookedMs = 0 }
            look(app)
        }
    }

    // MARK: Files

    private func look(_ app: String) {
        let now = Clock.monotonicMs
        // One thread looks; the others go on with what is known.
        let due = entries.withLock { (entries: inout [String: Entry]) -> Entry? in
            guard let entry = entries[app], entry.lookedMs == 0 || now >= entry.lookedMs &+ Self.lookMs else {
                return nil
            }
            entries[app]?.lookedMs = now
            return entry
        }
        guard let due else { return }
        let stamps = Self.stamps(due.users)
        guard stamps != due.stamps else { return }
        do throws(CredentialFailure) {
            let verifier = try Self.verifier(due.users)
            entries.withLock {
                $0[app]?.verifier = verifier
                $0[app]?.stamps = stamps
                $0[app]?.fault = nil
            }
            logger.notice(
                "users.keys_changed", "The changed keys of user tokens are in force.", ["app": .text(app)])
        } catch {
            // Not the stamps: what was read may have been half written.
            let sentence = error.description
            entries.withLock { $0[app]?.fault = sentence }
            guard due.fault != sentence else { return }
            logger.error(
                "users.keys_unusable",
                "The changed keys of user tokens can't be used, so the ones before stay in use: \(sentence)",
                ["app": .text(app)])
        }
    }

    private static func stamps(_ users: Settings.App.Users) -> [FileStamp?] {
        users.files.map { FileStamp(path: $0) }
    }

    private static func verifier(_ users: Settings.App.Users) throws(CredentialFailure) -> TokenVerifier {
        var rules = TokenRules(audiences: users.audiences, issuer: users.issuer)
        rules.subjectClaim = users.subjectClaim
        return TokenVerifier(keys: try keys(users), rules: rules, acceptsDIDKeys: users.acceptsDIDKeys)
    }

    private static func keys(_ users: Settings.App.Users) throws(CredentialFailure) -> VerificationKeys {
        guard let path = users.files.first else { return VerificationKeys([]) }
        do {
            if users.secretFile != nil {
                return VerificationKeys([
                    try VerificationKey(secret: Array(try SecretFile.readLine(path).utf8))
                ])
            }
            let text = try Files.readText(path: path, maxBytes: fileBytesMax)
            return users.jwksFile != nil
                ? try VerificationKeys(jwks: text) : VerificationKeys([try VerificationKey(publicPEM: text)])
        } catch let failure as SecurityFailure {
            throw CredentialFailure("\(path): \(failure.message)")
        } catch {
            throw CredentialFailure("\(error)")
        }
    }
}
