import Core
import HTTP2

/// Writes the responses of both services: headers and bodies, without allocating for the common ones.
///
/// - Threading: the simulator's loop only.
final class Responder {
    private var headers = ResponseHeaders()
    private var scratch = ByteBuffer(capacity: 512)
    private var random: UInt64
    /// The second that ``date`` is the text of.
    private var dateS: Int64 = -1
    private var date: [UInt8] = []
    private var fcmBodies: [UInt64: [UInt8]] = [:]
    private static let page = Array(
        ("<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Error</h1>"
            + "<p>The server encountered a temporary error.</p></body></html>").utf8)
    private static let html = Array("text/html; charset=UTF-8".utf8)
    private static let json = Array("application/json; charset=UTF-8".utf8)

    init(seed: UInt64) { random = seed }

    /// Sends the answer on its stream.
    func send(
        _ answer: Answer, to stream: Int32, id: AnswerID, rule: FaultRule?, state: ConnectionState,
        connection: HTTP2ServerConnection, wallMs: Int64
    ) {
        headers.clear()
        scratch.clear()
        if state.listener.provider == .apns {
            addIDs(id, sandbox: state.listener == .sandbox)
            apnsBody(answer, rule: rule, wallMs: wallMs)
        } else {
            fcmBody(answer, rule: rule, project: state.project, wallMs: wallMs)
        }
        if answer.retryAfter > 0, answer.retryAfterIsDate {
            add(.retryAfter, Array(HTTPDate.text(ms: wallMs + Int64(answer.retryAfter) * 1000).utf8))
        } else if answer.retryAfter > 0 {
            headers.add(.retryAfter, decimal: UInt64(answer.retryAfter))
        }
        // An accepted push has no date: it would cost a header for each, and nobody reads it.
        if answer.status >= 400 { addDate(wallMs) }
        unsafe connection.respond(stream, status: answer.status, headers: headers, body: scratch.bytes)
    }

    /// Sends a JSON document, for the token endpoint.
    func send(
        json: [UInt8], status: UInt16, to stream: Int32, connection: HTTP2ServerConnection, wallMs: Int64
    ) {
        headers.clear()
        add(.contentType, Self.json)
        addDate(wallMs)
        unsafe json.withUnsafeBytes {
            _ = unsafe connection.respond(stream, status: status, headers: headers, body: $0)
        }
    }

    private func addDate(_ wallMs: Int64) {
        if wallMs / 1000 != dateS {
            dateS = wallMs / 1000
            date = Array(HTTPDate.text(ms: wallMs).utf8)
        }
        add(.date, date)
    }

    private func add(_ header: ResponseHeader, _ value: [UInt8]) {
        unsafe value.withUnsafeBytes { unsafe headers.add(header, $0) }
    }

    private func addIDs(_ id: AnswerID, sandbox: Bool) {
        switch id {
        case .borrowed(let bytes) where bytes.count == 36: unsafe headers.add(.apnsID, bytes.raw)
        case .kept(let id) where id.isPresent: unsafe id.withBytes { unsafe headers.add(.apnsID, $0) }
        default: unsafe makeID().withBytes { unsafe headers.add(.apnsID, $0) }
        }
        // Only the development environment names the entry in the delivery log.
        if sandbox { unsafe makeID().withBytes { unsafe headers.add(.apnsUniqueID, $0) } }
    }

    private func makeID() -> RequestID {
        random = Hash64.mix(random &+ 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F)
        let low = Hash64.mix(random, 0x8EBC_6AF0_9C88_C6E3)
        return RequestID(
            high: random & ~0xF000 | 0x4000, low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
    }

    // MARK: - Bodies

    private func apnsBody(_ answer: Answer, rule: FaultRule?, wallMs: Int64) {
        guard answer.body == .json || answer.body == .truncated else { return special(answer, rule: rule) }
        let timestamp = answer.timestampMs > 0 ? answer.timestampMs : wallMs - Int64(answer.ageSeconds) * 1000
        if let reason = APNsReason(rawValue: answer.reason) {
            guard reason != .none else { return }
            scratch.append(array: APNsReason.bodies[Int(answer.reason)])
        } else {
            scratch.append("{\"reason\":\"SomethingNew\"}")
        }
        if answer.status == 410, !answer.withoutTimestamp {
            scratch.truncate(to: scratch.count - 1)
            scratch.append(",\"timestamp\":")
            scratch.append(decimal: max(0, timestamp))
            scratch.append("}")
        }
        if answer.body == .truncated { scratch.truncate(to: scratch.count / 2) }
        headers.add(.contentType, "application/json")
    }

    private func fcmBody(_ answer: Answer, rule: FaultRule?, project: [UInt8], wallMs: Int64) {
        guard answer.body == .json || answer.body == .truncated else { return special(answer, rule: rule) }
        add(.contentType, Self.json)
        if answer.isAccepted {
            scratch.append("{\"name\":\"projects/")
            scratch.append(array: project)
            scratch.append("/messages/0:")
            scratch.append(decimal: wallMs)
            scratch.append("%")
            random = Hash64.mix(random &+ 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F)
            for shift in stride(from: 60, through: 0, by: -4) {
                scratch.append(byte: Hex.digit(UInt8(truncatingIfNeeded: random >> UInt64(shift))))
            }
            scratch.append("\"}")
        } else {
            scratch.append(array: fcmError(answer))
        }
        if answer.body == .truncated { scratch.truncate(to: scratch.count / 2) }
    }

    private func fcmError(_ answer: Answer) -> [UInt8] {
        let key =
            UInt64(answer.status) << 32 | UInt64(answer.reason) << 16 | UInt64(answer.apnsReason) << 8
            | UInt64(answer.field.rawValue)
        if let known = fcmBodies[key] { return known }
        let body = FCMError.render(answer)
        if fcmBodies.count < 1024 { fcmBodies[key] = body }
        return body
    }

    private func special(_ answer: Answer, rule: FaultRule?) {
        switch answer.body {
        case .html:
            add(.contentType, Self.html)
            scratch.append(array: Self.page)
        case .custom:
            guard let rule, let text = rule.text else { return }
            add(.contentType, rule.contentType)
            scratch.append(array: text)
        case .empty, .json, .truncated: return
        }
    }
}
