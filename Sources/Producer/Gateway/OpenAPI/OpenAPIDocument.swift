internal import Core

/// The API's description (OpenAPI 3.1), served at `/openapi.json` and kept in `docs/openapi.json`.
package enum OpenAPIDocument {
    /// The document as one line of JSON.
    package static let json: String = document.text

    /// The document, indented, as it lies in `docs/openapi.json`.
    package static var indented: String {
        var out = ""
        indent(document, 0, &out)
        return out + "\n"
    }

    /// Method, path and operation of everything in it, in order.
    package static var operations: [(method: String, path: String, operation: String)] {
        all.map { ($0.method, $0.path, $0.id) }
    }

    private static let all: [APIOperation] =
        APIOperations.sending + APIOperations.recipients + APIOperations.broadcasts
        + APIOperations.contracts + APIOperations.administration + APIOperations.operations
        + APIOperations.service

    private static let document: JSONValue = {
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ value: JSONValue) {
            members.append(JSONValue.Member(name: name, value: value))
        }
        add("openapi", .string("3.1.0"))
        add("info", parsed(APISchemas.info))
        add("tags", parsed(APISchemas.tags))
        add("paths", paths)
        add("components", components)
        return .object(members)
    }()

    private static var paths: JSONValue {
        var order: [String] = []
        for operation in all where !order.contains(operation.path) { order.append(operation.path) }
        return .object(
            order.map { path in
                let own = all.filter { $0.path == path }
                return JSONValue.Member(
                    name: path,
                    value: .object(
                        own.map { JSONValue.Member(name: $0.method.lowercased(), value: value($0)) }))
            })
    }

    private static func value(_ operation: APIOperation) -> JSONValue {
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ value: JSONValue) {
            members.append(JSONValue.Member(name: name, value: value))
        }
        add("operationId", .string(operation.id))
        add("tags", .array([.string(operation.tag)]))
        add("summary", .string(operation.summary))
        add("security", .array(security(operation)))
        let parameters = pathParameters(operation.path) + operation.parameters.map(Self.parameter)
        if !parameters.isEmpty { add("parameters", .array(parameters)) }
        if !operation.bodies.isEmpty {
            let content = operation.bodies.map { body in
                JSONValue.Member(name: body.media, value: object([("schema", reference(body.schema))]))
            }
            add(
                "requestBody",
                object([
                    ("required", .bool(operation.isBodyRequired)), ("content", .object(content)),
                ]))
        }
        add("responses", responses(operation))
        return .object(members)
    }

    private static func responses(_ operation: APIOperation) -> JSONValue {
        var members = operation.answers.map { answer in
            var value = [("description", JSONValue.string(answer.text))]
            if !answer.schema.isEmpty {
                let media = answer.schema == "Text" ? "text/plain" : "application/json"
                value.append(
                    ("content", object([(media, object([("schema", reference(answer.schema))]))])))
            }
            return JSONValue.Member(name: "\(answer.status)", value: object(value))
        }
        var statuses = operation.problems
        // What the gateway itself may answer to everything but what is open to everybody.
        if operation.access != .open { statuses += [400, 401, 403, 413, 429, 431, 503] }
        for status in Set(statuses).sorted() {
            members.append(
                JSONValue.Member(
                    name: "\(status)",
                    value: object([("$ref", .string("#/components/responses/Problem\(status)"))])))
        }
        return .object(members)
    }

    private static func security(_ operation: APIOperation) -> [JSONValue] {
        let choices: [[String]]
        switch (operation.security, operation.access) {
        case (let own?, _): choices = own
        case (nil, .open): choices = [[]]
        case (nil, .key), (nil, .handler): choices = [["apiKey"], ["bearerKey"]]
        case (nil, .keyOrUser): choices = [["apiKey"], ["bearerKey"], ["userToken"]]
        case (nil, .user): choices = [["userToken"]]
        }
        return choices.map { names in .object(names.map { JSONValue.Member(name: $0, value: .array([])) }) }
    }

    private static func pathParameters(_ path: String) -> [JSONValue] {
        path.split(separator: "/").filter { $0.first == "{" }.map { segment in
            object([("$ref", .string("#/components/parameters/\(segment.dropFirst().dropLast())"))])
        }
    }

    private static func parameter(_ parameter: APIOperation.Parameter) -> JSONValue {
        object([
            ("in", .string(parameter.place.rawValue)), ("name", .string(parameter.name)),
            ("required", .bool(parameter.isRequired)), ("description", .string(parameter.text)),
            ("schema", parsed(parameter.schema)),
        ])
    }

    private static var components: JSONValue {
        object([
            (
                "schemas",
                .object(APISchemas.all.map { JSONValue.Member(name: $0.name, value: parsed($0.json)) })
            ),
            (
                "parameters",
                .object(APISchemas.parameters.map { JSONValue.Member(name: $0.name, value: parsed($0.json)) })
            ),
            (
                "responses",
                .object(
                    APISchemas.problems.map { problem in
                        JSONValue.Member(name: "Problem\(problem.status)", value: self.problem(problem))
                    })
            ),
            ("securitySchemes", parsed(APISchemas.security)),
        ])
    }

    private static func problem(_ problem: (status: Int, text: String, retries: Bool)) -> JSONValue {
        var members: [(String, JSONValue)] = [("description", .string(problem.text))]
        if problem.retries {
            members.append(
                (
                    "headers",
                    parsed(
                        #"{"Retry-After":{"description":"Seconds.","schema":{"type":"integer","minimum":0}}}"#
                    )
                ))
        }
        members.append(
            (
                "content",
                object([("application/problem+json", object([("schema", reference("Problem"))]))])
            ))
        return object(members)
    }

    private static func reference(_ schema: String) -> JSONValue {
        object([("$ref", .string("#/components/schemas/\(schema)"))])
    }

    private static func object(_ members: [(String, JSONValue)]) -> JSONValue {
        .object(members.map { JSONValue.Member(name: $0.0, value: $0.1) })
    }

    /// A fragment that is written in this folder; the tests read every one of them, so a slip shows.
    private static func parsed(_ json: String) -> JSONValue {
        (try? JSONValue.parse(text: json)) ?? .null
    }

    private static func indent(_ value: JSONValue, _ depth: Int, _ out: inout String) {
        let space = String(repeating: "  ", count: depth + 1)
        let end = String(repeating: "  ", count: depth)
        switch value {
        case .object(let members) where !members.isEmpty && value.text.utf8.count > 100 - 2 * depth:
            out += "{\n"
            for (index, member) in members.enumerated() {
                out += space + JSONValue.string(member.name).text + ": "
                indent(member.value, depth + 1, &out)
                out += index == members.count - 1 ? "\n" : ",\n"
            }
            out += end + "}"
        case .array(let elements) where !elements.isEmpty && value.text.utf8.count > 100 - 2 * depth:
            out += "[\n"
            for (index, element) in elements.enumerated() {
                out += space
                indent(element, depth + 1, &out)
                out += index == elements.count - 1 ? "\n" : ",\n"
            }
            out += end + "]"
        default: out += value.text
        }
    }
}
