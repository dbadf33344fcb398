internal import Core
internal import Security

/// Ids of jobs that follow from the request's idempotency key and the jobs themselves.
struct DerivedIDs {
    private let seed: String
    private var seen: [String: Int] = [:]

    /// Makes ids for a request of a sender.
    init(keyName: String, request: PreparedSend.Idempotency) {
        seed = Hex.encode(SHA256.hash(text: "\(keyName)\n\(request.key)\n\(request.digest)"))
    }

    /// The id of the next job, which has these bytes: 32 hexadecimal digits. Of jobs that are the same each
    /// gets an id of its own.
    mutating func next(_ job: UnsafeRawBufferPointer) -> String {
        let content = Hex.encode(unsafe SHA256.hash(job))
        let number = seen[content, default: 0]
        seen[content] = number + 1
        let digest = SHA256.hash(text: "\(seed)\n\(content)\n\(number)")
        return Hex.encode(digest.prefix(16))
    }
}
