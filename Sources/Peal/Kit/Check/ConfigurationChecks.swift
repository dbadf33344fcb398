internal import Configuration
internal import EventLoop
internal import GatewayKit
internal import Logging
internal import Providers
internal import Redis
internal import Security
internal import Services
internal import Terminal
internal import WorkerKit

/// What can be told from the configuration and its files alone.
enum ConfigurationChecks {
    static func lines(_ settings: Settings, path: String?) -> [CheckReport.Line] {
        var lines: [CheckReport.Line] = []
        let name = CheckReport.configuration
        let apps = settings.apps.count
        let place = path.map { "\($0) can be read" } ?? "no file is named (--config, PEAL_CONFIG)"
        lines.append(
            .init(
                name, path == nil ? .warn : .good, "\(place); \(apps) \(apps == 1 ? "app" : "apps")",
                fix: path == nil ? "name the file, or everything that follows is about the defaults" : ""))
        if path != nil, apps == 0 {
            lines.append(
                .init(
                    name, .warn, "there are no apps, so every job is a dead letter",
                    fix: "write them under apps:; a name is enough"))
        }
        lines += settings.warnings.map { .init(name, .warn, $0) }
        lines += settings.notInForce.map {
            .init(name, .warn, "\($0) is set, but this version does not act on it yet")
        }
        return lines
    }

    /// The gateway's keys and certificate, if there is to be a gateway.
    static func gateway(_ settings: Settings) -> [CheckReport.Line] {
        guard settings.gateway.keysFile != nil || settings.gateway.isOpen else {
            return [
                .init("gateway", .skipped, "no gateway.keys_file: no gateway can be started with this file")
            ]
        }
        do throws(ConfigurationFailure) {
            let gateway = try GatewaySettings(settings)
            do throws(GatewayFailure) {
                let check = try GatewayCheck(settings, gateway, log: .silent)
                return [.init("gateway", .good, "its keys and files can be used")]
                    + check.warnings.map { .init("gateway", .warn, $0) }
            } catch {
                return [.init("gateway", .bad, "\(error)")]
            }
        } catch {
            return error.problems.map { .init("gateway", .bad, "\($0)") }
        }
    }
}

/// The credentials of every app: whether they can be read, and how long they last.
struct CredentialChecks {
    private let settings: Settings
    private let request: CheckRequest

    init(_ settings: Settings, _ request: CheckRequest) {
        self.settings = settings
        self.request = request
    }

    var lines: [CheckReport.Line] {
        let apps = settings.apps.filter { request.wants($0.name) }
        var lines: [CheckReport.Line] = []
        let ring = ringLine
        if let ring { lines.append(ring) }
        var uploads: UploadedCredentials?
        if ring?.state != .bad, apps.contains(where: settings.takesUploads),
            let options = try? settings.redisOptions(scripts: [])
        {
            uploads = UploadedCredentials(settings, redis: options, logger: .silent)
            _ = uploads?.poll()
        }
        for app in apps { lines += self.lines(app, uploads) }
        lines += (uploads?.complaints ?? []).map { .init("credentials", .bad, $0) }
        if !lines.contains(where: { $0.state == .bad }) { lines += workerLines }
        return lines
    }

    /// What else keeps a worker from starting: librdkafka's settings and Redis' address.
    private var workerLines: [CheckReport.Line] {
        do throws(WorkerFailure) {
            try WorkerService.check(settings)
            return []
        } catch {
            return [.init("worker", .bad, "a worker can't start: \(error)")]
        }
    }

    private var ringLine: CheckReport.Line? {
        do throws(CredentialFailure) {
            guard let ring = try settings.credentials.ring() else { return nil }
            let count = ring.ids.count
            return .init(
                "credentials", .good,
                "the master key can be used" + (count > 1 ? ", and \(count - 1) former ones" : ""))
        } catch {
            return .init("credentials", .bad, "\(error)")
        }
    }

    private func lines(_ app: Settings.App, _ uploads: UploadedCredentials?) -> [CheckReport.Line] {
        let part = "app \(app.name)"
        if app.delivery == .log {
            return [.init(part, .good, "prints its pushes instead of sending them (provider: log)")]
        }
        let directory: ProviderDirectory
        do throws(CredentialFailure) {
            directory = try Self.directory(of: app, settings, uploads)
        } catch {
            return [.init(part, .bad, "\(error)")]
        }
        guard !directory.routes.isEmpty else { return [withoutRoutes(app, part, uploads)] }
        var lines: [CheckReport.Line] = []
        for route in directory.routes {
            lines.append(
                Self.line(part, route.name, expiryMs: route.certificateExpiryMs, nowMs: Clock.wallMs))
        }
        if let file = app.apnsProduction?.certificateFile, let line = Self.validity(part, file) {
            lines.append(line)
        }
        return lines
    }

    /// The routes of one app by itself.
    static func directory(
        of app: Settings.App, _ settings: Settings, _ uploads: UploadedCredentials?,
        keeper: CredentialKeeper? = nil
    ) throws(CredentialFailure) -> ProviderDirectory {
        var own = settings
        own.apps = [app]
        var builder = DirectoryBuilder(own, keeper: keeper, uploads: uploads?.known ?? [:])
        return try builder.build()
    }

    private func withoutRoutes(
        _ app: Settings.App, _ part: String, _ uploads: UploadedCredentials?
    ) -> CheckReport.Line {
        guard settings.takesUploads(app) else {
            return .init(
                part, .warn, "has no credentials, so its pushes are printed instead of sent",
                fix: "write apps.\(app.name).apns or .fcm, or upload them over the admin API")
        }
        if case .unknown? = uploads?.known[app.name] {
            return .init(
                part, .warn, "nobody knows whether credentials were uploaded: Redis could not be asked")
        }
        return .init(
            part, .warn,
            app.credentialSource == .uploaded
                ? "waits for credentials to be uploaded: until then its jobs wait"
                : "has no credentials, neither here nor uploaded, so its pushes are printed instead of sent",
            fix: "PUT them to the gateway's admin API (docs/http-api.md)")
    }

    /// One route, and whether its certificate lasts.
    static func line(
        _ part: String, _ route: String, expiryMs: Int64?, nowMs: Int64
    ) -> CheckReport.Line {
        guard let expiryMs else { return .init(part, .good, "\(route): the key can be used") }
        let left = expiryMs - nowMs
        let days = left / 86_400_000
        let fix = "make a new one in Apple's developer portal and put it in the file's place"
        return switch ExpiryStage(leftMs: left) {
        case .over: .init(part, .bad, "\(route): the certificate has expired", fix: fix)
        case .soon:
            .init(part, .warn, "\(route): the certificate expires in \(max(0, days)) days", fix: fix)
        case .fine: .init(part, .good, "\(route): the certificate can be used for \(days) days")
        }
    }

    private enum ExpiryStage {
        case fine, soon, over

        init(leftMs: Int64) {
            self = leftMs <= 0 ? .over : leftMs <= 30 * 86_400_000 ? .soon : .fine
        }
    }

    /// Complains about a certificate that is not valid yet.
    private static func validity(_ part: String, _ file: String) -> CheckReport.Line? {
        guard let pem = try? Files.readText(path: file, maxBytes: 4 << 20),
            let span = try? CertificateFile.validityS(pem: pem), span.lowerBound * 1000 > Clock.wallMs
        else { return nil }
        return .init(
            part, .bad, "\(file): the certificate is not valid yet", fix: "check this machine's clock")
    }
}
