import Core
import EventLoop
import Glibc
import HTTPServer
import Security

/// Doubles of APNs and FCM over real HTTP/2 and TLS, on one thread of its own.
///
/// ```swift
/// let simulator = try Simulator.start(SimulatorSettings())
/// defer { simulator.stop() }
/// // point a client at simulator.endpoints, trust simulator.credentials.caPEM
/// let got = simulator.record.requests(job: "01J9…")
/// ```
/// - Threading: every method may be called from any thread.
/// - Ownership: ``stop()`` ends the thread; it is called by `deinit` if need be.
package final class Simulator: Sendable {
    /// Where a running simulator listens; nil for a listener that was left out.
    package struct Endpoints: Sendable {
        package let host: String
        package internal(set) var apns: UInt16?
        package internal(set) var sandbox: UInt16?
        package internal(set) var fcm: UInt16?
        package internal(set) var admin: UInt16?

        /// The addresses of a simulator that runs in another process, or behind a proxy.
        package init(host: String, apns: UInt16?, sandbox: UInt16?, fcm: UInt16?) {
            self.host = host
            self.apns = apns
            self.sandbox = sandbox
            self.fcm = fcm
        }

        /// The token endpoint of the OAuth flow, on the FCM port.
        package var tokenURI: String { "https://\(host):\(fcm ?? 0)/token" }
    }

    package let endpoints: Endpoints
    package let credentials: ThrowAwayCredentials
    /// Every request that was answered.
    package let record: RequestRecord
    private let inbox: SimulatorInbox
    private let thread: WorkerThread
    private let running = Locked<Bool>(true)
    private let admin = Locked<HTTPServer?>(nil)

    private struct Parts: @unchecked Sendable {
        // Handed from the starting thread to the simulator's, which alone touches the loop from then on.
        let serving: ServingLoop
        let endpoints: Endpoints
    }

    private init(
        parts: Parts, credentials: ThrowAwayCredentials, record: RequestRecord, inbox: SimulatorInbox
    ) {
        endpoints = parts.endpoints
        self.credentials = credentials
        self.record = record
        self.inbox = inbox
        let handed = parts
        thread = WorkerThread.start(name: "peal-simulator") { handed.serving.run() }
    }

    deinit { stop() }

    /// Makes credentials, listens and serves.
    ///
    /// The credentials are those given, else those an earlier simulator left in the certificate directory,
    /// else new.
    /// - Fails: `credentials`, `listen` (a port is taken), `files`, `faultScript`.
    package static func start(
        _ settings: SimulatorSettings, credentials known: ThrowAwayCredentials? = nil
    ) throws(SimulatorFailure) -> Simulator {
        Signals.ignorePipe()
        let script = settings.faultScript.isEmpty ? nil : try readScript(settings.faultScript)
        let kept = settings.certificateDirectory.flatMap { ThrowAwayCredentials.load(from: $0, settings) }
        var credentials: ThrowAwayCredentials
        if let ready = known ?? kept {
            credentials = ready
        } else {
            credentials = try made { () throws(SecurityFailure) in try ThrowAwayCredentials.make(settings) }
        }
        let loop: EventLoop
        do { loop = try EventLoop() } catch { throw SimulatorFailure(.listen, "\(error)") }
        let inbox = SimulatorInbox(waker: loop.waker)
        let record = RequestRecord(rowsMax: settings.recordMax, bytesMax: settings.recordBytesMax)
        let judge = try makeJudge(settings, credentials)
        let journal = try settings.recordPath.map { (path) throws(SimulatorFailure) in
            try RecordJournal(path: path)
        }
        let serving = ServingLoop(
            loop: loop, settings: settings, judge: judge, record: record, inbox: inbox, journal: journal)
        var endpoints = Endpoints(
            host: settings.host == "0.0.0.0" ? "127.0.0.1" : settings.host, apns: nil, sandbox: nil, fcm: nil)
        try listen(serving, settings, credentials, &endpoints)
        credentials.setTokenURI(endpoints.tokenURI)
        judge.oauth.audiences = audiences(endpoints, settings)
        if let script { serving.install(script) }
        if let directory = settings.certificateDirectory {
            FileAge.makeDirectory(directory)
            do { try credentials.write(to: directory) } catch {
                throw SimulatorFailure(.files, "Cannot write the credentials: \(error).")
            }
        }
        let adminPort = settings.adminPort
        let simulator = Simulator(
            parts: Parts(serving: serving, endpoints: endpoints), credentials: credentials, record: record,
            inbox: inbox)
        if adminPort != nil { try simulator.startAdmin(settings) }
        return simulator
    }

    private static func made<T>(_ body: () throws(SecurityFailure) -> T) throws(SimulatorFailure) -> T {
        do { return try body() } catch { throw SimulatorFailure(.credentials, "\(error)") }
    }

    private static func readScript(_ text: String) throws(SimulatorFailure) -> FaultScript {
        do { return try FaultScriptReader.read(text: text) } catch {
            throw SimulatorFailure(.faultScript, error.description)
        }
    }

    private static func makeJudge(
        _ settings: SimulatorSettings, _ credentials: ThrowAwayCredentials
    ) throws(SimulatorFailure) -> Judge {
        let (apnsPublic, accountPublic) = try made { () throws(SecurityFailure) in
            (try credentials.apnsKey.publicKey(), try credentials.serviceAccountKey.publicKey())
        }
        let authority = APNsAuthority(
            keys: [
                APNsKey(
                    keyID: credentials.keyID, teamID: credentials.teamID, publicKey: apnsPublic,
                    bundleIDs: settings.bundleIDs)
            ], refreshMinS: settings.tokenRefreshMinS, scope: settings.tokenUpdateScope)
        let oauth = OAuthServer(
            accounts: [
                ServiceAccount(
                    email: credentials.serviceAccountEmail, keyID: credentials.privateKeyID,
                    projectID: credentials.projectID, publicKey: accountPublic)
            ], lifetimeS: settings.accessTokenLifetimeS)
        return Judge(settings: settings, authority: authority, oauth: oauth)
    }

    private static func listen(
        _ serving: ServingLoop, _ settings: SimulatorSettings, _ credentials: ThrowAwayCredentials,
        _ endpoints: inout Endpoints
    ) throws(SimulatorFailure) {
        let context = try made { () throws(SecurityFailure) in
            try TLSContext.server(
                certificatePEM: credentials.certificatePEM, keyPEM: credentials.certificateKeyPEM)
        }
        do {
            if let port = settings.apnsPort {
                endpoints.apns = try serving.listen(.apns, port: port, context: context)
            }
            if let port = settings.sandboxPort {
                endpoints.sandbox = try serving.listen(.sandbox, port: port, context: context)
            }
            if let port = settings.fcmPort {
                endpoints.fcm = try serving.listen(.fcm, port: port, context: context)
            }
        } catch {
            guard error.errno != EINVAL else {
                throw SimulatorFailure(
                    .listen, "\(settings.host) is not a numeric address; use one such as 127.0.0.1 or ::.")
            }
            throw SimulatorFailure(.listen, "\(error); is another simulator running on that port?")
        }
    }

    private static func audiences(_ endpoints: Endpoints, _ settings: SimulatorSettings) -> [String] {
        let port = endpoints.fcm ?? 0
        let names = [endpoints.host, settings.host, "localhost", "127.0.0.1"] + settings.certificateHosts
        return ["https://oauth2.googleapis.com/token"] + names.map { "https://\($0):\(port)/token" }
    }

    /// Closes all connections and ends the thread. Calling it again does nothing.
    package func stop() {
        let isFirst = running.withLock { (value: inout Bool) in
            defer { value = false }
            return value
        }
        guard isFirst else { return }
        let server = admin.withLock { (value: inout HTTPServer?) in value }
        server?.stop(deadlineMs: 200)
        inbox.push { $0.loop.stop() }
        thread.join()
    }

    // MARK: - Orders

    /// Runs an order on the simulator's loop and waits for its result; nil once the simulator has stopped.
    private func ask<R: Sendable>(_ order: @escaping @Sendable (ServingLoop) -> R) -> R? {
        guard running.withLock({ (value: inout Bool) in value }) else { return nil }
        let reply = Reply<R>()
        inbox.push { reply.put(order($0)) }
        return reply.wait(deadlineMs: 5_000)
    }

    /// Replaces the fault script; its times count from now. An empty text ends all faults.
    /// - Fails: `faultScript` with the place that was not understood; `stopped`.
    package func setFaults(_ json: String) throws(SimulatorFailure) {
        let text = json.isEmpty ? "{}" : json
        _ = try Self.readScript(text)
        // Read again on the loop, because rules count and must not be shared between threads.
        let done = ask { (serving: ServingLoop) -> Bool in
            guard let script = try? FaultScriptReader.read(text: text) else { return false }
            serving.install(script)
            return true
        }
        if done != true { throw SimulatorFailure(.stopped, "The simulator does not run any more.") }
    }

    /// Ends all scripted faults.
    package func clearFaults() { try? setFaults("") }

    /// The counters of now; nil once stopped.
    package func stats() -> SimulatorStats? { ask { $0.snapshot() } }

    /// Shifts the simulator's wall clock, to age credentials without waiting.
    package func setClockOffset(ms: Int64) {
        _ = ask { (serving: ServingLoop) -> Bool in
            serving.clockOffsetMs = ms
            return true
        }
    }

    /// Voids every access token of the OAuth flow, as a revoked key would in the end.
    package func revokeAccessTokens() {
        _ = ask { (serving: ServingLoop) -> Bool in
            serving.judge.oauth.revokeAll()
            return true
        }
    }

    /// Replaces the keys that APNs accepts. A key that stays keeps its place in the list, because connections
    /// are bound to it; one without environments is as good as revoked.
    package func setKeys(_ keys: [APNsKey]) {
        _ = ask { (serving: ServingLoop) -> Bool in
            serving.judge.authority.replaceKeys(keys)
            return true
        }
    }

    /// Lists a device token: where it is valid and since when it is not.
    /// - Parameters:
    ///   - token: as it stands in the request.
    ///   - topic: the only APNs topic or FCM project it is good for; nil for any.
    ///   - environment: its APNs environment; nil for both.
    ///   - unregisteredAtMs: when the app was removed, milliseconds since 1970; nil while it is there.
    package func setDevice(
        token: String, topic: String? = nil, environment: PushEnvironment? = nil,
        unregisteredAtMs: Int64? = nil
    ) {
        setDevices([
            DeviceListing(
                token: token, topic: topic, environment: environment, unregisteredAtMs: unregisteredAtMs)
        ])
    }

    /// Lists many device tokens.
    package func setDevices(_ listings: [DeviceListing]) {
        _ = ask { (serving: ServingLoop) -> Bool in
            for listing in listings {
                guard serving.judge.devices.set(tokenHash: Hash64.of(text: listing.token), listing.device)
                else {
                    return false
                }
            }
            return true
        }
    }

    private func startAdmin(_ settings: SimulatorSettings) throws(SimulatorFailure) {
        let api = AdminAPI(simulator: self)
        do {
            let server = try HTTPServer.start(
                HTTPServerOptions(host: settings.host, port: settings.adminPort ?? 0)
            ) { (request: HTTPRequest) in api.answer(request) }
            admin.withLock { (value: inout HTTPServer?) in value = server }
        } catch {
            stop()
            throw SimulatorFailure(.listen, "\(error)")
        }
    }

    /// The port of the admin API; nil when it was left out.
    package var adminPort: UInt16? { admin.withLock { (value: inout HTTPServer?) in value?.port } }

    /// A token request over plain HTTP, for clients that can't speak HTTP/2.
    func exchangeToken(_ body: [UInt8]) -> (status: UInt16, body: [UInt8])? {
        ask { (serving: ServingLoop) -> TokenReply in
            let (status, json) = unsafe body.withUnsafeBytes {
                unsafe serving.judge.oauth.exchange(
                    body: Bytes($0), nowMs: Clock.wallMs + serving.clockOffsetMs)
            }
            return TokenReply(status: status, body: json)
        }.map { ($0.status, $0.body) }
    }

    private struct TokenReply: Sendable {
        let status: UInt16
        let body: [UInt8]
    }
}
