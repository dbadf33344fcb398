internal import Core

/// The slot of a Redis Cluster that a key belongs to.
///
/// - Source: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
enum KeySlot {
    /// The number of slots.
    static let count = 16_384
    /// Stands for a command without a key, which any node may execute.
    static let any: UInt16 = 16_384
    /// Stands for the client's own question for the slot map.
    static let map: UInt16 = 16_385

    /// The slot of a key: of what stands between the first `{` and the next `}`, if that isn't empty, else of
    /// all.
    static func of(_ key: UnsafeRawBufferPointer) -> UInt16 {
        guard let open = unsafe key.firstIndex(of: UInt8(ascii: "{")),
            let close = unsafe key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        else { return unsafe checksum(key) % UInt16(count) }
        return unsafe checksum(UnsafeRawBufferPointer(rebasing: key[(open + 1)..<close])) % UInt16(count)
    }

    /// CRC-16/XMODEM.
    static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt16 {
        var sum: UInt16 = 0
        let table = table
        for at in 0..<bytes.count {
            sum = unsafe sum << 8 ^ table[Int(sum >> 8 ^ UInt16(bytes[at]))]
        }
        return sum
    }

    private static let table: [UInt16] = (0..<256).map { index in
        (0..<8).reduce(UInt16(index) << 8) { sum, _ in sum & 0x8000 != 0 ? sum << 1 ^ 0x1021 : sum << 1 }
    }
}

/// What a cluster client has to know of an encoded command to send it.
struct CommandRoute: Equatable {
    /// The slot of the command's first key, or ``KeySlot/any``.
    let slot: UInt16
    /// Whether it calls a script, which a node that is full or without replicas refuses.
    let isScript: Bool

    /// Reads one RESP2 command. A command that isn't known has its key right behind its name, as nearly all
    /// of Redis' commands do; a node corrects a wrong guess with MOVED.
    init(_ command: UnsafeRawBufferPointer) {
        var words = unsafe CommandWords(command)
        let name = unsafe words.next()
        var key = unsafe words.next()
        if unsafe Self.matches(name, "EVALSHA") || Self.matches(name, "EVAL") {
            let keys = unsafe words.next()
            unsafe key = unsafe words.next()
            isScript = true
            slot = unsafe keys.count == 1 && keys[0] == UInt8(ascii: "0") ? KeySlot.any : KeySlot.of(key)
            return
        }
        isScript = false
        if unsafe key.isEmpty || Self.isKeyless(name) {
            slot = KeySlot.any
            return
        }
        if unsafe Self.isContainer(name) { unsafe key = unsafe words.next() }
        slot = unsafe KeySlot.of(key)
    }

    private static func matches(_ word: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
        guard word.count == name.utf8CodeUnitCount else { return false }
        for at in 0..<word.count where unsafe word[at] & 0xDF != name.utf8Start[at] & 0xDF { return false }
        return true
    }

    /// Commands whose key stands behind a subcommand.
    private static func isContainer(_ name: UnsafeRawBufferPointer) -> Bool {
        unsafe matches(name, "XINFO") || matches(name, "XGROUP") || matches(name, "OBJECT")
            || matches(name, "MEMORY")
    }

    /// By length, so that most commands are compared with one name or two.
    private static func isKeyless(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 3: unsafe matches(name, "ACL")
        case 4:
            unsafe matches(name, "PING") || matches(name, "ECHO") || matches(name, "INFO")
                || matches(name, "KEYS") || matches(name, "SCAN") || matches(name, "WAIT")
        case 5: unsafe matches(name, "DEBUG")
        case 6:
            unsafe matches(name, "CONFIG") || matches(name, "CLIENT") || matches(name, "SCRIPT")
                || matches(name, "SELECT")
        case 7:
            unsafe matches(name, "CLUSTER") || matches(name, "COMMAND") || matches(name, "FLUSHDB")
                || matches(name, "LATENCY") || matches(name, "SLOWLOG")
        case 8: unsafe matches(name, "FLUSHALL")
        default: false
        }
    }
}

/// The arguments of an encoded command, read in place.
@safe
private struct CommandWords {
    private let bytes: UnsafeRawBufferPointer
    private var at = 0

    /// Stands before the command's name.
    init(_ command: UnsafeRawBufferPointer) {
        unsafe bytes = unsafe command
        _ = number()
    }

    /// Reads `<mark><decimal>\r\n`.
    private mutating func number() -> Int {
        var value = 0
        at += 1
        while unsafe at < bytes.count, unsafe bytes[at] != 13 {
            value = unsafe value &* 10 &+ Int(bytes[at] &- 48)
            at += 1
        }
        at += 2
        return value
    }

    /// The next argument; none when there is no further one.
    mutating func next() -> UnsafeRawBufferPointer {
        guard unsafe at < bytes.count else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        let length = number()
        let start = at
        at = start + length + 2
        guard length > 0, unsafe start + length <= bytes.count else {
            return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])
    }
}
