/// The errors that FCM's HTTP v1 API answers with, and those of the servers in front of it.
package enum FCMError: UInt8, CaseIterable, Sendable {
    case none
    /// `FcmError` INVALID_ARGUMENT alone: token or payload, it doesn't say.
    case invalidArgument
    /// `BadRequest` on `message.token`.
    case badToken
    /// `BadRequest` on another field.
    case badField
    /// The body is no JSON or not a request at all.
    case badBody
    /// An APNs reason inside an INVALID_ARGUMENT, as iOS tokens get it.
    case apnsError
    case unregistered, senderIDMismatch, quotaExceeded, deviceQuota, unavailable, internalError
    case thirdPartyAuth, apnsAuth, unspecified
    case unauthenticated, permissionDenied, notFound, notFoundPage, methodNotAllowed
    case badGateway, gatewayTimeout, unavailablePage

    /// The word by which tokens and fault scripts ask for it.
    package var name: String {
        switch self {
        case .none: "OK"
        case .invalidArgument: "INVALID_ARGUMENT"
        case .badToken: "BAD_TOKEN"
        case .badField: "BAD_FIELD"
        case .badBody: "BAD_BODY"
        case .apnsError: "APNS_ERROR"
        case .unregistered: "UNREGISTERED"
        case .senderIDMismatch: "SENDER_ID_MISMATCH"
        case .quotaExceeded: "QUOTA_EXCEEDED"
        case .deviceQuota: "DEVICE_QUOTA"
        case .unavailable: "UNAVAILABLE"
        case .internalError: "INTERNAL"
        case .thirdPartyAuth: "THIRD_PARTY_AUTH_ERROR"
        case .apnsAuth: "APNS_AUTH_ERROR"
        case .unspecified: "UNSPECIFIED_ERROR"
        case .unauthenticated: "UNAUTHENTICATED"
        case .permissionDenied: "PERMISSION_DENIED"
        case .notFound: "NOT_FOUND"
        case .notFoundPage: "NOT_FOUND_PAGE"
        case .methodNotAllowed: "METHOD_NOT_ALLOWED"
        case .badGateway: "BAD_GATEWAY"
        case .gatewayTimeout: "GATEWAY_TIMEOUT"
        case .unavailablePage: "UNAVAILABLE_PAGE"
        }
    }

    /// The error with this name, or nil.
    package static func named(_ name: String) -> FCMError? { allCases.first { $0.name == name } }

    /// The HTTP status that goes with it.
    package var status: UInt16 {
        switch self {
        case .none: 200
        case .invalidArgument, .badToken, .badField, .badBody, .apnsError: 400
        case .unauthenticated, .thirdPartyAuth, .apnsAuth: 401
        case .permissionDenied, .senderIDMismatch: 403
        case .unregistered, .notFound, .notFoundPage, .methodNotAllowed: 404
        case .quotaExceeded, .deviceQuota: 429
        case .internalError, .unspecified: 500
        case .badGateway: 502
        case .unavailable, .unavailablePage: 503
        case .gatewayTimeout: 504
        }
    }

    /// The canonical status name (google.rpc.Code).
    var statusName: String {
        switch self {
        case .none: "OK"
        case .invalidArgument, .badToken, .badField, .badBody, .apnsError: "INVALID_ARGUMENT"
        case .unauthenticated, .thirdPartyAuth, .apnsAuth: "UNAUTHENTICATED"
        case .permissionDenied, .senderIDMismatch: "PERMISSION_DENIED"
        case .unregistered, .notFound, .notFoundPage, .methodNotAllowed: "NOT_FOUND"
        case .quotaExceeded, .deviceQuota: "RESOURCE_EXHAUSTED"
        case .internalError, .unspecified: "INTERNAL"
        case .badGateway, .unavailable, .unavailablePage, .gatewayTimeout: "UNAVAILABLE"
        }
    }

    /// The `errorCode` of the FcmError detail, or nil when there is no such detail.
    var errorCode: String? {
        switch self {
        case .invalidArgument, .apnsError: "INVALID_ARGUMENT"
        case .unregistered: "UNREGISTERED"
        case .senderIDMismatch: "SENDER_ID_MISMATCH"
        case .quotaExceeded, .deviceQuota: "QUOTA_EXCEEDED"
        case .unavailable: "UNAVAILABLE"
        case .internalError: "INTERNAL"
        case .thirdPartyAuth: "THIRD_PARTY_AUTH_ERROR"
        case .apnsAuth: "APNS_AUTH_ERROR"
        case .unspecified: "UNSPECIFIED_ERROR"
        default: nil
        }
    }

    var message: String {
        switch self {
        case .invalidArgument, .badToken: "The registration token is not a valid FCM registration token"
        case .badField: "Request contains an invalid argument."
        case .badBody: "Invalid JSON payload received. Unexpected token."
        case .apnsError: "Request contains an invalid argument."
        case .unregistered: "Requested entity was not found."
        case .senderIDMismatch: "SenderId mismatch"
        case .quotaExceeded, .deviceQuota: "Resource has been exhausted (e.g. check quota)."
        case .unavailable: "The service is currently unavailable."
        case .internalError, .unspecified: "Internal error encountered."
        case .thirdPartyAuth, .apnsAuth, .unauthenticated:
            "Request is missing required authentication credential. Expected OAuth 2 access token, login "
                + "cookie or other valid authentication credential."
        case .permissionDenied: "Permission 'cloudmessaging.messages.create' denied on resource."
        case .notFound: "The project was not found."
        default: name
        }
    }

    var bodyStyle: Answer.Body {
        switch self {
        case .notFoundPage, .badGateway, .unavailablePage, .methodNotAllowed: .html
        case .gatewayTimeout: .empty
        default: .json
        }
    }
}

/// Which part of an FCM request a `BadRequest` names.
package enum FCMField: UInt8, CaseIterable, Sendable {
    case none, message, target, token, topic, condition, data, dataReserved, notification, android, androidTTL
    case androidPriority, androidNotification, webpush, apns, apnsHeaders, apnsPayload, apnsPriority,
        fcmOptions
    case size, unknown

    /// The `field` of the violation.
    var path: String {
        switch self {
        case .none, .message, .target, .size: "message"
        case .token: "message.token"
        case .topic: "message.topic"
        case .condition: "message.condition"
        case .data, .dataReserved: "message.data"
        case .notification: "message.notification"
        case .android: "message.android"
        case .androidTTL: "message.android.ttl"
        case .androidPriority: "message.android.priority"
        case .androidNotification: "message.android.notification"
        case .webpush: "message.webpush"
        case .apns: "message.apns"
        case .apnsHeaders: "message.apns.headers"
        case .apnsPayload: "message.apns.payload"
        case .apnsPriority: "message.apns.headers"
        case .fcmOptions: "message.fcm_options"
        case .unknown: ""
        }
    }

    /// The `description` of the violation.
    var problem: String {
        switch self {
        case .none: "Invalid value."
        case .message: "Required field 'message' is missing or is not an object."
        case .target: "Exactly one of token, topic, condition or fid must be set."
        case .token: "The registration token is not a valid FCM registration token"
        case .topic: "Malformed topic name"
        case .condition: "Invalid condition expression provided."
        case .data: "Every key and value of the data map must be a string."
        case .dataReserved: "Invalid data payload key: the name is reserved."
        case .notification: "Every member of the notification must be a string of a known name."
        case .android, .webpush, .apns, .fcmOptions: "Invalid value or unknown name."
        case .androidTTL:
            "Illegal duration format; duration must end with 's' and lie between 0 and 2419200 seconds"
        case .androidPriority: "Invalid value: expected NORMAL or HIGH."
        case .androidNotification: "Invalid value or unknown name."
        case .apnsHeaders: "Every key and value of the headers must be a string."
        case .apnsPayload: "The payload must be an object that suits its headers."
        case .apnsPriority: "A data message to an iOS device may only have apns-priority 5."
        case .size: "Message is too big."
        case .unknown: "Invalid JSON payload received. Unknown name: Cannot find field."
        }
    }
}

extension FCMError {
    /// Renders the error object of an answer.
    static func render(_ answer: Answer) -> [UInt8] {
        let error = FCMError(rawValue: answer.reason) ?? .internalError
        let apns = APNsReason(rawValue: answer.apnsReason) ?? .none
        var details: [String] = []
        if let code = error.errorCode {
            details.append(
                "{\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.FcmError\","
                    + "\"errorCode\":\"\(code)\"}"
            )
        }
        if error == .apnsError {
            details.append(
                "{\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.ApnsError\","
                    + "\"statusCode\":\(apns.status),\"reason\":\"\(apns.name)\"}")
        }
        if error == .badField || error == .badToken {
            let field = error == .badToken ? .token : answer.field
            details.append(
                "{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":[{\"field\":"
                    + "\"\(field.path)\",\"description\":\"\(field.problem)\"}]}")
        }
        if error == .deviceQuota {
            details.append(
                "{\"@type\":\"type.googleapis.com/google.rpc.QuotaFailure\",\"violations\":[{\"subject\":"
                    + "\"device:token\",\"description\":\"Device message rate exceeded.\"}]}")
        }
        let list = details.isEmpty ? "" : ",\"details\":[\(details.joined(separator: ","))]"
        return Array(
            ("{\"error\":{\"code\":\(answer.status),\"message\":\"\(error.message)\",\"status\":"
                + "\"\(error.statusName)\"\(list)}}").utf8)
    }
}
