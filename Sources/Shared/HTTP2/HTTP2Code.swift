/// An HTTP/2 error code (RFC 9113 section 7).
package struct HTTP2Code: RawRepresentable, Equatable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let noError = HTTP2Code(rawValue: 0)
    package static let protocolError = HTTP2Code(rawValue: 1)
    package static let internalError = HTTP2Code(rawValue: 2)
    package static let flowControlError = HTTP2Code(rawValue: 3)
    package static let settingsTimeout = HTTP2Code(rawValue: 4)
    package static let streamClosed = HTTP2Code(rawValue: 5)
    package static let frameSizeError = HTTP2Code(rawValue: 6)
    /// The stream was not processed: the request is safe to resend (section 8.7).
    package static let refusedStream = HTTP2Code(rawValue: 7)
    package static let cancel = HTTP2Code(rawValue: 8)
    package static let compressionError = HTTP2Code(rawValue: 9)
    package static let connectError = HTTP2Code(rawValue: 10)
    package static let enhanceYourCalm = HTTP2Code(rawValue: 11)
    package static let inadequateSecurity = HTTP2Code(rawValue: 12)
    package static let http11Required = HTTP2Code(rawValue: 13)

    package var description: String {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
            "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
            "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
        ]
        return rawValue < 14 ? names[Int(rawValue)] : "error code \(rawValue)"
    }
}
