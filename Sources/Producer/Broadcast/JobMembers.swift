internal import Core

/// One member of a job's outermost object, where it lies in the job's bytes.
struct JobMember: Equatable {
    /// The name between its quotes, as it is written. No name of the job format needs an escape.
    let name: Range<Int>
    /// The name, the colon and the value.
    let whole: Range<Int>
}

/// Finds the members of the outermost object of a job that the parser has accepted. Pure.
enum JobMembers {
    /// The members in their order; nil when the bytes are no JSON object after all.
    static func find(_ bytes: UnsafeRawBufferPointer) -> [JobMember]? {
        var scan = unsafe MemberScan(bytes)
        return scan.run()
    }
}

@safe
private struct MemberScan {
    private let bytes: UnsafeRawBufferPointer
    private var at = 0

    init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

    private var peek: UInt8 { unsafe at < bytes.count ? unsafe bytes[at] : 0 }

    private mutating func skipSpace() {
        while peek == 0x20 || peek == 0x0A || peek == 0x0D || peek == 0x09 { at += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard peek == byte else { return false }
        at += 1
        return true
    }

    mutating func run() -> [JobMember]? {
        var found: [JobMember] = []
        guard take(UInt8(ascii: "{")) else { return nil }
        if take(UInt8(ascii: "}")) { return found }
        repeat {
            skipSpace()
            let start = at
            guard let name = string(), take(UInt8(ascii: ":")) else { return nil }
            skipSpace()
            guard value() else { return nil }
            found.append(JobMember(name: name, whole: start..<at))
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}")) ? found : nil
    }

    /// Steps over a string; the range between its quotes.
    private mutating func string() -> Range<Int>? {
        guard peek == UInt8(ascii: "\"") else { return nil }
        at += 1
        let start = at
        while unsafe at < bytes.count {
            let byte = peek
            if byte == UInt8(ascii: "\"") {
                at += 1
                return start..<at - 1
            }
            at += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    /// Steps over a value of any kind.
    private mutating func value() -> Bool {
        var depth = 0
        let start = at
        while unsafe at < bytes.count {
            switch peek {
            case UInt8(ascii: "\""):
                guard string() != nil else { return false }
                if depth == 0 { return true }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                at += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return at > start }
                depth -= 1
                at += 1
                if depth == 0 { return true }
            case UInt8(ascii: ","), 0x20, 0x0A, 0x0D, 0x09:
                if depth == 0 { return at > start }
                at += 1
            default: at += 1
            }
        }
        return false
    }
}
