internal import Core
internal import HTTPServer
internal import Security

/// The signature by which a relay shows that a message comes from it: Ed25519 over the time, the length of
/// the body and the body, with dots between.
///
/// - Source: WalletConnect's Push Server specification, "Send Notification".
struct RelaySignature: Sendable {
    /// How old or how far ahead a signature may be, in milliseconds: who records a request can't repeat it
    /// later, and what is repeated at once has the same dedup key.
    static let leewayMs: Int64 = 300_000

    private let key: VerificationKey

    /// Takes the relay's public key, 32 bytes in hexadecimal; nil when it is none.
    init?(publicKey: String) {
        guard let bytes = Hex.decode(publicKey.utf8), let key = try? VerificationKey(ed25519: bytes) else {
            return nil
        }
        self.key = key
    }

    /// Whether a request shows a signature at all.
    static func isShown(by request: HTTPRequest) -> Bool {
        request.header("x-ed25519-signature") != nil || request.header("x-ed25519-timestamp") != nil
    }

    /// Checks a request at `nowMs`, milliseconds since 1970.
    /// - Throws: a 401 that says what is wrong.
    func check(_ request: HTTPRequest, nowMs: Int64) throws(Problem) {
        guard let stamp = request.header("x-ed25519-timestamp"),
            let text = request.header("x-ed25519-signature")
        else {
            throw .unauthorized("A signed message needs both X-Ed25519-Timestamp and X-Ed25519-Signature.")
        }
        guard let time = Int64(stamp), (0...(1 << 52)).contains(time) else {
            throw .unauthorized("X-Ed25519-Timestamp must be a time since 1970, in seconds or milliseconds.")
        }
        // Seconds reach this number in the year 5138, milliseconds did so in 1973.
        let timeMs = time < 100_000_000_000 ? time * 1000 : time
        guard abs(timeMs - nowMs) <= Self.leewayMs else {
            throw .unauthorized("X-Ed25519-Timestamp is too far from the time here; sign the message anew.")
        }
        let signed = Array("\(stamp).\(request.body.count).".utf8) + request.body
        guard let signature = Hex.decode(text.utf8), key.verify(signature: signature, message: signed) else {
            throw .unauthorized("X-Ed25519-Signature is not the relay's for this time and body.")
        }
    }
}
