internal import CHiredis
internal import Core

/// Splits a byte stream into replies with hiredis' reader.
///
/// hiredis reports each element through a callback; the callbacks lay them flat into two growing arrays that
/// are used again for the next reply, so that a reply costs no allocation.
/// - Ownership: frees the reader in `deinit`.
/// - Threading: one thread.
@safe
final class ReplyParser {
    /// The most bytes that one reply may have.
    static let maximumReplyBytes = 64 << 20

    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    // A value behind a pointer: the callbacks reach it without the runtime's checks for overlapping access.
    private let arena: UnsafeMutablePointer<ReplyArena>

    /// Makes a parser at the beginning of a stream; nil when memory is short.
    init?() {
        unsafe functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        unsafe functions.initialize(
            to: redisReplyObjectFunctions(
                createString: { task, text, length in
                    unsafe ReplyParser.arena(of: task)?.pointee.appendText(task, text, length)
                },
                createArray: { task, count in
                    unsafe ReplyParser.arena(of: task)?.pointee.appendArray(task, Int(count))
                },
                createInteger: { task, value in
                    unsafe ReplyParser.arena(of: task)?.pointee.appendInteger(value)
                },
                createNil: { task in unsafe ReplyParser.arena(of: task)?.pointee.appendNull() },
                freeObject: { _ in }))
        guard let made = unsafe redisReaderCreateWithFunctions(functions) else {
            unsafe functions.deallocate()
            return nil
        }
        unsafe reader = unsafe made
        unsafe arena = UnsafeMutablePointer<ReplyArena>.allocate(capacity: 1)
        unsafe arena.initialize(to: ReplyArena())
        // 0 keeps the reader's buffer instead of allocating it anew after every large batch.
        unsafe reader.pointee.maxbuf = 0
        unsafe reader.pointee.privdata = UnsafeMutableRawPointer(arena)
    }

    deinit {
        unsafe redisReaderFree(reader)
        unsafe functions.deallocate()
        unsafe arena.deinitialize(count: 1)
        unsafe arena.deallocate()
    }

    private static func arena(of task: UnsafePointer<redisReadTask>?) -> UnsafeMutablePointer<ReplyArena>? {
        guard let context = unsafe task?.pointee.privdata else { return nil }
        return unsafe context.assumingMemoryBound(to: ReplyArena.self)
    }

    /// Takes bytes of the stream; false when the peer broke the protocol or a bound.
    func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard unsafe !arena.pointee.isOverfull, unsafe reader.pointee.len < Self.maximumReplyBytes else {
            return false
        }
        let text = unsafe bytes.assumingMemoryBound(to: CChar.self)
        return unsafe redisReaderFeed(reader, text.baseAddress, bytes.count) == REDIS_OK
    }

    /// What `next` found.
    enum Step {
        case reply
        case wantsMore
        case broken
    }

    /// Reads the next whole reply, which `reply` then shows until the following call.
    func next() -> Step {
        if unsafe arena.pointee.isFinished { unsafe arena.pointee.clear() }
        var root: UnsafeMutableRawPointer?
        guard unsafe redisReaderGetReply(reader, &root) == REDIS_OK else { return .broken }
        guard unsafe root != nil else { return .wantsMore }
        unsafe arena.pointee.isFinished = true
        return .reply
    }

    /// The reply that `next` read.
    var reply: RedisReplyView { unsafe arena.pointee.view }

    /// What the reader says about a broken stream.
    var failureText: String {
        unsafe withUnsafeBytes(of: reader.pointee.errstr) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// The elements of the reply being read.
@safe
private struct ReplyArena: ~Copyable {
    private var nodes: UnsafeMutablePointer<ReplyNode>
    private var used = 0
    private var room = 256
    private var bytes = ByteBuffer(capacity: 4096)
    var isFinished = false
    private(set) var isOverfull = false

    init() { unsafe nodes = UnsafeMutablePointer<ReplyNode>.allocate(capacity: 256) }
    deinit { unsafe nodes.deallocate() }

    mutating func clear() {
        used = 0
        bytes.clear(keepingAtMost: 1 << 20)
        isFinished = false
    }

    var view: RedisReplyView {
        unsafe RedisReplyView(
            nodes: UnsafeBufferPointer(start: nodes, count: used), base: bytes.bytes, index: 0
        )
    }

    /// Appends a node. hiredis wants an object that isn't null and never looks into it: the node's number.
    private mutating func append(
        _ type: RedisReplyType, number: Int64 = 0, offset: Int = 0, length: Int = 0
    ) -> UnsafeMutableRawPointer? {
        if used == room { grow() }
        unsafe (nodes + used).initialize(
            to: ReplyNode(type: type, number: number, offset: offset, length: length))
        used += 1
        return unsafe UnsafeMutableRawPointer(bitPattern: used)
    }

    private mutating func grow() {
        let more = UnsafeMutablePointer<ReplyNode>.allocate(capacity: room * 2)
        unsafe more.update(from: nodes, count: used)
        unsafe nodes.deallocate()
        unsafe nodes = unsafe more
        room *= 2
    }

    mutating func appendNull() -> UnsafeMutableRawPointer? { unsafe append(.null) }

    mutating func appendInteger(_ value: Int64) -> UnsafeMutableRawPointer? {
        unsafe append(.integer, number: value)
    }

    mutating func appendArray(_ task: UnsafePointer<redisReadTask>?, _ count: Int) -> UnsafeMutableRawPointer?
    {
        if let parent = unsafe task?.pointee.parent?.pointee.obj {
            let number = Int(bitPattern: parent)
            if number > 0, number <= used { unsafe nodes[number - 1].isNested = true }
        }
        return unsafe append(.array, number: Int64(max(0, count)))
    }

    mutating func appendText(
        _ task: UnsafePointer<redisReadTask>?, _ text: UnsafeMutablePointer<CChar>?, _ length: Int
    ) -> UnsafeMutableRawPointer? {
        guard length >= 0, bytes.count + length <= ReplyParser.maximumReplyBytes else {
            isOverfull = true
            return nil
        }
        let kind = unsafe task?.pointee.type ?? REDIS_REPLY_STRING
        let type: RedisReplyType =
            switch kind {
            case REDIS_REPLY_STATUS: .status
            case REDIS_REPLY_ERROR: .error
            default: .string
            }
        let offset = bytes.count
        if let text = unsafe text { unsafe bytes.append(UnsafeRawBufferPointer(start: text, count: length)) }
        return unsafe append(type, offset: offset, length: length)
    }
}
