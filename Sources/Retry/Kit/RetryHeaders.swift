package import Core

/// What the retry service needs to know of a record, read from its headers. Pure; nothing is allocated.
package struct RetryHeaders: Equatable, Sendable {
    /// What is wrong with a record that can't be handed over; a closed set, usable as a metric label.
    package enum Fault: String, Error, Sendable, CaseIterable {
        case dueMissing = "due_missing"
        case dueMalformed = "due_malformed"
        case dueTooFar = "due_too_far"
        case attemptMissing = "attempt_missing"
        case attemptMalformed = "attempt_malformed"
        case originMissing = "origin_missing"
        case originMalformed = "origin_malformed"
        case laneUnknown = "lane_unknown"
    }

    /// When the record is due, in milliseconds since 1970.
    package let dueMs: Int64
    /// How many attempts were made.
    package let attempt: Int64
    /// The index of the lane that it came from.
    package let lane: Int

    /// The longest wait that is believed: 400 days. A later due time is somebody's unit mistake.
    package static let waitMaxMs: Int64 = 400 * 86_400_000

    /// Reads the values of `peal-due-ms`, `peal-attempt` and `peal-origin`; nil stands for a header that
    /// isn't there.
    package static func parse(
        due: UnsafeRawBufferPointer?, attempt: UnsafeRawBufferPointer?, origin: UnsafeRawBufferPointer?,
        lanes: LaneTable, nowMs: Int64
    ) throws(Fault) -> RetryHeaders {
        guard let due = unsafe due else { throw .dueMissing }
        guard let dueMs = unsafe decimal(due) else { throw .dueMalformed }
        guard dueMs <= nowMs + waitMaxMs else { throw .dueTooFar }
        guard let attempt = unsafe attempt else { throw .attemptMissing }
        guard let number = unsafe decimal(attempt), number <= 1_000_000 else { throw .attemptMalformed }
        guard let origin = unsafe origin else { throw .originMissing }
        return RetryHeaders(dueMs: dueMs, attempt: number, lane: unsafe try lanes.lane(ofOrigin: origin))
    }

    /// A number of 1 to 18 digits and nothing else.
    static func decimal(_ bytes: some Collection<UInt8>) -> Int64? {
        guard (1...18).contains(bytes.count) else { return nil }
        var value: Int64 = 0
        for byte in bytes {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return value
    }
}

/// The job topics by lane, for telling where a record goes back to.
package struct LaneTable: Sendable {
    /// The job topics, in the lanes' order.
    package let topics: [String]
    private let bytes: [[UInt8]]

    /// The table of the lanes under the prefix.
    package init(names: TopicNames, lanes: [String]) {
        topics = lanes.map { names.jobs(lane: $0) }
        bytes = topics.map { Array($0.utf8) }
    }

    /// The lane of `topic/partition/offset`. The partition is -1 for a job that waited from the start.
    func lane(ofOrigin origin: UnsafeRawBufferPointer) throws(RetryHeaders.Fault) -> Int {
        // Topic names can't hold a slash.
        guard let first = unsafe origin.firstIndex(of: UInt8(ascii: "/")) else { throw .originMalformed }
        let rest = unsafe origin[(first + 1)...]
        guard let second = unsafe rest.firstIndex(of: UInt8(ascii: "/")) else { throw .originMalformed }
        var partition = unsafe rest[..<second]
        if unsafe partition.first == UInt8(ascii: "-") { unsafe partition = partition.dropFirst() }
        guard unsafe RetryHeaders.decimal(partition) != nil, unsafe Self.isPlace(rest[(second + 1)...]) else {
            throw .originMalformed
        }
        let topic = unsafe UnsafeRawBufferPointer(rebasing: origin[..<first])
        for index in bytes.indices where unsafe bytes[index].elementsEqual(topic) { return index }
        throw .laneUnknown
    }

    /// The last part names the record in its partition: digits, or letters of a number in another base.
    private static func isPlace(_ bytes: some Collection<UInt8>) -> Bool {
        (1...64).contains(bytes.count)
            && bytes.allSatisfy {
                ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x41 && $0 <= 0x5A) || ($0 >= 0x61 && $0 <= 0x7A)
                    || $0 == 0x2D
            }
    }
}
