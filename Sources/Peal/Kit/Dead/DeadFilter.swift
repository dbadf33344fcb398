internal import Core
internal import Jobs
internal import Kafka
internal import Terminal

/// Which dead letters a command is about.
struct DeadFilter: Equatable {
    var app: String?
    var reasons: [String] = []
    /// In ms since 1970.
    var sinceMs: Int64?
    var untilMs: Int64?
    var recipient: String?
    var id: String? { didSet { search = id.map { ByteSearch($0) } } }
    private var search: ByteSearch?
    /// Letters by their place; empty for all.
    var places: Set<DeadLetter.Place> = []

    /// The options that it is read from.
    static let options = [
        Option("app", .value("APP"), help: "letters of one app"),
        Option(
            "reason", .values("REASON"), help: "letters of a reason, such as unknown_app"),
        Option("since", .value("TIME"), help: "letters that died since then: " + TimePoint.form),
        Option("until", .value("TIME"), help: "letters that died before then"),
        Option("recipient", .value("NAME"), help: "letters of one recipient"),
        Option("id", .value("ID"), help: "letters of the job with this id"),
    ]

    init() {}

    /// Reads a command line; operands after the verb are places.
    init(_ arguments: Arguments, nowMs: Int64) throws(UsageFailure) {
        app = arguments.string("app")
        reasons = arguments.all("reason")
        sinceMs = try TimePoint.read("since", arguments, nowMs: nowMs)
        untilMs = try TimePoint.read("until", arguments, nowMs: nowMs)
        if let sinceMs, let untilMs, untilMs <= sinceMs {
            throw UsageFailure("--until lies before --since, so there is nothing between them")
        }
        recipient = arguments.string("recipient")
        id = arguments.string("id")
        search = id.map { ByteSearch($0) }
        if id?.isEmpty == true { throw UsageFailure("--id takes a job's id") }
        for text in arguments.operands.dropFirst() {
            guard let place = DeadLetter.Place(text) else {
                throw UsageFailure(
                    "\"\(text)\" is no letter; write PARTITION/OFFSET as 'peal dead list' shows it")
            }
            places.insert(place)
        }
    }

    /// Whether it takes every letter.
    var isOpen: Bool { self == DeadFilter() }

    /// Whether a record is meant, without copying it. ``matchesID(_:_:)`` has the last word on the job's id.
    func matches(_ record: borrowing KafkaRecord) -> Bool {
        if !places.isEmpty,
            !places.contains(.init(partition: record.partition, offset: record.offset))
        {
            return false
        }
        if let search, unsafe !(record.value.map { unsafe search.isIn($0) } ?? false) { return false }
        if app != nil || recipient != nil, unsafe !matchesKey(record.key) { return false }
        if !reasons.isEmpty {
            guard let reason = unsafe record.header(PealHeader.reason) else { return false }
            guard reasons.contains(where: { unsafe reason.elementsEqual($0.utf8) }) else { return false }
        }
        guard sinceMs != nil || untilMs != nil else { return true }
        let time = Self.deadMs(record)
        return time >= (sinceMs ?? .min) && time < (untilMs ?? .max)
    }

    /// When the letter was found dead, in ms since 1970.
    static func deadMs(_ record: borrowing KafkaRecord) -> Int64 {
        guard let dead = unsafe record.header(PealHeader.deadMs),
            let ms = unsafe Int64(String(decoding: dead, as: UTF8.self)), ms >= 0
        else { return max(0, record.timestampMs) }
        return ms
    }

    private func matchesKey(_ key: UnsafeRawBufferPointer?) -> Bool {
        guard let key = unsafe key, let slash = unsafe key.firstIndex(of: UInt8(ascii: "/")) else {
            return false
        }
        if let app, unsafe !key[..<slash].elementsEqual(app.utf8) { return false }
        if let recipient, unsafe !key[(slash + 1)...].elementsEqual(recipient.utf8) { return false }
        return true
    }

    /// Whether the letter's job has the id that is asked for. One that can't be read is taken at its bytes.
    func matchesID(_ letter: DeadLetter, _ parser: JobParser) -> Bool {
        guard let id, let value = letter.record.value else { return true }
        return unsafe value.withUnsafeBytes { bytes in
            var job = Job()
            guard unsafe parser.parse(bytes, into: &job) == nil else { return true }
            return job.id?.string == id
        }
    }

    /// What of the topic has to be read; places narrow it to their offsets.
    func narrow(_ scan: inout LogScan) {
        guard !places.isEmpty else { return }
        scan.stretches = scan.stretches.compactMap { stretch in
            let own = places.filter { $0.partition == stretch.partition }.map(\.offset)
            guard let first = own.min(), let last = own.max() else { return nil }
            var narrowed = stretch
            narrowed.from = max(stretch.from, first)
            narrowed.to = min(stretch.to, last + 1)
            return narrowed
        }
    }
}
