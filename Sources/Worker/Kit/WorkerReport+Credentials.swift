internal import Core
internal import Decisions
internal import EventLoop
internal import HTTPServer
internal import Providers

/// The credentials' part of the report.
extension WorkerReport {
    /// Ready, with what an operator should know: one app's credential never takes the worker from the others.
    var readyWithCredentials: Health {
        let complaints = credentialComplaints
        return complaints.isEmpty ? .ok : .degraded(complaints.joined(separator: "; "))
    }

    /// What is wrong with credentials and the clock, a sentence each.
    var credentialComplaints: [String] {
        var complaints = reloads.complaints(nowMs: Clock.wallMs)
        for entry in credentials.entries where !entry.fault.isEmpty {
            complaints.append("\(entry.name) has no usable token: \(entry.fault)")
        }
        if credentials.skew.isAlarming(wallMs: Clock.wallMs, steadyMs: Int64(nowMs)) {
            complaints.append("this machine's clock is far off the providers'")
        }
        return complaints
    }
}
