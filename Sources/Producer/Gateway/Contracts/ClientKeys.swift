internal import Core
internal import EventLoop
internal import Security

/// The client keys of an app's configuration: a file of lines `name:SHA-256 of the key in hexadecimal`.
///
/// A client key only says which app a phone belongs to: it lies in every copy of the client. What a user may
/// do follows from the user's token.
/// - Threading: any. The file is looked at again when it has changed, at most once in five seconds.
package final class ClientKeys: Sendable {
    private struct State {
        var digests: Set<String> = []
        var stamp: FileStamp?
        var lookedMs: UInt64 = 0
        var isRead = false
    }

    private static let intervalMs: UInt64 = 5000
    private static let bytesMax = 1 << 20

    private let path: String
    private let state = Locked(State())

    /// Makes a reader of a file; it is read with the first question.
    package init(path: String) { self.path = path }

    /// Whether the key is one of the file's.
    package func contains(_ key: String, nowMs: UInt64 = Clock.monotonicMs) -> Bool {
        let digest = Hex.encode(SHA256.hash(text: key))
        return state.withLock { state in
            if !state.isRead || nowMs >= state.lookedMs + Self.intervalMs { look(&state, nowMs) }
            return state.digests.contains(digest)
        }
    }

    /// A file that can't be read changes nothing: the last known keys hold.
    private func look(_ state: inout State, _ nowMs: UInt64) {
        state.lookedMs = nowMs
        let stamp = FileStamp(path: path)
        guard stamp != nil, !state.isRead || stamp != state.stamp,
            let text = try? Files.readText(path: path, maxBytes: Self.bytesMax)
        else { return }
        state.digests = Self.digests(text)
        state.stamp = stamp
        state.isRead = true
    }

    /// How many keys a file holds.
    /// - Throws: when it can't be read.
    static func count(path: String) throws(SystemFailure) -> Int {
        digests(try Files.readText(path: path, maxBytes: bytesMax)).count
    }

    /// The digests of the lines; comments and lines that are none are passed over.
    static func digests(_ text: String) -> Set<String> {
        var digests: Set<String> = []
        for line in text.split(whereSeparator: \.isNewline) where line.first != "#" {
            guard let colon = line.lastIndex(of: ":") else { continue }
            let digest = line[line.index(after: colon)...].filter { $0 != " " && $0 != "\t" }.lowercased()
            if digest.utf8.count == 64, Hex.decode(digest.utf8) != nil { digests.insert(digest) }
        }
        return digests
    }
}
