import Core
import Glibc
import Testing

@testable import Jobs

/// Parses the text and lends the job, whose bytes live as long as `body` runs.
func withJob<R>(_ text: String, _ body: (Job) throws -> R) throws -> R {
    let parser = try #require(JobParser())
    return try Array(text.utf8).withUnsafeBytes { bytes in
        var job = Job()
        let fault = parser.parse(bytes, into: &job)
        try #require(fault == nil, "\(fault?.description ?? "")")
        return try body(job)
    }
}

/// Why the bytes are refused, or nil.
func fault(_ bytes: [UInt8]) throws -> JobFault? {
    let parser = try #require(JobParser())
    return bytes.withUnsafeBytes { raw in
        var job = Job()
        return parser.parse(raw, into: &job)
    }
}

/// Why the text is refused, or nil.
func fault(_ text: String) throws -> JobFault? { try fault(Array(text.utf8)) }

/// A job for a recipient with more members.
func job(_ members: String, to: String = #"{"recipient":"r"}"#) -> String {
    "{\"app\":\"shop\",\"to\":\(to)\(members.isEmpty ? "" : ",")\(members)}"
}

/// The texts of the elements.
func texts(_ elements: JSONElements) -> [String] {
    var elements = elements
    var out: [String] = []
    while let element = elements.next() { out.append(element.text?.string ?? "?") }
    return out
}
