import CYaml

/// One event of a document. Lines and columns count from 1.
enum YAMLEvent: Equatable {
    case streamEnd
    case documentStart(line: Int)
    case documentEnd
    case scalar(String, isQuoted: Bool, line: Int, column: Int)
    case sequenceStart(line: Int, column: Int)
    case sequenceEnd
    case mappingStart(line: Int, column: Int)
    case mappingEnd

    /// The line, or 0 where it doesn't matter.
    var line: Int {
        switch self {
        case .documentStart(let line), .scalar(_, _, let line, _), .sequenceStart(let line, _),
            .mappingStart(let line, _):
            line
        case .streamEnd, .documentEnd, .sequenceEnd, .mappingEnd: 0
        }
    }
}

/// Owns one libyaml parser and the bytes that it reads.
///
/// - Ownership: `deinit` deletes the parser; each event is copied out and deleted before `next` returns.
@safe
struct YAMLEventReader: ~Copyable {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>

    init(_ bytes: [UInt8]) throws(YAMLFailure) {
        unsafe parser = .allocate(capacity: 1)
        unsafe input = .allocate(capacity: max(1, bytes.count))
        _ = unsafe input.initialize(from: bytes)
        unsafe parser.initialize(to: yaml_parser_t())
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            // A failed initialisation leaves nothing to delete; `deinit` deletes zeroed memory, which is
            // allowed.
            throw YAMLFailure(code: .outOfMemory, line: 0, message: "no memory to read the document")
        }
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, bytes.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe input.deallocate()
    }

    /// The next event, without stream starts.
    mutating func next() throws(YAMLFailure) -> YAMLEvent {
        while true {
            var event = unsafe yaml_event_t()
            guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure() }
            let result = unsafe Self.copy(event)
            unsafe yaml_event_delete(&event)
            switch result {
            case .success(let copy?): return copy
            case .success(nil): continue
            case .failure(let failure): throw failure
            }
        }
    }

    /// Copies the event; nil for one that says nothing.
    private static func copy(_ event: yaml_event_t) -> Result<YAMLEvent?, YAMLFailure> {
        let line = unsafe Int(clamping: event.start_mark.line) + 1
        let column = unsafe Int(clamping: event.start_mark.column) + 1
        func refuse(_ what: String) -> Result<YAMLEvent?, YAMLFailure> {
            .failure(YAMLFailure(code: .unsupported, line: line, message: what))
        }
        switch unsafe event.type {
        case YAML_STREAM_END_EVENT: return .success(.streamEnd)
        case YAML_DOCUMENT_START_EVENT: return .success(.documentStart(line: line))
        case YAML_DOCUMENT_END_EVENT: return .success(.documentEnd)
        case YAML_SEQUENCE_END_EVENT: return .success(.sequenceEnd)
        case YAML_MAPPING_END_EVENT: return .success(.mappingEnd)
        case YAML_ALIAS_EVENT:
            return refuse("aliases (*name) are not supported; write the value out")
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            if unsafe scalar.anchor != nil { return refuse(Self.anchor) }
            if unsafe scalar.tag != nil { return refuse(Self.tag) }
            guard let value = unsafe scalar.value else {
                return .success(.scalar("", isQuoted: true, line: line, column: column))
            }
            let text = unsafe String(
                decoding: UnsafeBufferPointer(start: value, count: Int(clamping: scalar.length)),
                as: UTF8.self)
            let isQuoted = unsafe scalar.style != YAML_PLAIN_SCALAR_STYLE
            return .success(.scalar(text, isQuoted: isQuoted, line: line, column: column))
        case YAML_SEQUENCE_START_EVENT:
            if unsafe event.data.sequence_start.anchor != nil { return refuse(Self.anchor) }
            if unsafe event.data.sequence_start.tag != nil { return refuse(Self.tag) }
            return .success(.sequenceStart(line: line, column: column))
        case YAML_MAPPING_START_EVENT:
            if unsafe event.data.mapping_start.anchor != nil { return refuse(Self.anchor) }
            if unsafe event.data.mapping_start.tag != nil { return refuse(Self.tag) }
            return .success(.mappingStart(line: line, column: column))
        default: return .success(nil)
        }
    }

    private static let anchor = "anchors (&name) are not supported; write the value out where it is used"
    private static let tag = "tags (!type) are not supported; remove the tag"

    private func failure() -> YAMLFailure {
        guard unsafe parser.pointee.error != YAML_MEMORY_ERROR else {
            return YAMLFailure(code: .outOfMemory, line: 0, message: "no memory to read the document")
        }
        let problem = unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? "not YAML"
        let context = unsafe parser.pointee.context.map { unsafe " \(String(cString: $0))" } ?? ""
        // A fault in the encoding has an offset and no mark.
        let line =
            unsafe parser.pointee.error == YAML_READER_ERROR
            ? 0 : Int(clamping: parser.pointee.problem_mark.line) + 1
        return YAMLFailure(code: .syntax, line: line, message: "\(problem)\(context)")
    }
}
