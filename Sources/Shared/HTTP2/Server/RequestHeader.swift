internal import Glibc

/// The request headers that a push provider looks at, as a small index instead of text.
package enum RequestHeader: UInt8, CaseIterable, Sendable {
    case method, scheme, authority, path
    case authorization, contentType, contentLength, userAgent
    case apnsID, apnsTopic, apnsPushType, apnsPriority, apnsExpiration, apnsCollapseID
    case apnsChannelID, apnsRequestID

    /// The number of known headers.
    static let count = 16

    /// The lower-case name on the wire.
    package var name: StaticString {
        switch self {
        case .method: ":method"
        case .scheme: ":scheme"
        case .authority: ":authority"
        case .path: ":path"
        case .authorization: "authorization"
        case .contentType: "content-type"
        case .contentLength: "content-length"
        case .userAgent: "user-agent"
        case .apnsID: "apns-id"
        case .apnsTopic: "apns-topic"
        case .apnsPushType: "apns-push-type"
        case .apnsPriority: "apns-priority"
        case .apnsExpiration: "apns-expiration"
        case .apnsCollapseID: "apns-collapse-id"
        case .apnsChannelID: "apns-channel-id"
        case .apnsRequestID: "apns-request-id"
        }
    }

    /// Finds the header by its name, by length first so that at most three names are compared.
    static func match(_ name: UnsafePointer<UInt8>, _ count: Int) -> RequestHeader? {
        switch count {
        case 5: unsafe equal(name, .path)
        case 7: unsafe equal(name, .apnsID) ?? equal(name, .method) ?? equal(name, .scheme)
        case 10: unsafe equal(name, .apnsTopic) ?? equal(name, .authority) ?? equal(name, .userAgent)
        case 12: unsafe equal(name, .contentType)
        case 13: unsafe equal(name, .authorization) ?? equal(name, .apnsPriority)
        case 14: unsafe equal(name, .apnsPushType) ?? equal(name, .contentLength)
        case 15:
            unsafe equal(name, .apnsExpiration) ?? equal(name, .apnsChannelID) ?? equal(name, .apnsRequestID)
        case 16: unsafe equal(name, .apnsCollapseID)
        default: nil
        }
    }

    private static func equal(_ name: UnsafePointer<UInt8>, _ header: RequestHeader) -> RequestHeader? {
        let text = header.name
        return unsafe memcmp(name, text.utf8Start, text.utf8CodeUnitCount) == 0 ? header : nil
    }
}
