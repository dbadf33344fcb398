import Decisions
import Testing

/// One row of the outcome table.
struct Row: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let verdict: Verdict
    let expected: Verdict

    init(_ name: String, _ verdict: Verdict, _ expected: Verdict) {
        testDescription = name
        self.verdict = verdict
        self.expected = expected
    }
}

let sentMs: Int64 = 1_700_000_100_000
let earlierMs: Int64 = 1_700_000_000_000

/// A delivery whose token was registered before it was sent.
func context(
    registered: Int64? = earlierMs, retryAfter: Int64? = nil, history: AttemptHistory = [],
    tokenUpdatesForMs: Int64 = 0, acceptedElsewhere: Bool = false
) -> DeliveryContext {
    DeliveryContext(
        registeredAtMs: registered, sentAtMs: sentMs, retryAfterMs: retryAfter, history: history,
        tokenUpdatesForMs: tokenUpdatesForMs, acceptedElsewhere: acceptedElsewhere)
}

func apns(_ status: Int, _ reason: String = "", timestamp: Int64? = nil, _ given: DeliveryContext = context())
    -> Verdict
{
    let time = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
    let body = reason.isEmpty ? "" : "{\"reason\":\"\(reason)\"\(time)}"
    return OutcomeTable.classify(apnsStatus: status, body: apnsBody(body), context: given)
}

func apnsBody(_ text: String) -> APNsErrorBody {
    Array(text.utf8).withUnsafeBytes { APNsErrorBody.parse($0) }
}

func fcmBody(_ text: String) -> FCMErrorBody {
    Array(text.utf8).withUnsafeBytes { FCMErrorBody.parse($0) }
}

/// A body as FCM sends it.
func fcmText(_ status: Int, _ rpc: String, _ details: String...) -> String {
    let list = details.joined(separator: ",")
    let head = "\"code\":\(status),\"message\":\"text\",\"status\":\"\(rpc)\""
    return "{\"error\":{\(head),\"details\":[\(list)]}}"
}

func fcmError(_ code: String) -> String {
    "{\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.FcmError\",\"errorCode\":\"\(code)\"}"
}

func apnsError(_ status: Int, _ reason: String) -> String {
    "{\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.ApnsError\","
        + "\"statusCode\":\(status),\"reason\":\"\(reason)\"}"
}

func badRequest(_ fields: String...) -> String {
    let list = fields.map { "{\"field\":\"\($0)\",\"description\":\"bad\"}" }.joined(separator: ",")
    return "{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":[\(list)]}"
}

func fcm(_ status: Int, _ body: String = "", _ given: DeliveryContext = context()) -> Verdict {
    OutcomeTable.classify(fcmStatus: status, body: fcmBody(body), context: given)
}
