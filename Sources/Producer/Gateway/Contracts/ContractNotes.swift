package import Redis

/// What a contract remembers about a recipient's devices beside the registry: `peal:note:{app:recipient}`, a
/// hash from device id to text.
///
/// The registry may lose a device by itself (its token was refused, or moved on); its note stays behind, so a
/// note counts only while its device is there.
/// - Threading: that of its session.
package struct ContractNotes {
    /// Notes unheard of for so long are forgotten, as the devices are: 270 days.
    static let keepMs: Int64 = 270 * 86_400_000

    private let session: RedisSession
    private let app: String

    /// Reads and writes an app's notes.
    package init(session: RedisSession, app: String) {
        self.session = session
        self.app = app
    }

    private func key(_ recipient: String) -> String { "peal:note:{\(app):\(recipient)}" }

    /// The notes about a recipient's devices.
    package func notes(of recipient: String) throws(RedisFailure) -> [String: String] {
        Self.notes(try session.command("HGETALL", key(recipient)))
    }

    /// The same for many recipients in one go, in their order.
    package func notes(of recipients: [String]) throws(RedisFailure) -> [[String: String]] {
        let replies = try session.pipeline(recipients.map { ["HGETALL", key($0)] })
        var all: [[String: String]] = []
        for reply in replies {
            if case .error(let failure) = reply { throw failure }
            all.append(Self.notes(reply))
        }
        return all
    }

    private static func notes(_ reply: RedisValue) -> [String: String] {
        Dictionary(
            reply.pairs.compactMap { pair in pair.value.text.map { (pair.key, $0) } },
            uniquingKeysWith: { first, _ in first })
    }

    /// Writes a device's note; nil removes it.
    package func set(_ text: String?, of recipient: String, device: String) throws(RedisFailure) {
        guard let text else {
            try session.command("HDEL", key(recipient), device)
            return
        }
        try session.command("HSET", key(recipient), device, text)
        try session.command("PEXPIRE", key(recipient), "\(Self.keepMs)")
    }
}
