internal import Core
internal import Decisions
internal import Registry
internal import Terminal

/// What `peal control` has to say.
struct ControlReport {
    var verb: ControlOrder.Verb
    /// The version that the change made; nil when nothing was changed.
    var change: Int64?
    var state = ControlState()
    var pods: [ControlPod] = []
    var nowMs: Int64 = 0
    /// What was not checked, as a sentence; nil for nothing.
    var note: String?

    init(verb: ControlOrder.Verb) { self.verb = verb }

    /// The version that the pods are measured by: that of the change, else what is written now.
    private var version: Int64 { change ?? state.version }

    /// Pods that do not obey it yet.
    var late: [ControlPod] { pods.filter { $0.version < version } }

    /// 0 when it is in force everywhere; 1 when a pod has not confirmed, or there was nothing to take back.
    var exitCode: Int32 {
        if verb == .list { return 0 }
        return change == nil || !late.isEmpty ? 1 : 0
    }

    private var entries: [ControlEntry] { state.entries.filter { $0.isInForce(nowMs: nowMs) } }

    /// For people.
    func text(style: TextStyle) -> String {
        var out = ""
        if verb != .list {
            let nothing = verb.isAboutLogs ? "No log level was ordered.\n" : "There was nothing to resume.\n"
            out += change.map { "Version \($0) is written.\n" } ?? nothing
        }
        if let note { out += note + "\n" }
        if entries.isEmpty {
            out += "Nothing is paused or cancelled.\n"
        } else {
            var table = TextTable([
                .init("what"), .init("state"), .init("since", .right), .init("ends in", .right), .init("by"),
                .init("reason"),
            ])
            for entry in entries {
                table.add([
                    entry.subject.words, entry.action == .pause ? "paused" : "cancelled",
                    entry.atMs > 0 ? Self.span(nowMs - entry.atMs) : "",
                    entry.untilMs.map { Self.span($0 - nowMs) } ?? "", entry.by, entry.reason,
                ])
            }
            out += table.render(style: style)
        }
        return out + logText(style: style) + podsText(style: style)
    }

    private var logOrders: [LogOrder] { state.logOrders.filter { $0.isInForce(nowMs: nowMs) } }

    private func logText(style: TextStyle) -> String {
        guard !logOrders.isEmpty else {
            return verb.isAboutLogs ? "All processes log as they are configured.\n" : ""
        }
        var table = TextTable([
            .init("log level"), .init("since", .right), .init("ends in", .right), .init("by"),
        ])
        for order in logOrders {
            table.add([
                order.words, order.atMs > 0 ? Self.span(nowMs - order.atMs) : "",
                Self.span(order.untilMs - nowMs), order.by,
            ])
        }
        return table.render(style: style)
    }

    private func podsText(style: TextStyle) -> String {
        guard !pods.isEmpty else { return "No worker is running that could obey.\n" }
        if late.isEmpty {
            let others = verb.isAboutLogs ? " The other services follow within two seconds." : ""
            return "In force on all \(pods.count) workers.\(others)\n"
        }
        var out = "Not confirmed within 2 s by \(late.count) of \(pods.count) workers:\n"
        if verb == .list { out = "Not yet in force on \(late.count) of \(pods.count) workers:\n" }
        var table = TextTable([.init("pod"), .init("version", .right), .init("last beat", .right)])
        for pod in late {
            table.add([
                pod.name, pod.version < 0 ? "none" : "\(pod.version) of \(version)",
                "\(Self.span(nowMs - pod.beatMs)) ago",
            ])
        }
        out += table.render(style: style, indent: 2)
        return out
    }

    private static func span(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds) / 1000
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) d"
        }
    }

    /// For programs.
    var json: String {
        var out = ByteBuffer(capacity: 1024)
        out.append(text: "{\"version\":\(state.version),\"changed\":\(change != nil),\"entries\":[")
        for (position, entry) in entries.enumerated() {
            if position > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append("{\"field\":")
            out.append(jsonString: entry.subject.field)
            out.append(text: ",\"entry\":\(entry.value)}")
        }
        out.append("],\"log\":[")
        for (position, order) in logOrders.enumerated() {
            if position > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append("{\"field\":")
            out.append(jsonString: order.field)
            out.append(text: ",\"order\":\(order.value)}")
        }
        out.append("],\"pods\":[")
        for (position, pod) in pods.enumerated() {
            if position > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append("{\"name\":")
            out.append(jsonString: pod.name)
            out.append(
                text: ",\"version\":\(pod.version),\"obeys\":\(pod.version >= version),"
                    + "\"beat_ms\":\(pod.beatMs)}")
        }
        out.append(text: "],\"in_force\":\(late.isEmpty)")
        if let note {
            out.append(",\"note\":")
            out.append(jsonString: note)
        }
        out.append("}\n")
        return out.text
    }
}

extension ControlEntry.Subject {
    /// The app that it is about; nil for none in particular.
    var appName: String? {
        switch self {
        case .app(let app), .campaign(let app, _), .job(let app, _): app
        case .provider(_, let app): app
        }
    }

    /// What it is, for people.
    var words: String {
        switch self {
        case .app(let app): "app \(app)"
        case .provider(let provider, nil): "provider \(provider.name), all apps"
        case .provider(let provider, let app?): "provider \(provider.name) of \(app)"
        case .campaign(let app, let name): "campaign \(name) of \(app)"
        case .job(let app, let id): "job \(id) of \(app)"
        }
    }
}
