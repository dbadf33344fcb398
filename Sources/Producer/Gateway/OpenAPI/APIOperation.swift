/// One operation of the API's description.
///
/// The JSON fragments are written here by hand; ``OpenAPIDocument`` puts them together.
struct APIOperation: Sendable {
    /// Where a parameter stands.
    enum Place: String, Sendable { case path, query, header }

    /// One parameter beside those of the path.
    struct Parameter: Sendable {
        let place: Place
        let name: String
        let isRequired: Bool
        let text: String
        /// Its schema as JSON.
        let schema: String
    }

    /// In capitals.
    let method: String
    /// The path with its `{names}`.
    let path: String
    /// The same as the route's.
    let id: String
    let tag: String
    let summary: String
    let access: Access
    /// The body's schema by name and media type; empty for none.
    var bodies: [(media: String, schema: String)] = []
    var isBodyRequired = true
    var parameters: [Parameter] = []
    /// Status, what it means, and the schema of its JSON, empty for none.
    var answers: [(status: Int, text: String, schema: String)] = []
    /// The statuses of the problem documents that it may answer, beside those of its access.
    var problems: [Int] = []
    /// Names of security schemes in place of those that follow from the access; each one is a choice.
    var security: [[String]]?

    init(
        _ method: String, _ path: String, _ id: String, tag: String, _ access: Access, _ summary: String
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.tag = tag
        self.access = access
        self.summary = summary
    }

    /// With a JSON body of a schema.
    func body(_ schema: String, isRequired: Bool = true) -> APIOperation {
        var copy = self
        copy.bodies.append(("application/json", schema))
        copy.isBodyRequired = isRequired
        return copy
    }

    /// With a body of another kind as well.
    func body(_ schema: String, media: String) -> APIOperation {
        var copy = self
        copy.bodies.append((media, schema))
        return copy
    }

    /// With a parameter of the query or a header.
    func parameter(
        _ place: Place, _ name: String, _ text: String, _ schema: String, isRequired: Bool = false
    ) -> APIOperation {
        var copy = self
        copy.parameters.append(
            Parameter(place: place, name: name, isRequired: isRequired, text: text, schema: schema))
        return copy
    }

    /// With an answer.
    func answer(_ status: Int, _ text: String, _ schema: String = "") -> APIOperation {
        var copy = self
        copy.answers.append((status, text, schema))
        return copy
    }

    /// With problems that it may answer.
    func problems(_ statuses: Int...) -> APIOperation {
        var copy = self
        copy.problems += statuses
        return copy
    }

    /// With its own security.
    func security(_ choices: [String]...) -> APIOperation {
        var copy = self
        copy.security = choices
        return copy
    }
}
