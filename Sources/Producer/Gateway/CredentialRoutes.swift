package import Configuration
internal import Core
internal import HTTPServer
package import Logging
internal import Providers
internal import Redis
internal import Registry
package import Security

/// The routes by which an app's provider credentials are uploaded, listed and removed.
///
/// What is uploaded is sealed before it is stored, and nothing here reads a secret back.
package enum CredentialRoutes {
    /// The routes. `ring` holds the master keys; without one, uploads are refused with what to configure.
    package static func routes(
        _ settings: Settings, ring: SealingRing?, logger: Logger
    ) -> [GatewayRoute] {
        let desk = UploadDesk(settings: settings, ring: ring, logger: logger)
        let path = "/v1/apps/{app}/credentials"
        return [
            GatewayRoute("GET", path, "listCredentials", .key(.admin), .registry { try desk.list($0, $1) }),
            GatewayRoute(
                "PUT", path + "/{kind}", "putCredential", .key(.admin), .registry { try desk.put($0, $1) }),
            GatewayRoute(
                "DELETE", path + "/{kind}", "deleteCredential", .key(.admin),
                .registry { try desk.remove($0, $1) }),
        ]
    }
}

/// What the routes' handlers share.
private struct UploadDesk: Sendable {
    let settings: Settings
    let ring: SealingRing?
    let logger: Logger

    func put(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let slot = try slot(call)
        let app = try app(call)
        let store = try store(session)
        guard app.delivery == .real else {
            throw Problem.conflict(
                "The configuration says that this app's pushes are printed (provider: log); a credential "
                    + "would not be used. Take that line out first.")
        }
        guard !app.hasCredentialFiles else {
            throw Problem.conflict(
                "The configuration names credential files for this app, and they win. Take them out of the "
                    + "configuration first, then upload.")
        }
        let credential: StoredCredential
        do throws(UploadRefusal) {
            credential = try CredentialUpload.read(
                call.request.body, slot: slot, topic: app.topic, nowMs: call.nowMs)
        } catch {
            throw Problem.badRequest(error.sentence, field: error.field)
        }
        try checkTopic(credential, try store.list(app: app.name))
        let metadata = try store.put(credential, app: app.name, by: Self.name(call), nowMs: call.nowMs)
        logger.notice(
            "credentials.uploaded", "A provider credential was uploaded.",
            ["app": .text(app.name), "kind": .text(slot.rawValue), "by": .text(Self.name(call))])
        return Self.answer(metadata.json)
    }

    func list(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let app = try app(call)
        let list = try store(session).list(app: app.name).map(\.json)
        return Self.answer(
            .object([
                .init(name: "app", value: .string(app.name)),
                .init(name: "source", value: .string(source(app))),
                .init(name: "credentials", value: .array(list)),
            ]))
    }

    func remove(_ call: GatewayCall, _ session: RedisSession) throws -> Reply {
        let slot = try slot(call)
        let app = try app(call)
        guard try store(session).remove(slot, app: app.name) else {
            throw Problem.notFound("No credential of the kind \(slot.rawValue) is stored for this app.")
        }
        logger.notice(
            "credentials.removed", "An uploaded provider credential was removed.",
            ["app": .text(app.name), "kind": .text(slot.rawValue), "by": .text(Self.name(call))])
        return .answer(HTTPResponse(status: 204, headers: [], body: []))
    }

    // MARK: Checks

    private func slot(_ call: GatewayCall) throws(Problem) -> StoredCredential.Slot {
        guard let slot = StoredCredential.Slot(rawValue: call.parameters["kind"] ?? "") else {
            let names = StoredCredential.Slot.allCases.map(\.rawValue).joined(separator: ", ")
            throw .notFound("There is no such kind of credential; the kinds are \(names).")
        }
        return slot
    }

    private func app(_ call: GatewayCall) throws(Problem) -> Settings.App {
        guard let app = settings.app(call.app) else {
            throw .notFound(AppNames(settings.apps.map(\.name)).fault(call.app))
        }
        return app
    }

    private func store(_ session: RedisSession) throws(Problem) -> CredentialStore {
        guard let ring else {
            throw .conflict(
                "Uploaded credentials are not taken here: credentials.master_key_file is not configured.")
        }
        return CredentialStore(session: session, ring: ring)
    }

    /// An app has one bundle id, whatever the environment.
    private func checkTopic(
        _ credential: StoredCredential, _ stored: [CredentialMetadata]
    ) throws(Problem) {
        guard !credential.topic.isEmpty else { return }
        let other = stored.first { $0.slot != credential.slot && !$0.topic.isEmpty }
        guard let other, other.topic != credential.topic else { return }
        throw .conflict(
            "The stored credential of the kind \(other.slot.rawValue) has another topic; an app has one "
                + "bundle id. Remove that credential first, or upload for another app.")
    }

    /// What the app sends with, in a word.
    private func source(_ app: Settings.App) -> String {
        if app.delivery == .log { return "log" }
        return app.hasCredentialFiles ? "files" : "uploaded"
    }

    private static func name(_ call: GatewayCall) -> String {
        if case .key(let name) = call.principal { name } else { "" }
    }

    private static func answer(_ value: JSONValue) -> Reply {
        .answer(
            HTTPResponse(
                status: 200, headers: [("content-type", "application/json")],
                body: Array((value.text + "\n").utf8)))
    }
}
