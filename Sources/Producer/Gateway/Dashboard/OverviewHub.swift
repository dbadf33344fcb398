internal import Core
internal import EventLoop
internal import HTTPServer
internal import Logging
internal import Overview
internal import Redis

/// Reads overviews for everybody who looks at the dashboard: one thread and one Redis session, however many
/// they are.
///
/// Who watches gets a document every two seconds as a server-sent event; with Redis away, an event that says
/// so. A viewer that has not taken the last document yet gets none, and the server cuts it off when that
/// lasts.
/// - Ownership: ``stop()`` ends it; call it once.
/// - Threading: any.
final class OverviewHub: Sendable {
    /// What is looked at.
    struct Question: Hashable {
        /// `*` for all apps.
        var app: String
        /// 1...``OverviewReader/minutesMax``
        var minutes: Int
    }

    /// Viewers at a time, and how many different apps they may look at.
    static let viewersMax = 64
    static let appsMax = 8
    private static let everyMs: UInt64 = 2_000
    /// A document is good for this long, and a failure too.
    private static let freshMs: UInt64 = 900

    private enum Work: Sendable {
        case watch(HTTPStream, Question)
        case ask(Question, @Sendable (Result<[UInt8], RedisFailure>) -> Void)
    }

    private struct Viewer {
        let stream: HTTPStream
        let question: Question
    }

    private let options: RedisClientOptions
    private let log: Logger
    private let queue = BlockingQueue<Work>(capacity: 256)
    private let watched = Locked<[ObjectIdentifier: Viewer]>([:])
    private let thread: Locked<WorkerThread?> = Locked(nil)

    /// Starts the thread; it asks Redis only while somebody looks.
    init(redis: RedisClientOptions, log: Logger) {
        var options = redis
        options.scripts = []
        options.clientName = "peal-dashboard"
        self.options = options
        self.log = log
        let running = WorkerThread.start(name: "overviews") { [self] in run() }
        thread.withLock { $0 = running }
    }

    /// Ends all streams and the thread.
    func stop() {
        queue.close()
        thread.withLock { (thread: inout WorkerThread?) -> WorkerThread? in
            defer { thread = nil }
            return thread
        }?.join()
    }

    /// Viewers at present.
    var viewerCount: Int { watched.withLock { $0.values.count { $0.stream.isOpen } } }

    /// Begins to send documents; the stream is to be put into the answer.
    /// - Throws: 503 when there are too many viewers, or too many different apps are watched.
    func watch(_ question: Question) throws(Problem) -> HTTPStream {
        let stream = HTTPStream()
        let isTaken = watched.withLock { (viewers: inout [ObjectIdentifier: Viewer]) -> Bool in
            viewers = viewers.filter { $0.value.stream.isOpen }
            let apps = Set(viewers.values.map(\.question.app)).union([question.app])
            guard viewers.count < Self.viewersMax, apps.count <= Self.appsMax else { return false }
            viewers[ObjectIdentifier(stream)] = Viewer(stream: stream, question: question)
            return true
        }
        guard isTaken, queue.push(.watch(stream, question)) else {
            watched.withLock { $0[ObjectIdentifier(stream)] = nil }
            throw Problem(
                503, "too_many_viewers", "Too many look at the dashboard",
                detail: "At most \(Self.viewersMax) pages of \(Self.appsMax) apps are served at a time; "
                    + "close one.", retryAfterSeconds: 5)
        }
        return stream
    }

    /// Gives one document; `answer` is called on the hub's thread.
    /// - Returns: false when too many wait.
    func ask(
        _ question: Question, answer: @escaping @Sendable (Result<[UInt8], RedisFailure>) -> Void
    ) -> Bool {
        queue.push(.ask(question, answer))
    }

    // MARK: The thread

    /// What the thread keeps between two turns.
    private struct State {
        var reader: OverviewReader?
        var session: RedisSession?
        var documents: [Question: (atMs: UInt64, result: Result<[UInt8], RedisFailure>)] = [:]
        /// What is wrong, by the app that is looked at: a diagnosis knows what grows from what it saw before.
        var diagnoses: [String: Diagnosis] = [:]
        /// Since when Redis has not answered, in ms since 1970; nil when it does.
        var awaySinceMs: Int64?
    }

    private func run() {
        var state = State()
        var nextMs = Clock.monotonicMs
        while true {
            let now = Clock.monotonicMs
            switch queue.next(timeoutMs: nextMs > now ? nextMs - now : 0) {
            case .element(.watch(let stream, let question)):
                send(document(question, &state), to: stream, state)
            case .element(.ask(let question, let answer)): answer(document(question, &state))
            case .nothing: break
            case .closed:
                for viewer in watched.withLock({ Array($0.values) }) { viewer.stream.close() }
                state.session?.close()
                return
            }
            if Clock.monotonicMs >= nextMs {
                nextMs = Clock.monotonicMs + Self.everyMs
                sendAll(&state)
            }
        }
    }

    private func sendAll(_ state: inout State) {
        let viewers = watched.withLock { (viewers: inout [ObjectIdentifier: Viewer]) -> [Viewer] in
            viewers = viewers.filter { $0.value.stream.isOpen }
            return Array(viewers.values)
        }
        let now = Clock.monotonicMs
        state.documents = state.documents.filter { $0.value.atMs + Self.freshMs > now }
        for viewer in viewers where viewer.stream.waiting == 0 {
            send(document(viewer.question, &state), to: viewer.stream, state)
        }
    }

    private func document(
        _ question: Question, _ state: inout State
    ) -> Result<[UInt8], RedisFailure> {
        let now = Clock.monotonicMs
        if let known = state.documents[question], now < known.atMs + Self.freshMs { return known.result }
        let result = read(question, &state)
        state.documents[question] = (Clock.monotonicMs, result)
        return result
    }

    private func read(_ question: Question, _ state: inout State) -> Result<[UInt8], RedisFailure> {
        do throws(RedisFailure) {
            let reader: OverviewReader
            if let known = state.reader {
                reader = known
            } else {
                let session = try RedisSession(options: options)
                state.session = session
                reader = OverviewReader(session: session)
                state.reader = reader
            }
            let window = OverviewDocument.window(minutes: question.minutes)
            let overview = try reader.read(app: question.app, minutes: window)
            if state.awaySinceMs != nil {
                state.awaySinceMs = nil
                log.notice("overview.back", "Redis answers the dashboard again.")
            }
            let findings = diagnose(overview, &state)
            return .success(
                OverviewDocument(overview, minutes: question.minutes, findings: findings).json)
        } catch {
            if state.awaySinceMs == nil {
                state.awaySinceMs = Clock.wallMs
                log.warning("overview.unreadable", "The dashboard can't read Redis: \(error.message)")
            }
            return .failure(error)
        }
    }

    private func diagnose(_ overview: Overview, _ state: inout State) -> [Finding] {
        if state.diagnoses.count >= Self.diagnosesMax, state.diagnoses[overview.app] == nil {
            state.diagnoses.removeAll()
        }
        return state.diagnoses[overview.app, default: Diagnosis()].take(overview)
    }

    /// Apps whose past is kept.
    private static let diagnosesMax = 64

    private func send(_ result: Result<[UInt8], RedisFailure>, to stream: HTTPStream, _ state: State) {
        var out = ByteBuffer(capacity: 16_384)
        switch result {
        case .success(let json):
            out.append("event: overview\ndata: ")
            out.append(array: json)
        case .failure(let failure):
            out.append("event: failure\ndata: {\"sentence\":")
            out.append(jsonString: Self.sentence(failure))
            out.append(",\"since_ms\":")
            out.append(decimal: state.awaySinceMs ?? Clock.wallMs)
            out.append(byte: UInt8(ascii: "}"))
        }
        out.append("\n\n")
        _ = stream.send(out.array)
    }

    /// What the page shows; the message itself may name hosts and is for the log.
    static func sentence(_ failure: RedisFailure) -> String {
        switch failure.code {
        case .timedOut: "Redis does not answer in time."
        case .authentication, .notPermitted:
            "Redis does not let the gateway's user read what the dashboard shows."
        case .loading: "Redis is reading its data and can't answer yet."
        case _ where failure.code.isOutage: "Redis is away."
        default: "Redis answers with errors; the gateway's log says which."
        }
    }
}
