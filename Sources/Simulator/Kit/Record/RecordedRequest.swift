package import Core

/// One request as the record gives it back.
package struct RecordedRequest: Sendable {
    /// The request's place in the record, counted from zero since the last clearing.
    package var index = 0
    package var provider = Provider.apns
    /// Always production for FCM.
    package var environment = PushEnvironment.production
    package var token = ""
    /// The `apns-id` that the request carried; empty when it had none, and for FCM.
    package var id = ""
    package var job = ""
    /// The APNs topic, or the FCM topic or condition.
    package var topic = ""
    package var collapse = ""
    package var thread = ""
    package var pushType = APNsPushType.none
    /// APNs: 1, 5, 10; FCM: 10 for HIGH, 5 otherwise.
    package var priority = 0
    /// APNs: the absolute second of `apns-expiration`; FCM: the time to live in seconds. Nil when missing.
    package var expiration: Int64?
    package var badge: Int64?
    package var bodyCount = 0
    package var bodyHash: UInt64 = 0
    /// The body when the simulator keeps bodies; empty otherwise.
    package var body: [UInt8] = []
    package var action = Answer.Action.respond
    /// The status answered; zero when no response was sent.
    package var status = 0
    /// The APNs reason or FCM error answered; empty for success.
    package var reason = ""
    /// What the rules said about the request, also when a fault overruled them; empty when it passed.
    package var verdict = ""
    /// Whether a scripted fault or a speaking token chose the answer.
    package var byFault = false
    /// Whether the device got the message.
    package var delivered = false
    /// Whether FCM was only asked to validate.
    package var validateOnly = false
    package var connection = 0
    /// The TCP port that the client sent it from.
    package var peerPort = 0
    package var stream = 0
    /// Milliseconds since 1970.
    package var arrivalMs: Int64 = 0

    /// Appends the request as a JSON object.
    package func append(json buffer: inout ByteBuffer) {
        func text(_ name: StaticString, _ value: String) {
            guard !value.isEmpty else { return }
            buffer.append(",\"")
            buffer.append(name)
            buffer.append("\":")
            buffer.append(jsonString: value)
        }
        func number(_ name: StaticString, _ value: Int64?) {
            guard let value else { return }
            buffer.append(",\"")
            buffer.append(name)
            buffer.append("\":")
            buffer.append(decimal: value)
        }
        buffer.append("{\"index\":")
        buffer.append(decimal: Int64(index))
        text("provider", provider.name)
        text("environment", environment.name)
        text("token", token)
        text("apns_id", id)
        text("job", job)
        text("topic", topic)
        text("collapse", collapse)
        text("thread", thread)
        text("push_type", pushType == .none ? "" : "\(pushType)")
        number("priority", Int64(priority))
        number("expiration", expiration)
        number("badge", badge)
        number("body_bytes", Int64(bodyCount))
        text("body_hash", String(bodyHash, radix: 16))
        text("body", String(decoding: body, as: UTF8.self))
        text("action", action.name)
        number("status", Int64(status))
        text("reason", reason)
        text("verdict", verdict)
        buffer.append(byFault ? ",\"by_fault\":true" : ",\"by_fault\":false")
        buffer.append(delivered ? ",\"delivered\":true" : ",\"delivered\":false")
        if validateOnly { buffer.append(",\"validate_only\":true") }
        number("connection", Int64(connection))
        number("stream", Int64(stream))
        number("peer_port", Int64(peerPort))
        number("arrival_ms", arrivalMs)
        buffer.append("}")
    }
}
