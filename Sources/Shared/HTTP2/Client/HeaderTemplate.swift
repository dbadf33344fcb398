internal import CNghttp2
internal import Core
internal import Glibc

/// The headers that many requests share, such as the method, the host and the provider token.
package struct HeaderTemplate: Sendable {
    /// One constant header.
    package struct Field: Sendable {
        package var name: String
        package var value: String
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// How many constant headers a template may carry.
    package static let fieldsMax = 16

    /// The request method.
    package var method = "POST"
    /// The host, with the port when it is not 443.
    package var authority: String
    /// The constant headers, names in lower case. `content-length` is added to each request by itself.
    package var fields: [Field]

    package init(authority: String, fields: [Field]) {
        self.authority = authority
        self.fields = fields
    }
}

/// A template as nghttp2 takes it: a preset header block with holes for what varies.
///
/// ```
///   :method :scheme :authority  :path   constants…  variable…  content-length
///   0       1       2           3       4…          holes      hole
/// ```
///
/// - Ownership: owns the bytes and the block. nghttp2 borrows the bytes until a request's HEADERS are
///   serialised, so a replaced template is kept for a while (see ``TemplateTable``).
@safe
final class CompiledTemplate {
    static let pathIndex = 3
    let block: UnsafeMutablePointer<nghttp2_nv>
    /// Headers in front of the variable ones.
    let fixedCount: Int
    /// The template's index in its table.
    let place: Int
    /// Bytes that the constant headers take at most in a header block.
    let wireMax: Int
    private let bytes: UnsafeMutablePointer<UInt8>

    init(_ template: HeaderTemplate, place: Int = 0) throws(TransportFailure) {
        let fields =
            [
                HeaderTemplate.Field(":method", template.method), .init(":scheme", "https"),
                .init(":authority", template.authority), .init(":path", "/"),
            ] + template.fields
        guard template.fields.count <= HeaderTemplate.fieldsMax else {
            throw TransportFailure(.invalidRequest, "more than \(HeaderTemplate.fieldsMax) constant headers")
        }
        for field in template.fields { try Self.check(field) }
        fixedCount = fields.count
        self.place = place
        let size = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        wireMax = size + fields.count * HeaderEncoder.fieldOverhead
        unsafe bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, size))
        unsafe block = UnsafeMutablePointer<nghttp2_nv>.allocate(
            capacity: fields.count + OutgoingRequest.headersMax + 1)
        unsafe block.initialize(
            repeating: nghttp2_nv(), count: fields.count + OutgoingRequest.headersMax + 1)
        var at = 0
        for (index, field) in fields.enumerated() {
            let name = unsafe Self.copy(field.name, bytes + at)
            at += field.name.utf8.count
            let value = unsafe Self.copy(field.value, bytes + at)
            at += field.value.utf8.count
            unsafe block[index] = Self.field(
                name, field.name.utf8.count, value, field.value.utf8.count, indexed: true)
        }
    }

    deinit {
        unsafe block.deallocate()
        unsafe bytes.deallocate()
    }

    /// Hands on the name and value of each constant header, without the path, and whether it is a secret.
    func forEachConstant(
        _ body: (UnsafePointer<UInt8>, Int, UnsafePointer<UInt8>, Int, _ isSecret: Bool) -> Void
    ) {
        for index in 0..<fixedCount where index != Self.pathIndex {
            let field = unsafe block[index]
            guard let name = unsafe field.name, let value = unsafe field.value else { continue }
            let isSecret = unsafe FieldBytes.equal(name, field.namelen, VariableHeader.authorization.name)
            unsafe body(name, field.namelen, value, field.valuelen, isSecret)
        }
    }

    private static func copy(_ text: String, _ to: UnsafeMutablePointer<UInt8>) -> UnsafeMutablePointer<UInt8>
    {
        for (index, byte) in text.utf8.enumerated() { unsafe to[index] = byte }
        return unsafe to
    }

    private static func check(_ field: HeaderTemplate.Field) throws(TransportFailure) {
        let nameIsValid =
            !field.name.isEmpty
            && field.name.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":")
                    && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
            }
        let valueIsValid = field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        guard nameIsValid, valueIsValid else {
            throw TransportFailure(.invalidRequest, "the header \(field.name) has a character HTTP forbids")
        }
    }

    /// A header field whose bytes nghttp2 borrows and never writes.
    static func field(
        _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int,
        indexed: Bool
    ) -> nghttp2_nv {
        var flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        if !indexed { flags |= NGHTTP2_NV_FLAG_NO_INDEX.rawValue }
        return unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name), value: UnsafeMutablePointer(mutating: value),
            namelen: nameCount, valuelen: valueCount, flags: UInt8(truncatingIfNeeded: flags))
    }
}

/// A pool's templates by index, and the replaced ones that nghttp2 may still borrow.
struct TemplateTable {
    /// Longer than any request can wait to be serialised: a request's deadline cancels it before.
    static let keepMs: UInt64 = 15 * 60 * 1000
    static let countMax = 4096

    private(set) var current: [CompiledTemplate] = []
    private var retired: [(template: CompiledTemplate, atMs: UInt64)] = []

    mutating func add(_ template: HeaderTemplate) throws(TransportFailure) -> TemplateID {
        guard current.count < Self.countMax else {
            throw TransportFailure(
                .invalidRequest, "more than \(Self.countMax) header templates; reuse the ones that exist")
        }
        current.append(try CompiledTemplate(template, place: current.count))
        return TemplateID(index: Int32(current.count - 1))
    }

    mutating func replace(
        _ id: TemplateID, _ template: HeaderTemplate, nowMs: UInt64
    ) throws(TransportFailure) {
        let fresh = try CompiledTemplate(template, place: Int(id.index))
        guard id.index >= 0, Int(id.index) < current.count else {
            throw TransportFailure(.invalidRequest, "no such header template")
        }
        retired.removeAll { nowMs > $0.atMs &+ Self.keepMs }
        retired.append((current[Int(id.index)], nowMs))
        current[Int(id.index)] = fresh
    }

    subscript(_ id: TemplateID) -> CompiledTemplate? {
        let index = Int(id.index)
        return index >= 0 && index < current.count ? current[index] : nil
    }
}
