internal import Core

/// Why a server ended a connection, by one word that few frames can have.
package enum GoAwayReason {
    /// Different reasons that a pool tells apart; above it they count as ``other``.
    package static let wordsMax = 32
    /// What has no name.
    package static let other = "other"
    /// The words of the error codes, as RFC 9113 names them.
    package static let codes = (UInt32(0)..<14).map { word(HTTP2Code(rawValue: $0)) }

    /// The reason in the frame's debug data, as Apple sends it (`{"reason":"Shutdown"}`); else the error
    /// code.
    static func word(_ code: HTTP2Code, debugData: [UInt8]) -> String {
        guard !debugData.isEmpty,
            let document = try? unsafe debugData.withUnsafeBytes({ unsafe try JSONValue.parse($0) }),
            let reason = document["reason"]?.string, !reason.isEmpty, reason.utf8.count <= 64
        else { return word(code) }
        return reason
    }

    private static func word(_ code: HTTP2Code) -> String {
        code.rawValue < 14 ? "\(code)".lowercased() : other
    }
}
