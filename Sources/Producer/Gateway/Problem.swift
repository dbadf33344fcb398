internal import Core
package import HTTPServer

/// A refusal as the caller sees it: a problem document (RFC 9457) that says what to fix.
///
/// It never repeats a secret, a token or another recipient's data.
package struct Problem: Error, Sendable, Equatable {
    /// The status code, 400...599.
    package var status: Int
    /// A closed set of names, the end of `type`; usable as a metric label.
    package var code: String
    /// One short phrase, the same for every problem of this code.
    package var title: String
    /// One sentence about this request that says what to fix; empty for none.
    package var detail: String
    /// The job field or the parameter that is wrong; empty for none.
    package var field: String
    /// The place of the wrong element in a batch, from 0.
    package var index: Int?
    /// `Retry-After` in seconds.
    package var retryAfterSeconds: Int?
    /// The ids of jobs that may have been accepted all the same; a repeat should carry them.
    package var ids: [String] = []

    /// Makes a problem.
    package init(
        _ status: Int, _ code: String, _ title: String, detail: String = "", field: String = "",
        index: Int? = nil, retryAfterSeconds: Int? = nil
    ) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.field = field
        self.index = index
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// The answer: `application/problem+json` with the request's id.
    package func response(requestID: String) -> HTTPResponse {
        var body = ByteBuffer()
        body.append("{\"type\":\"urn:peal:problem:")
        body.append(text: code)
        body.append("\",\"title\":")
        body.append(jsonString: title)
        body.append(",\"status\":")
        body.append(decimal: Int64(status))
        if !detail.isEmpty {
            body.append(",\"detail\":")
            body.append(jsonString: detail)
        }
        if !field.isEmpty {
            body.append(",\"field\":")
            body.append(jsonString: field)
        }
        if let index {
            body.append(",\"index\":")
            body.append(decimal: Int64(index))
        }
        if !ids.isEmpty {
            body.append(",\"ids\":[")
            for (place, id) in ids.enumerated() {
                if place > 0 { body.append(byte: UInt8(ascii: ",")) }
                body.append(jsonString: id)
            }
            body.append(byte: UInt8(ascii: "]"))
        }
        body.append(",\"request_id\":")
        body.append(jsonString: requestID)
        body.append("}\n")
        var response = HTTPResponse(
            status: status, headers: [("content-type", "application/problem+json")], body: body.array)
        if let retryAfterSeconds { response.headers.append(("retry-after", "\(retryAfterSeconds)")) }
        if status == 401 { response.headers.append(("www-authenticate", "Bearer")) }
        return response
    }
}

// The problems that many handlers share.
extension Problem {
    /// 400: a body or parameter that can't be used.
    package static func badRequest(_ detail: String, field: String = "", index: Int? = nil) -> Problem {
        Problem(400, "bad_request", "The request can't be used", detail: detail, field: field, index: index)
    }
    /// 401: nobody said who asks, or it can't be believed.
    package static func unauthorized(_ detail: String) -> Problem {
        Problem(401, "unauthorized", "The credentials can't be used", detail: detail)
    }
    /// 403: known, but not allowed to do this.
    package static func forbidden(_ detail: String) -> Problem {
        Problem(403, "forbidden", "This isn't allowed", detail: detail)
    }
    /// 404: nothing of that name.
    package static func notFound(_ detail: String) -> Problem {
        Problem(404, "not_found", "There is no such thing", detail: detail)
    }
    /// 409: it contradicts what is there.
    package static func conflict(_ detail: String) -> Problem {
        Problem(409, "conflict", "It contradicts what is there", detail: detail)
    }
    /// 503: Kafka or Redis is behind or away.
    package static func unavailable(_ detail: String, retryAfterSeconds: Int = 5) -> Problem {
        Problem(
            503, "unavailable", "A part of the service is away", detail: detail,
            retryAfterSeconds: retryAfterSeconds)
    }
}
