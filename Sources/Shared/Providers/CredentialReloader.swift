package import Configuration
internal import Core
internal import Decisions
internal import EventLoop
package import Logging

/// What a reloader shows of itself, for metrics and probes.
package struct ReloadStatus: Sendable {
    /// A certificate that apps send with.
    package struct Certificate: Sendable {
        package var route: String
        package var expiryMs: Int64
    }

    /// Reloads that changed something.
    package var rotations: UInt64 = 0
    /// Reloads that were refused because a file could not be used.
    package var failures: UInt64 = 0
    /// Why the last reload was refused; empty when it was not.
    package var failure = ""
    package var certificates: [Certificate] = []
    /// What is wrong with uploaded credentials.
    package var uploads: [String] = []

    package init() {}

    /// What an operator should know at ms since 1970, although the worker can work; empty for nothing.
    package func complaints(nowMs: Int64) -> [String] {
        var list: [String] = []
        if !failure.isEmpty { list.append("the last reload was refused: \(failure)") }
        list += uploads
        for certificate in certificates {
            let left = certificate.expiryMs - nowMs
            let stage = ExpiryWatch.Stage(leftMs: left)
            if stage >= .week { list.append("the certificate of \(certificate.route) \(Self.ends(left))") }
        }
        return list
    }

    static func ends(_ leftMs: Int64) -> String {
        leftMs <= 0
            ? "has expired" : "expires in \(leftMs / 86_400_000) days and \(leftMs / 3_600_000 % 24) hours"
    }
}

/// Reads credentials again when their files change or somebody asks, and puts them in force, on one thread of
/// its own.
///
/// A change that can't be used changes nothing: the old credentials stay in use, the log and
/// ``ReloadStatus`` say why, and the next change of a file is another try.
package final class CredentialReloader: Sendable {
    /// How long an old credential may stand in for a new one that the provider refuses.
    package static let overlapMs: Int64 = 24 * 3_600_000
    private let thread: WorkerThread
    private let shared = Shared()

    final class Shared: Sendable {
        let isStopping = Locked(false)
        let isAsked = Locked(false)
        let waker = Locked<Waker?>(nil)
        let status = Locked(ReloadStatus())
    }

    /// Starts watching the files that `settings` name, and what is uploaded, which it takes over from the
    /// caller's thread. `reread` reads the configuration anew; `everyMs` is the time between two looks at the
    /// files.
    package init(
        _ settings: Settings, directory: LiveDirectory, keeper: CredentialKeeper, everyMs: Int = 5_000,
        uploads: sending UploadedCredentials? = nil,
        reread: @escaping @Sendable () -> Result<Settings, ConfigurationFailure>, logger: Logger
    ) {
        let shared = self.shared
        let everyMs = uploads == nil ? everyMs : min(everyMs, UploadedCredentials.everyMs)
        let uploads = HandOver(uploads)
        thread = WorkerThread.start(name: "reload") {
            guard let loop = try? EventLoop() else {
                logger.error(
                    "credentials.no_descriptor",
                    "No descriptors are left for the reload thread; raise ulimit -n.")
                return
            }
            shared.waker.withLock { $0 = loop.waker }
            let body = ReloadLoop(
                settings, directory: directory, keeper: keeper, uploads: uploads.value, reread: reread,
                logger: logger)
            while !shared.isStopping.withLock({ $0 }) {
                let isAsked = shared.isAsked.withLock { (value: inout Bool) in
                    defer { value = false }
                    return value
                }
                body.pass(isAsked: isAsked)
                let status = body.status
                shared.status.withLock { $0 = status }
                loop.runOnce(maxWaitMs: everyMs)
            }
        }
    }

    /// What it shows of itself, as of its last pass.
    package var status: ReloadStatus { shared.status.withLock { $0 } }

    /// Asks for a reload now. Any thread.
    package func reload() {
        shared.isAsked.withLock { $0 = true }
        shared.waker.withLock { $0 }?.wake()
    }

    /// Ends the thread.
    package func stop() {
        shared.isStopping.withLock { $0 = true }
        shared.waker.withLock { $0 }?.wake()
        thread.join()
    }
}

/// Carries a value to the thread that owns it from then on.
private struct HandOver<Value>: @unchecked Sendable {
    // The sender has given the value away, so there is never more than one user.
    let value: Value
    init(_ value: Value) { self.value = value }
}

/// The reloader's state on its own thread.
private final class ReloadLoop {
    private let directory: LiveDirectory
    private let keeper: CredentialKeeper
    private let uploads: UploadedCredentials?
    private var told: Set<String> = []
    private let reread: @Sendable () -> Result<Settings, ConfigurationFailure>
    private let logger: Logger
    private var settings: Settings
    private var watched: [String]
    private var stamps: [FileStamp?]
    private var watches: [String: ExpiryWatch] = [:]
    private(set) var status = ReloadStatus()

    init(
        _ settings: Settings, directory: LiveDirectory, keeper: CredentialKeeper,
        uploads: UploadedCredentials?,
        reread: @escaping @Sendable () -> Result<Settings, ConfigurationFailure>, logger: Logger
    ) {
        self.uploads = uploads
        self.settings = settings
        self.directory = directory
        self.keeper = keeper
        self.reread = reread
        self.logger = logger
        watched = settings.files
        // None yet: the first pass reads everything again, and finds what changed since the start.
        stamps = []
    }

    func pass(isAsked: Bool) {
        let now = watched.map { FileStamp(path: $0) }
        let hasUploads = uploads?.poll() ?? false
        if isAsked || now != stamps || hasUploads {
            stamps = now
            attempt(isAsked: isAsked)
        }
        dropReplaced()
        watchCertificates()
        status.uploads = (uploads?.complaints ?? []) + told.sorted()
    }

    private func attempt(isAsked: Bool) {
        do {
            let fresh = try reread().get()
            watch(fresh.files)
            let before = stamps
            let merged = settings.adoptingCredentials(of: fresh)
            if let uploads, uploads.adopt(merged) { _ = uploads.poll() }
            var builder = DirectoryBuilder(merged, keeper: nil, uploads: uploads?.known ?? [:])
            let rotation = try directory.snapshot().rotated(
                to: try builder.build(), overlapUntilMs: Clock.wallMs + CredentialReloader.overlapMs)
            guard before == watched.map({ FileStamp(path: $0) }) else {
                // Somebody is writing: what was read may be half old and half new.
                stamps = []
                return
            }
            for name in settings.needsRestart(for: fresh) {
                logger.warning(
                    "config.needs_restart", "\(name) has changed; that takes effect at the next start.")
            }
            status.failure = ""
            settings = merged
            tell(builder.complaints)
            guard rotation.isChange else {
                if isAsked { logger.notice("credentials.unchanged", "Reloaded: no credential has changed.") }
                return
            }
            putInForce(rotation, builder)
        } catch {
            status.failures &+= 1
            status.failure = "\(error)"
            logger.error(
                "credentials.not_reloaded",
                "The changed credentials can't be used, so the old ones stay in use: \(error)")
        }
    }

    private func tell(_ complaints: [String]) {
        for sentence in complaints where !told.contains(sentence) {
            logger.error("uploads.unusable", "\(sentence)")
        }
        told = Set(complaints)
    }

    private func putInForce(_ rotation: DirectoryRotation, _ builder: DirectoryBuilder) {
        let known = Set(directory.snapshot().routes.compactMap { $0.bearer.map { ObjectIdentifier($0) } })
        var handed: Set<ObjectIdentifier> = []
        for index in rotation.added {
            let route = rotation.directory.routes[index]
            if let bearer = route.bearer, !known.contains(ObjectIdentifier(bearer)),
                handed.insert(ObjectIdentifier(bearer)).inserted
            {
                builder.handOver(bearer, to: keeper)
            }
            let before =
                route.predecessor >= 0 ? rotation.directory.routes[Int(route.predecessor)].name : "nothing"
            logger.notice(
                "credentials.rotated", "A changed credential is in force.",
                ["route": .text(route.name), "instead_of": .text(before)])
        }
        status.rotations &+= 1
        directory.replace(rotation.directory)
    }

    /// Files of a refused configuration count too: when one appears, that is another try.
    private func watch(_ files: [String]) {
        watched = Set(files + settings.files).sorted()
        stamps = watched.map { FileStamp(path: $0) }
    }

    /// Ends the renewal of tokens that nobody sends with: their routes are out of use, and each one that took
    /// the place was accepted or has had its time.
    private func dropReplaced() {
        let now = directory.snapshot()
        var needed = now.routesInUse
        guard needed.count < now.routes.count else { return }
        for (index, route) in now.routes.enumerated().reversed() {
            let isOver = directory.isProven(Int32(index)) || Clock.wallMs >= route.overlapUntilMs
            if needed.contains(Int32(index)), route.predecessor >= 0, !isOver {
                needed.insert(route.predecessor)
            }
        }
        let bearers = Set(needed.compactMap { now.routes[Int($0)].bearer.map { ObjectIdentifier($0) } })
        for route in now.routes {
            guard let bearer = route.bearer, !bearer.isDropped, !bearers.contains(ObjectIdentifier(bearer))
            else { continue }
            keeper.drop(bearer)
            logger.info(
                "credentials.dropped", "A replaced credential is renewed no longer.",
                ["credential": .text(bearer.name)])
        }
    }

    private func watchCertificates() {
        let now = directory.snapshot()
        status.certificates = now.routesInUse.sorted().compactMap { index in
            let route = now.routes[Int(index)]
            return route.certificateExpiryMs.map { ReloadStatus.Certificate(route: route.name, expiryMs: $0) }
        }
        for certificate in status.certificates {
            let left = certificate.expiryMs - Clock.wallMs
            guard let stage = watches[certificate.route, default: ExpiryWatch()].note(leftMs: left) else {
                continue
            }
            logger.log(
                stage >= .day ? .error : .warning, "credentials.expiring",
                "A certificate \(ReloadStatus.ends(left)); a new one in its file takes effect at once.",
                ["route": .text(certificate.route)])
        }
    }
}
