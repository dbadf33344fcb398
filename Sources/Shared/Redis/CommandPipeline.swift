internal import Core

/// The commands without a reply: their encoded bytes and what is to be known about each.
///
/// One value holds all that a command touches on its way, so that the client reaches for it once.
struct CommandPipeline: ~Copyable {
    var buffer = RedisCommandBuffer(capacity: 16 << 10)
    /// How many of the buffer's bytes were sent.
    var sent = 0
    var ring = CommandRing()
    var statistics = RedisStatistics()
    /// From a command's issue to its reply, in milliseconds.
    var roundTrips = TimeBuckets()

    /// Bytes that nobody has sent yet.
    var unsent: Int { buffer.count - sent }

    /// Takes one command of the caller's; nil when it was taken, else why not.
    mutating func append(
        _ tag: RedisTag, deadlineMs: UInt64, options: borrowing RedisClientBounds,
        _ encode: (inout RedisCommandBuffer) -> Void
    ) -> RedisFailure.Code? {
        if ring.count >= options.maximumInFlight {
            statistics.refusedInFlight &+= 1
            return .tooManyInFlight
        }
        let start = buffer.count
        if start >= options.maximumBufferedBytes {
            statistics.refusedBuffer &+= 1
            return .bufferFull
        }
        let begun = buffer.commands
        encode(&buffer)
        guard buffer.commands == begun &+ 1, buffer.isComplete else {
            buffer.bytes.truncate(to: start)
            return .malformed
        }
        ring.append(
            CommandEntry(tag: tag, deadlineMs: deadlineMs, length: buffer.count - start, origin: .caller))
        statistics.commands &+= 1
        return nil
    }

    /// Takes one command that is encoded already, with ASKING before it or without; nil when it was taken.
    mutating func append(
        encoded command: UnsafeRawBufferPointer, _ entry: CommandEntry, isAsking: Bool,
        options: borrowing RedisClientBounds
    ) -> RedisFailure.Code? {
        if ring.count >= options.maximumInFlight {
            statistics.refusedInFlight &+= 1
            return .tooManyInFlight
        }
        if buffer.count >= options.maximumBufferedBytes {
            statistics.refusedBuffer &+= 1
            return .bufferFull
        }
        if isAsking {
            let start = buffer.count
            buffer.begin(1)
            buffer.argument("ASKING")
            appendOwn(length: buffer.count - start, deadlineMs: entry.deadlineMs)
        }
        unsafe buffer.bytes.append(command)
        var entry = entry
        entry.length = command.count
        ring.append(entry)
        return nil
    }

    private mutating func appendOwn(length: Int, deadlineMs: UInt64) {
        ring.append(
            CommandEntry(
                tag: RedisTag(kind: 0, value: 0), deadlineMs: deadlineMs, length: length, origin: .own))
    }

    /// Takes the oldest command off, because its reply is here; nil when nothing was sent that it could
    /// answer.
    mutating func takeAnswered() -> CommandEntry? {
        guard let entry = ring.first, sent >= entry.length else { return nil }
        _ = ring.popFirst()
        buffer.bytes.consume(entry.length)
        sent -= entry.length
        return entry
    }

    /// Takes the oldest command off, because it failed.
    mutating func takeFailed() -> CommandEntry? {
        guard let entry = ring.popFirst() else { return nil }
        buffer.bytes.consume(min(entry.length, buffer.count))
        return entry
    }

    /// The bytes of the oldest command.
    func oldestCommand() -> [UInt8] { unsafe Array(buffer.bytes.bytes.prefix(ring.first?.length ?? 0)) }

    /// Loads a script and puts a command that needs it behind, in place of the oldest one.
    mutating func reissue(_ command: [UInt8], of entry: CommandEntry, after script: RedisScript) {
        _ = takeAnswered()
        statistics.scriptReloads &+= 1
        let start = buffer.count
        buffer.encodeLoad(script)
        appendOwn(length: buffer.count - start, deadlineMs: entry.deadlineMs)
        buffer.bytes.append(array: command)
        var again = entry
        again.origin = .reissued
        ring.append(again)
    }
}

/// The bounds of a pipeline.
struct RedisClientBounds {
    let maximumInFlight: Int
    let maximumBufferedBytes: Int
}
