import Core

/// The error codes of FCM's HTTP v1 API (google.firebase.fcm.v1.FcmError).
package enum FCMErrorCode: UInt8, CaseIterable, Sendable {
    /// The body has no FcmError.
    case none
    /// There is a code that this version does not know.
    case unknown
    case unspecified
    case invalidArgument
    case unregistered
    case senderIDMismatch
    case quotaExceeded
    case unavailable
    case internalError
    case thirdPartyAuth

    /// Reads a code's name; nil when it is none of ours.
    package static func parse(_ name: String) -> FCMErrorCode? {
        switch name {
        case "UNSPECIFIED_ERROR": .unspecified
        case "INVALID_ARGUMENT": .invalidArgument
        case "UNREGISTERED": .unregistered
        case "SENDER_ID_MISMATCH": .senderIDMismatch
        case "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED": .quotaExceeded
        case "UNAVAILABLE": .unavailable
        case "INTERNAL": .internalError
        case "THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR": .thirdPartyAuth
        default: nil
        }
    }

    /// Whether the name is FCM's own and not also a general google.rpc status, which proves less.
    var isSpecific: Bool {
        self == .unregistered || self == .senderIDMismatch || self == .thirdPartyAuth
    }
}

/// What an FCM error body says, in the order in which Google's own SDKs read it.
package struct FCMErrorBody: Equatable, Sendable {
    /// Which field a google.rpc.BadRequest complains about.
    package enum BadField: UInt8, Sendable { case none, token, other }
    /// Whose quota a google.rpc.QuotaFailure names.
    package enum Quota: UInt8, Sendable { case none, device, other }

    /// FcmError.errorCode, else a status or message that is one of FCM's own codes.
    package var code: FCMErrorCode = .none
    /// The reason in an ApnsError; `none` when there is no ApnsError.
    package var apnsReason: APNsReason = .none
    /// The status in an ApnsError; 0 when there is none.
    package var apnsStatus: Int = 0
    package var badField: BadField = .none
    package var quota: Quota = .none
    /// google.rpc.RetryInfo's delay in ms; nil when there is none.
    package var retryDelayMs: Int64?

    package init() {}

    /// Whether the body has an ApnsError.
    package var hasAPNsError: Bool { apnsReason != .none || apnsStatus != 0 }

    /// Reads a body of any kind. One that is empty or not JSON says nothing; the status then decides alone.
    package static func parse(_ bytes: UnsafeRawBufferPointer) -> FCMErrorBody {
        var body = FCMErrorBody()
        guard bytes.count > 0, let document = try? unsafe JSONValue.parse(bytes) else { return body }
        // An array around the object is what Google's front end sends for streaming methods.
        let outer = document.array?.first ?? document
        guard let error = outer["error"] else { return body }
        for detail in (error["details"]?.array ?? []).prefix(32) { body.read(detail) }
        if body.code == .none, let code = error["status"]?.string.flatMap(FCMErrorCode.parse), code.isSpecific
        {
            body.code = code
        }
        if body.code == .none, let code = error["message"]?.string.flatMap(FCMErrorCode.parse),
            code.isSpecific
        {
            body.code = code
        }
        return body
    }

    private mutating func read(_ detail: JSONValue) {
        guard let type = detail["@type"]?.string else { return }
        if type.hasSuffix("google.firebase.fcm.v1.FcmError") {
            guard let name = detail["errorCode"]?.string else { return }
            code = FCMErrorCode.parse(name) ?? .unknown
        } else if type.hasSuffix("google.firebase.fcm.v1.ApnsError") {
            apnsReason = APNsReason.parse(detail["reason"]?.string ?? "")
            let status = detail["statusCode"]?.wholeNumber ?? 0
            apnsStatus = (100...599).contains(status) ? Int(status) : apnsReason.status
        } else if type.hasSuffix("google.rpc.BadRequest") {
            badField = Self.badField(detail["fieldViolations"]?.array ?? [])
        } else if type.hasSuffix("google.rpc.QuotaFailure") {
            quota = Self.quota(detail["violations"]?.array ?? [])
        } else if type.hasSuffix("google.rpc.RetryInfo") {
            retryDelayMs = detail["retryDelay"]?.string.flatMap(Self.durationMs)
        }
    }

    /// A complaint about the token counts only when nothing else is wrong: a token is never deleted for a bad
    /// field.
    private static func badField(_ violations: [JSONValue]) -> BadField {
        let fields = violations.prefix(32).map { $0["field"]?.string ?? "" }
        guard !fields.isEmpty else { return .none }
        let names: Set = ["message.token", "token", "message.fid", "fid"]
        return fields.allSatisfy { names.contains($0) } ? .token : .other
    }

    private static func quota(_ violations: [JSONValue]) -> Quota {
        guard !violations.isEmpty else { return .other }
        let isDevice = violations.prefix(32).contains { violation in
            ["subject", "description"].contains { name in
                (violation[name]?.string ?? "").lowercased().contains("device")
            }
        }
        return isDevice ? .device : .other
    }

    /// Reads a protobuf JSON duration such as `30s` or `1.5s`, at most a day.
    static func durationMs(_ text: String) -> Int64? {
        guard text.hasSuffix("s"), let seconds = Double(text.dropLast()), seconds >= 0 else { return nil }
        return Int64(min(seconds, 86_400) * 1000)
    }
}
