/// What the simulator does with one request: the answer of the rules, or a scripted fault.
///
/// A plain value without references, so that a request costs no allocation.
package struct Answer: Sendable, Equatable {
    /// What happens on the wire.
    package enum Action: UInt8, Sendable, CaseIterable {
        /// A response with ``status``.
        case respond
        /// Nothing is ever sent; the stream stays open.
        case swallow
        /// RST_STREAM with ``errorCode``.
        case reset
        /// GOAWAY with ``lastStream`` and ``errorCode``; the streams up to it are still answered.
        case goaway
        /// The socket closes without TLS' or HTTP/2's farewell.
        case kill
        /// TLS' close_notify, then the socket closes, without GOAWAY.
        case closeTLS

        /// The word used in the record and the fault script.
        package var name: String {
            switch self {
            case .respond: "respond"
            case .swallow: "swallow"
            case .reset: "reset"
            case .goaway: "goaway"
            case .kill: "kill"
            case .closeTLS: "tls_close"
            }
        }
    }

    /// What the response carries as its body.
    package enum Body: UInt8, Sendable, CaseIterable {
        /// The service's documented JSON.
        case json
        /// A proxy's HTML page.
        case html
        case empty
        /// The documented JSON, cut in half.
        case truncated
        /// The body of the fault rule.
        case custom
    }

    /// Which last-stream-id a GOAWAY names.
    package enum LastStream: UInt8, Sendable, CaseIterable {
        /// The stream before the one that met the fault: that one was not processed.
        case previous
        /// The stream that met the fault, which is answered as usual.
        case this
        /// Zero: nothing was processed.
        case none
        /// 2^31-1: a polite notice, nothing is refused.
        case all
        /// The number in ``streamID``.
        case exact
    }

    package var action: Action = .respond
    package var body: Body = .json
    package var lastStream: LastStream = .previous
    package var status: UInt16 = 200
    /// An ``APNsReason`` or ``FCMError``, by raw value; for FCM, ``apnsReason`` may wrap one of APNs'.
    package var reason: UInt8 = 0
    package var apnsReason: UInt8 = 0
    /// Which part of the message an FCM 400 complains about.
    package var field: FCMField = .none
    /// Whether the device got the message although the answer says otherwise (or never comes).
    package var delivered = false
    /// Whether a 410 leaves its timestamp out.
    package var withoutTimestamp = false
    /// Whether Retry-After is a date instead of seconds.
    package var retryAfterIsDate = false
    /// How long the answer waits.
    package var delayMs: UInt32 = 0
    /// The Retry-After header in seconds; zero leaves it out.
    package var retryAfter: UInt32 = 0
    /// The HTTP/2 error code of a reset or GOAWAY (RFC 9113 section 7).
    package var errorCode: UInt32 = 0
    /// How many seconds before now the timestamp of a 410 lies.
    package var ageSeconds: UInt32 = 0
    /// The timestamp of a 410 in milliseconds since 1970; zero takes now, less ``ageSeconds``.
    package var timestampMs: Int64 = 0
    package var streamID: UInt32 = 0
    /// A new stream limit announced before the answer; negative leaves the limit alone.
    package var streamsMax: Int32 = -1
    /// The fault rule that asked for this, or -1.
    package var rule: Int32 = -1

    package init() {}

    /// The request is accepted.
    package static let accepted: Answer = {
        var answer = Answer()
        answer.delivered = true
        return answer
    }()

    /// APNs refuses with this reason and its status.
    package static func apns(_ reason: APNsReason) -> Answer {
        var answer = Answer()
        answer.status = reason.status
        answer.reason = reason.rawValue
        answer.delivered = reason == .none
        return answer
    }

    /// FCM refuses with this error and its status.
    package static func fcm(_ error: FCMError, field: FCMField = .none) -> Answer {
        var answer = Answer()
        answer.status = error.status
        answer.reason = error.rawValue
        answer.body = error.bodyStyle
        answer.field = field
        answer.delivered = error == .none
        return answer
    }

    /// Something other than a response happens on the wire.
    package static func transport(_ action: Action, errorCode: UInt32 = 0, delivered: Bool = false) -> Answer
    {
        var answer = Answer()
        answer.action = action
        answer.errorCode = errorCode
        answer.delivered = delivered
        answer.status = 0
        return answer
    }

    /// Whether the service said yes and the answer goes out.
    package var isAccepted: Bool { action == .respond && status >= 200 && status < 300 }
}
