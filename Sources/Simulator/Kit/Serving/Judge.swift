import Core

/// When a request is judged: wall time for credentials and the record, steady time for fault windows.
struct Moment {
    var wallMs: Int64
    var steadyMs: UInt64
}

/// Decides what each request gets: the services' rules first, then the fault script, then a speaking token.
///
/// The rules always run, so that the record can tell a request that was wrong from one that met a fault.
/// - Threading: the simulator's loop only. No I/O, and time is an argument.
final class Judge {
    private static let speakingTokensMax = 1 << 20

    let settings: SimulatorSettings
    let authority: APNsAuthority
    let oauth: OAuthServer
    var devices = DeviceBook()
    private(set) var script = FaultScript()
    private var scriptSinceMs: UInt64 = 0
    private let markers: PayloadMarkers
    private var speakingCounts: [UInt64: UInt32] = [:]
    private let bodyKeptMax = 65_536

    init(settings: SimulatorSettings, authority: APNsAuthority, oauth: OAuthServer) {
        self.settings = settings
        self.authority = authority
        self.oauth = oauth
        markers = PayloadMarkers(settings.jobMarkers)
        devices.refusesUnknown = settings.refusesUnknownTokens
    }

    /// Replaces the fault script; its times count from `nowMs`.
    func install(_ script: FaultScript, nowMs: UInt64) {
        self.script = script
        scriptSinceMs = nowMs
        speakingCounts.removeAll()
    }

    /// The rule at this place of the script.
    func rule(_ index: Int) -> FaultRule? { index < script.rules.count ? script.rules[index] : nil }

    /// Judges one request, and fills in what the record keeps of it.
    func judge(
        _ request: borrowing ProviderRequest, on connection: ConnectionState, at moment: Moment,
        row: inout RecordRow, texts: inout RecordTexts
    ) -> Answer {
        connection.requests += 1
        row.arrivalMs = moment.wallMs
        row.connection = UInt32(truncatingIfNeeded: connection.number)
        row.peerPort = connection.peerPort
        row.provider = connection.listener.provider
        row.environment = connection.listener.environment
        row.bodyCount = UInt32(clamping: request.body.count)
        var answer =
            row.provider == .apns
            ? judgeAPNs(request, on: connection, at: moment, row: &row, texts: &texts)
            : judgeFCM(request, on: connection, at: moment, row: &row, texts: &texts)
        row.verdict = answer.reason
        if !settings.acceptsAll { row.bodyHash = request.body.hash }
        if settings.keepsBodies {
            texts.body = request.body.slice(0, bodyKeptMax)
            row.bodyKept = UInt32(clamping: texts.body.count)
        }
        applyFaults(on: connection, at: moment, row: &row, texts: texts, answer: &answer)
        adjustStreams(on: connection, answer: &answer)
        finish(answer, row: &row, texts: texts)
        return answer
    }

    private func finish(_ answer: Answer, row: inout RecordRow, texts: RecordTexts) {
        row.status = answer.status
        row.reason = answer.reason
        row.apnsReason = answer.apnsReason
        row.action = answer.action
        row.delivered = answer.delivered
        row.tokenCount = UInt16(clamping: texts.token.count)
        row.idCount = UInt16(clamping: texts.id.count)
        row.topicCount = UInt16(clamping: texts.topic.count)
        row.collapseCount = UInt16(clamping: texts.collapse.count)
        row.threadCount = UInt16(clamping: texts.thread.count)
        row.jobCount = UInt16(clamping: texts.job.count)
    }

    // MARK: - Faults

    private func applyFaults(
        on connection: ConnectionState, at moment: Moment, row: inout RecordRow,
        texts: RecordTexts, answer: inout Answer
    ) {
        let delay = max(answer.delayMs, settings.delayMs)
        if !script.rules.isEmpty {
            var subject = FaultSubject()
            subject.provider = row.provider
            subject.environment = row.environment
            subject.token = texts.token
            subject.job = texts.job
            subject.topic = texts.topic
            subject.connection = connection.number
            subject.request = connection.requests
            let elapsed = moment.steadyMs >= scriptSinceMs ? moment.steadyMs - scriptSinceMs : 0
            if let index = script.take(subject, elapsedMs: elapsed) {
                row.byFault = true
                answer = merged(script.rules[index].answer, over: answer)
                answer.delayMs = max(delay, answer.delayMs)
                return
            }
        }
        answer.delayMs = delay
        guard answer.isAccepted, !texts.token.isEmpty else { return }
        let asked = row.provider == .apns ? TokenDirective.apns(texts.token) : TokenDirective.fcm(texts.token)
        guard let asked, speaks(asked, token: texts.token) else { return }
        row.byFault = true
        answer = asked.answer
        answer.delayMs = max(delay, answer.delayMs)
    }

    /// A rule that only delays or changes the stream limit leaves the rules' answer as it was.
    private func merged(_ fault: Answer, over plain: Answer) -> Answer {
        let answersNothing =
            fault.action == .respond && fault.status == 200 && fault.reason == 0 && fault.body == .json
        guard answersNothing else { return fault }
        var answer = plain
        answer.delayMs = fault.delayMs
        answer.streamsMax = fault.streamsMax
        answer.rule = fault.rule
        return answer
    }

    private func speaks(_ asked: TokenDirective, token: Bytes) -> Bool {
        guard asked.times > 0 else { return true }
        let hash = token.hash
        let count = speakingCounts[hash] ?? 0
        guard count < asked.times else { return false }
        guard count > 0 || speakingCounts.count < Self.speakingTokensMax else { return true }
        speakingCounts[hash] = count + 1
        return true
    }

    // MARK: - Streams

    /// APNs allows one stream until it has seen a valid provider token; an error may shrink the allowance
    /// again.
    private func adjustStreams(on connection: ConnectionState, answer: inout Answer) {
        guard connection.listener.provider == .apns else { return }
        if answer.streamsMax < 0 {
            if connection.isTrusted, !connection.isRaised {
                connection.isRaised = true
                answer.streamsMax = Int32(clamping: settings.apnsStreamsMax)
            } else {
                punish(connection, answer: &answer)
            }
        }
        if answer.streamsMax == Int32(clamping: connection.streamsMax) { answer.streamsMax = -1 }
    }

    /// What an error does to its connection, as Apple's words have it: fewer streams, and after many the end.
    private func punish(_ connection: ConnectionState, answer: inout Answer) {
        let counts = answer.status >= 400 && answer.status < 500 && answer.status != 410
        if counts {
            connection.errors += 1
            if settings.errorsPerConnection > 0, connection.errors == settings.errorsPerConnection,
                answer.action == .respond
            {
                answer.action = .goaway
                answer.lastStream = .this
            }
        }
        guard settings.shrinksOnErrors else { return }
        if counts {
            connection.successesOwed = settings.successesToRecover
            if connection.streamsMax > 1 { answer.streamsMax = 1 }
        } else if answer.isAccepted, connection.streamsMax < settings.apnsStreamsMax {
            connection.successesOwed -= min(1, connection.successesOwed)
            if connection.successesOwed == 0 {
                answer.streamsMax = Int32(clamping: settings.apnsStreamsMax)
            }
        }
    }

    // MARK: - APNs

    private func judgeAPNs(
        _ request: borrowing ProviderRequest, on connection: ConnectionState, at moment: Moment,
        row: inout RecordRow, texts: inout RecordTexts
    ) -> Answer {
        let (routeReason, token) = APNsRules.route(request)
        texts.token = token
        texts.id = request.apnsID
        texts.topic = request.topic
        texts.collapse = request.collapseID
        if settings.acceptsAll {
            connection.isTrusted = true
            return routeReason == .none ? .accepted : .apns(routeReason)
        }
        let payload = APNsPayload.scan(request.body, markers: markers)
        texts.job = Self.text(payload.job, in: request.body)
        texts.thread = Self.text(payload.thread, in: request.body)
        row.badge = payload.hasBadge && !payload.badgeIsBad ? payload.badge : -1
        row.expiration = request.expiration.decimal ?? -1
        let (headerReason, type, priority) = APNsRules.headers(request, token: token)
        row.pushType = type
        row.priority = Int8(clamping: priority)
        if routeReason != .none { return .apns(routeReason) }
        let credentials = authority.check(
            request.authorization, memory: &connection.apns, environment: row.environment,
            nowS: moment.wallMs / 1000)
        if credentials != .none { return .apns(credentials) }
        connection.isTrusted = true
        if headerReason != .none { return .apns(headerReason) }
        let bundleID = APNsRules.bundleID(request.topic, type: type)
        if !authority.allows(bundleID: bundleID, memory: connection.apns) { return .apns(.topicDisallowed) }
        let sizeReason = APNsRules.size(request, type: type)
        if sizeReason != .none { return .apns(sizeReason) }
        let payloadReason = APNsRules.payload(payload, type: type)
        if payloadReason != .none { return .apns(payloadReason) }
        if devices.isIdle { return .accepted }
        let (deviceReason, timestampMs) = devices.checkAPNs(
            token: token, topic: request.topic, environment: row.environment)
        if deviceReason == .none { return .accepted }
        var answer = Answer.apns(deviceReason)
        answer.timestampMs = timestampMs
        return answer
    }

    private static func text(_ span: JSONSpan, in body: Bytes) -> Bytes {
        body.slice(Int(span.start), Int(span.start) + Int(span.count))
    }

    // MARK: - FCM

    private func judgeFCM(
        _ request: borrowing ProviderRequest, on connection: ConnectionState, at moment: Moment,
        row: inout RecordRow, texts: inout RecordTexts
    ) -> Answer {
        let (route, project) = FCMRules.route(method: request.method, path: request.path)
        if route == .wrongMethod { return .fcm(.methodNotAllowed) }
        guard route == .send else { return .fcm(.notFoundPage) }
        if !project.equals(connection.project) { connection.project = project.array }
        if settings.acceptsAll { return .accepted }
        let message = FCMMessage.scan(request.body, markers: markers)
        note(message, body: request.body, row: &row, texts: &texts)
        let credentials = oauth.check(
            request.authorization, project: project, memory: &connection.oauth, nowMs: moment.wallMs)
        if credentials != .none { return .fcm(credentials) }
        let answer = FCMRules.check(message, body: request.body)
        if !answer.isAccepted || devices.isIdle || message.target != .token { return answer }
        let device = devices.checkFCM(token: texts.token, project: project)
        return device == .none ? answer : .fcm(device)
    }

    private func note(
        _ message: borrowing FCMMessage, body: Bytes, row: inout RecordRow, texts: inout RecordTexts
    ) {
        let address = Self.text(message.address, in: body)
        if message.target == .token || message.target == .fid {
            texts.token = address
        } else {
            texts.topic = address
        }
        texts.collapse = Self.text(message.collapseKey, in: body)
        texts.thread = Self.text(message.tag, in: body)
        texts.job = Self.text(message.job, in: body)
        row.badge = max(-1, message.badge)
        row.expiration = message.ttlSeconds
        row.priority = message.isHigh ? 10 : 5
        row.validateOnly = message.validateOnly
    }
}
