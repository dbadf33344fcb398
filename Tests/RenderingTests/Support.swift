import Core
import Jobs
import Testing

@testable import Rendering

/// 2027-01-15T08:00:00Z.
let now: Int64 = 1_800_000_000_000

/// What a rendering gave.
struct Rendered<Head> {
    var body: String
    var head: Head
}

/// A job for a recipient with more members.
func job(_ members: String) -> String {
    "{\"app\":\"shop\",\"to\":{\"recipient\":\"r\"},\(members)}"
}

func withJob<R>(_ text: String, _ body: (Job) throws -> R) throws -> R {
    let parser = try #require(JobParser())
    return try Array(text.utf8).withUnsafeBytes { bytes in
        var job = Job()
        let fault = parser.parse(bytes, into: &job)
        try #require(fault == nil, "\(fault?.description ?? "")")
        return try body(job)
    }
}

/// What of an APNs head can outlive its job.
struct HeadCopy: Equatable {
    var result: RenderResult
    var pushType: JobType
    var priority: UInt8
    var expiration: Int64?
    var collapseID: String?
    var topic: String
}

/// Renders for APNs behind bytes that must stay.
func apns(_ text: String, _ settings: RenderSettings, badge: Int64? = nil, expiresAtMs: Int64? = nil) throws
    -> Rendered<HeadCopy>
{
    try withJob(text) { job in
        let renderer = Renderer(settings: settings)
        var out = ByteBuffer()
        out.append("FRAME")
        let head = renderer.renderAPNs(
            job, at: RenderMoment(badge: badge, expiresAtMs: expiresAtMs, nowMs: now), into: &out)
        try #require(out.text.hasPrefix("FRAME"))
        var topic = ""
        renderer.withTopic(head) { topic = String(decoding: $0, as: UTF8.self) }
        let copy = HeadCopy(
            result: head.result, pushType: head.pushType, priority: head.priority,
            expiration: head.expiration,
            collapseID: head.collapseID?.string, topic: topic)
        return Rendered(body: String(out.text.dropFirst(5)), head: copy)
    }
}

/// Renders for FCM behind bytes that must stay.
func fcm(
    _ text: String, _ settings: RenderSettings, platform: Platform = .android, kind: FCMTargetKind = .token,
    token: String = "TOKEN", badge: Int64? = nil, expiresAtMs: Int64? = nil
) throws -> Rendered<RenderResult> {
    try withJob(text) { job in
        let renderer = Renderer(settings: settings)
        var out = ByteBuffer()
        out.append("FRAME")
        let result = Array(token.utf8).withUnsafeBytes { token in
            renderer.renderFCM(
                job, for: DeviceView(platform: platform, targetKind: kind, token: token),
                at: RenderMoment(badge: badge, expiresAtMs: expiresAtMs, nowMs: now), into: &out)
        }
        try #require(out.text.hasPrefix("FRAME"))
        return Rendered(body: String(out.text.dropFirst(5)), head: result)
    }
}
