/// What the pods' lines say: who is gone, and what those that live complain about.
struct PodRules {
    private let overview: Overview
    private let limits: Diagnosis.Limits
    private let history: DiagnosisHistory
    private let alive: [Overview.Pod]

    init(_ overview: Overview, _ limits: Diagnosis.Limits, _ history: DiagnosisHistory) {
        self.overview = overview
        self.limits = limits
        self.history = history
        alive = overview.alivePods
    }

    var findings: [Finding] { missing + redis + kafka + clocks + faults + keys }

    private var nowMs: Int64 { overview.nowMs }

    // MARK: Who is gone

    private var missing: [Finding] {
        // A pod whose clock is slow looks gone, but its line changes.
        let gone = overview.pods.filter { !$0.isAlive(nowMs: nowMs) && !history.isBeating($0, nowMs: nowMs) }
        let hasWorker = overview.pods.contains { $0.role == "worker" && !gone.contains($0) }
        var found: [Finding] = []
        if !hasWorker { found.append(none(gone)) }
        for pod in gone where hasWorker || pod.role != "worker" { found.append(lost(pod)) }
        return found
    }

    private func none(_ gone: [Overview.Pod]) -> Finding {
        let workers = gone.filter { $0.role == "worker" }.sorted { $0.beatMs > $1.beatMs }
        var sentence = "No worker is running, so nothing is sent."
        var sinceMs: Int64?
        if let last = workers.first {
            sinceMs = last.beatMs
            let ago = Words.span(ms: nowMs - last.beatMs)
            sentence = "No worker is running, so nothing is sent: \(last.name) was the last one, \(ago) ago."
            if alive.isEmpty, gone.count > 1, isSameMoment(gone) {
                sentence =
                    "All \(gone.count) pods fell silent at the same moment, \(ago) ago: they have ended, or "
                    + "none of them can write to this Redis."
            }
        }
        return Finding(
            .critical, .podsNone, .everything, sentence, sinceMs: sinceMs,
            lever: "peal-worker --config peal.yaml")
    }

    private func isSameMoment(_ pods: [Overview.Pod]) -> Bool {
        let beats = pods.map(\.beatMs)
        return (beats.max() ?? 0) - (beats.min() ?? 0) < 5000
    }

    private func lost(_ pod: Overview.Pod) -> Finding {
        let host = Self.host(of: pod)
        let ago = nowMs - pod.beatMs
        let heir = alive.first { other in
            other.role == pod.role && other.startedMs > pod.beatMs - 60_000
                && Self.host(of: other) == host
        }
        let lever = Words.shell(pod.name).map { "redis-cli HDEL peal:pods \($0)" } ?? ""
        let what = Self.article(pod.role)
        if let heir {
            return Finding(
                .info, .workerGone, .pod(pod.name),
                "\(what) \(pod.name) ended without saying goodbye \(Words.span(ms: ago)) ago; \(heir.name) "
                    + "took its place.", sinceMs: pod.beatMs, lever: lever)
        }
        if ago > limits.goneMs {
            return Finding(
                .info, .workerGone, .pod(pod.name),
                "\(what) \(pod.name) has been gone for \(Words.span(ms: ago)); remove its line if it won't "
                    + "come back.", sinceMs: pod.beatMs, lever: lever)
        }
        let consequence =
            switch pod.role {
            case "worker": ": its partitions wait until the broker gives them to another worker"
            case "retry": ": its partitions wait until the broker gives them to another retry pod"
            default: ""
            }
        return Finding(
            .warning, .workerGone, .pod(pod.name),
            "\(what) \(pod.name) has not been heard of for \(Words.span(ms: ago))\(consequence).",
            sinceMs: pod.beatMs)
    }

    /// The name without the process id behind it.
    private static func host(of pod: Overview.Pod) -> Substring {
        guard let mark = pod.name.lastIndex(where: { $0 == ":" || $0 == "/" }) else { return pod.name[...] }
        return pod.name[..<mark]
    }

    private static func article(_ role: String) -> String {
        switch role {
        case "worker": "Worker"
        case "retry": "Retry pod"
        case "gateway": "Gateway"
        case "expand": "Broadcast stage"
        default: "Pod"
        }
    }

    // MARK: What they can't reach

    /// One finding for each role, since one outage shows at many pods.
    private func grouped(
        _ cause: Finding.Cause, _ verb: String, lever: String,
        _ complaint: (Overview.Pod) -> String?
    ) -> [Finding] {
        var found: [Finding] = []
        for role in Set(alive.map(\.role)).sorted() {
            let all = alive.filter { $0.role == role }
            let hit = all.compactMap { pod in complaint(pod).map { (pod: pod, text: $0) } }
            guard let first = hit.first else { continue }
            let why = Words.clause(first.text)
            let what = Self.article(role)
            found.append(
                Finding(
                    hit.count == all.count && (role == "worker" || role == "gateway") ? .critical : .warning,
                    cause, hit.count == 1 ? .pod(first.pod.name) : .pods(role: role),
                    hit.count == 1
                        ? "\(what) \(first.pod.name) \(verb): \(why)."
                        : "\(hit.count) of \(all.count) \(role) pods \(Self.plural(verb)): \(why).",
                    lever: lever))
        }
        return found
    }

    private static func plural(_ verb: String) -> String {
        verb.hasPrefix("has ") ? "have " + verb.dropFirst(4) : verb
    }

    private var redis: [Finding] {
        grouped(.redisAway, "can't use Redis", lever: "peal check") { pod in
            if case .worker(let facts) = pod.detail, !facts.redis.isEmpty { return facts.redis }
            return pod.ready.contains("Redis") ? pod.ready : nil
        }
    }

    private var kafka: [Finding] {
        grouped(.kafkaAway, "can't reach Kafka", lever: "peal check") { pod in
            let text = pod.ready
            if text.contains("can't reach Kafka") || text.contains("No Kafka broker") { return text }
            // Joining takes a moment at the start.
            let isNew = pod.startedMs > 0 && nowMs - pod.startedMs < limits.joinMs
            return text.contains("not joined its consumer group") && !isNew ? text : nil
        }
    }

    // MARK: Clocks and credentials

    private var clocks: [Finding] {
        var found: [Finding] = []
        for pod in overview.pods {
            let ahead = pod.beatMs - nowMs
            let behind = nowMs - pod.beatMs
            if ahead > limits.clockAheadMs {
                found.append(skew(pod, "is \(Words.span(ms: ahead)) ahead of Redis'"))
            } else if behind > Overview.Pod.aliveMs, history.isBeating(pod, nowMs: nowMs) {
                found.append(skew(pod, "is \(Words.span(ms: behind)) behind Redis'"))
            }
        }
        return found
    }

    private func skew(_ pod: Overview.Pod, _ how: String) -> Finding {
        Finding(
            .warning, .clockSkew, .pod(pod.name),
            "The clock of \(pod.name) \(how): deadlines, quiet hours and provider tokens go wrong.",
            lever: "timedatectl set-ntp true")
    }

    /// The workers' complaints, each once however many workers have it.
    private var faults: [Finding] {
        var pods: [String: [String]] = [:]
        for (pod, facts) in overview.workers {
            for text in Set(facts.faults) { pods[text, default: []].append(pod.name) }
        }
        return pods.sorted { $0.key < $1.key }.map { text, names in fault(text, names.sorted()) }
    }

    /// Gateways that can't read their keys anew: the old ones stay in use.
    private var keys: [Finding] {
        grouped(.credentialRefused, "can't read its keys", lever: "peal check") { pod in
            pod.role == "gateway" && pod.ready.contains("keys file") ? pod.ready : nil
        }.map { finding in
            var finding = finding
            finding.severity = .warning
            return finding
        }
    }

    private func fault(_ text: String, _ pods: [String]) -> Finding {
        let all = overview.workers.count
        let who = pods.count == all ? "" : " (\(Words.list(pods)))"
        let sentence = Words.clause(text.prefix(1).uppercased() + text.dropFirst()) + who + "."
        if text.contains("clock is far off") {
            return Finding(
                .warning, .clockSkew, pods.count == 1 ? .pod(pods[0]) : .pods(role: "worker"),
                "The clock of \(Words.list(pods)) is far off the providers': their tokens may be refused.",
                lever: "timedatectl set-ntp true")
        }
        if text.contains("has expired") || text.contains("expires in") {
            let name = Self.word(of: text, after: "certificate of ")
            return Finding(
                text.contains("has expired") ? .critical : .warning,
                text.contains("has expired") ? .credentialRefused : .credentialExpiring, .route(name),
                sentence, lever: "peal check")
        }
        if let end = text.firstRange(of: " has no usable token") {
            let name = String(text[..<end.lowerBound])
            return Finding(.critical, .credentialRefused, .route(name), sentence, lever: "peal check")
        }
        // A change that can't be used: the old credentials stay in use.
        return Finding(.warning, .credentialRefused, .route(""), sentence, lever: "peal check")
    }

    private static func word(of text: String, after mark: String) -> String {
        guard let at = text.firstRange(of: mark) else { return "" }
        return String(text[at.upperBound...].prefix { $0 != " " })
    }
}
