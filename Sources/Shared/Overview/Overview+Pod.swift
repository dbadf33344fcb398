internal import Core

extension Overview {
    /// One line of `peal:pods`: what a process says of itself, about once a second.
    package struct Pod: Equatable, Sendable {
        /// A pod whose last beat is older than this is gone, in ms.
        package static let aliveMs: Int64 = 15_000

        /// Host name and process id.
        package var name: String
        /// `worker`, `retry`, `expand`, `gateway`, or what another version writes.
        package var role: String
        /// Of Peal; empty when it does not say.
        package var version = ""
        /// In ms since 1970, by the pod's own clock; 0 when it does not say.
        package var startedMs: Int64 = 0
        /// Its last beat, in ms since 1970, by the pod's own clock.
        package var beatMs: Int64
        /// Resident memory; 0 when it does not say.
        package var rssBytes: Int64 = 0
        /// Processor time since its start; 0 when it does not say.
        package var cpuMs: Int64 = 0
        /// The sentence of `/readyz` while it is not ready, or not quite; empty when it is.
        package var ready = ""
        /// What only its role tells.
        package var detail = Detail.other

        package init(name: String, role: String, beatMs: Int64, detail: Detail = .other) {
            self.name = name
            self.role = role
            self.beatMs = beatMs
            self.detail = detail
        }

        /// Whether it beat lately. A pod that stopped in good order has no line any more.
        package func isAlive(nowMs: Int64) -> Bool { nowMs - beatMs < Self.aliveMs }

        /// What only a role tells.
        package enum Detail: Equatable, Sendable {
            case worker(Worker)
            case retry(Retry)
            case gateway(Gateway)
            case expand(Expand)
            case other
        }

        /// What a worker tells. Numbers that it does not tell are 0.
        package struct Worker: Equatable, Sendable {
            package var lanes: [String] = []
            package var inFlight: Int64 = 0
            /// Unfinished jobs in its partitions, by lane. One of an older version tells only their sum, as
            /// lane `all`.
            package var lagByLane: [String: Int64] = [:]
            /// The age of its oldest unfinished job by lane, in ms.
            package var oldestMs: [String: Int64] = [:]
            /// Deliveries that ended a second, over the last few seconds.
            package var rate: Double = 0
            /// From publication to acceptance, in ms, lately.
            package var p50Ms: Int64 = 0
            package var p99Ms: Int64 = 0
            package var connections: Int64 = 0
            package var streams: Int64 = 0
            /// Routes whose circuit is open.
            package var circuits: [String] = []
            /// Lanes that it does not read for now.
            package var paused: [String] = []
            /// Complaints about credentials and the clock.
            package var faults: [String] = []
            /// Why it can't use Redis as it should; empty when it can.
            package var redis = ""
            /// The version of `peal:control` that it obeys; -1 when it knows none.
            package var control: Int64 = -1

            package init() {}

            /// All its unfinished jobs.
            package var lag: Int64 { lagByLane.values.reduce(0) { $0.adding($1) } }
        }

        /// What a retry pod tells.
        package struct Retry: Equatable, Sendable {
            /// Records in its partitions of the retry topics, by tier.
            package var depth: [String: Int64] = [:]
            /// Those of them that it has read and holds until they are due.
            package var held: Int64 = 0
            /// How late records are handed back, in ms.
            package var dueErrorP99Ms: Int64 = 0

            package init() {}
        }

        /// What a gateway tells.
        package struct Gateway: Equatable, Sendable {
            package var requestsPerSecond: Double = 0
            /// Requests that have no answer yet.
            package var inFlight: Int64 = 0
            /// Jobs published since its start.
            package var jobs: Int64 = 0

            package init() {}
        }

        /// What a pod of the broadcast stage tells.
        package struct Expand: Equatable, Sendable {
            /// Parts under way here, and those of them that are held back.
            package var parts: Int64 = 0
            package var partsPaused: Int64 = 0
            /// Recipients whose jobs it has published since its start.
            package var recipients: Int64 = 0

            package init() {}
        }
    }
}

// MARK: Reading

extension Overview.Pod {
    /// Reads a field and a value of `peal:pods`. Members that are missing or of another type count as not
    /// told; nil for what isn't the line of a pod at all.
    init?(field: String, value: String) {
        guard let line = try? JSONValue.parse(text: value), let role = line["role"]?.string,
            let beat = line["beat_ms"]?.integer
        else { return nil }
        self.init(name: Self.bounded(field), role: Self.bounded(role), beatMs: max(0, beat))
        version = line.text("version")
        startedMs = line.count("started_ms")
        rssBytes = line.count("rss_bytes")
        cpuMs = line.count("cpu_ms")
        ready = line.text("ready")
        switch role {
        case "worker": detail = .worker(Worker(line))
        case "retry":
            var facts = Retry()
            facts.depth = line.counts("depth")
            facts.held = line.count("held")
            facts.dueErrorP99Ms = line.count("due_error_p99_ms")
            detail = .retry(facts)
        case "gateway":
            var facts = Gateway()
            facts.requestsPerSecond = line.number("requests_per_s")
            facts.inFlight = line.count("in_flight")
            facts.jobs = line.count("jobs")
            detail = .gateway(facts)
        case "expand":
            var facts = Expand()
            facts.parts = line.count("parts")
            facts.partsPaused = line.count("parts_paused")
            facts.recipients = line.count("recipients")
            detail = .expand(facts)
        default: detail = .other
        }
    }

    /// A text that came from outside, cut to a length that a page can show.
    static func bounded(_ text: String, to limit: Int = 400) -> String {
        text.utf8.count <= limit ? text : String(decoding: text.utf8.prefix(limit), as: UTF8.self) + "…"
    }
}

extension Overview.Pod.Worker {
    fileprivate init(_ line: JSONValue) {
        lanes = line.texts("lanes")
        inFlight = line.count("in_flight")
        lagByLane = line.counts("lag_by_lane")
        if lagByLane.isEmpty, line.count("lag") > 0 { lagByLane = ["all": line.count("lag")] }
        oldestMs = line.counts("oldest_ms")
        rate = line.number("rate")
        p50Ms = line.count("p50_ms")
        p99Ms = line.count("p99_ms")
        connections = line.count("connections")
        streams = line.count("streams")
        circuits = line.texts("circuits")
        paused = line.texts("paused")
        faults = line.texts("faults")
        redis = line.text("redis")
        control = max(-1, line["control"]?.integer ?? -1)
    }
}

extension JSONValue {
    /// The most elements of a list or an object that are looked at.
    private static let elementsMax = 64

    fileprivate func text(_ name: String) -> String { Overview.Pod.bounded(self[name]?.string ?? "") }

    fileprivate func count(_ name: String) -> Int64 { max(0, self[name]?.integer ?? 0) }

    fileprivate func number(_ name: String) -> Double {
        guard case .number(let text)? = self[name], let value = Double(text), value.isFinite else { return 0 }
        return max(0, value)
    }

    fileprivate func texts(_ name: String) -> [String] {
        (self[name]?.array ?? []).prefix(Self.elementsMax)
            .compactMap { $0.string.map { Overview.Pod.bounded($0) } }
    }

    fileprivate func counts(_ name: String) -> [String: Int64] {
        var found: [String: Int64] = [:]
        for member in (self[name]?.members ?? []).prefix(Self.elementsMax) {
            if let count = member.value.integer { found[Overview.Pod.bounded(member.name)] = max(0, count) }
        }
        return found
    }
}
