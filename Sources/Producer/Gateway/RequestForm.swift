package import HTTPServer

/// What a request may bring beside its body: query parameters and an `Idempotency-Key`.
///
/// A pure value. What an operation of our own would pass over in silence is refused by its name, since the
/// caller counts on it; a client's contract passes over what it doesn't know, as its clients may send
/// anything.
package struct RequestForm: Sendable, Equatable {
    /// What becomes of an `Idempotency-Key`.
    package enum IdempotencyKey: Sendable, Equatable {
        /// The operation honours it.
        case taken
        /// It is refused, with the sentence that says what the operation has instead.
        case refused(instead: String)
        /// It is let be: a client's contract, or an operation whose repeat changes nothing.
        case ignored
    }

    /// The query parameters that there are; nil lets any be.
    package let query: [String]?
    package let idempotencyKey: IdempotencyKey

    /// An operation of our own with these query parameters.
    package static func native(
        query: [String] = [], idempotencyKey: IdempotencyKey = .ignored
    ) -> RequestForm {
        RequestForm(query: query, idempotencyKey: idempotencyKey)
    }

    /// An operation of a client's contract.
    package static let contract = RequestForm(query: nil, idempotencyKey: .ignored)

    /// What is wrong with the request's query or headers; nil when nothing is.
    package func fault(in request: HTTPRequest) -> Problem? {
        if case .refused(let instead) = idempotencyKey, request.header("idempotency-key") != nil {
            return .badRequest(
                "This operation takes no Idempotency-Key; \(instead)", field: "idempotency-key")
        }
        guard let query else { return nil }
        var seen: Set<String> = []
        for (name, _) in request.query where !name.isEmpty {
            guard query.contains(name) else {
                let known =
                    query.isEmpty
                    ? "this operation takes none" : "known are \(query.joined(separator: ", "))"
                return .badRequest(
                    "There is no such query parameter here; \(known).", field: JSONBody.printable(name))
            }
            guard seen.insert(name).inserted else {
                return .badRequest("The query parameter is there twice; keep one.", field: name)
            }
        }
        return nil
    }
}
