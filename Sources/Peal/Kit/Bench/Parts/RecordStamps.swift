internal import Core

/// When each job was published, by the `apns-id` that its request will carry, to be compared with when the
/// requests arrived. Ids are derived from job and device, so nothing has to be added to a job for that.
struct RecordStamps {
    /// An `apns-id`'s 128 bits.
    private struct ID: Hashable {
        var high: UInt64 = 0
        var low: UInt64 = 0
    }

    private var publishedUs: [ID: UInt64] = [:]

    /// Jobs whose request has not been seen.
    var openCount: Int { publishedUs.count }

    /// Forgets all.
    mutating func clear() { publishedUs.removeAll(keepingCapacity: true) }

    /// Notes that a job was published, in microseconds since 1970.
    mutating func published(job: String, device: String, atUs: UInt64) {
        let (job, device) = (Array(job.utf8), Array(device.utf8))
        let id = unsafe job.withUnsafeBytes { job in
            unsafe device.withUnsafeBytes { device in unsafe DerivedUUID(job: job, device: device) }
        }
        publishedUs[ID(high: id.high, low: id.low)] = atUs
    }

    /// Takes the requests of a page of the simulator's record.
    /// - Parameters:
    ///   - page: What `GET /record` gave.
    ///   - take: Hears of each known request: when its job was published, in microseconds, and when it
    ///     arrived, in whole milliseconds, both since 1970.
    /// - Returns: how many requests the page had.
    mutating func match(page: [UInt8], take: (_ publishedUs: UInt64, _ arrivedMs: UInt64) -> Void) -> Int {
        var count = 0
        // The record writes each request on a line of its own.
        for line in page.split(separator: UInt8(ascii: "\n")) {
            guard let arrivedMs = Self.arrivalMs(in: line) else { continue }
            count += 1
            guard let id = Self.id(in: line), let published = publishedUs.removeValue(forKey: id) else {
                continue
            }
            take(published, arrivedMs)
        }
        return count
    }

    /// When the first request of a page arrived, in ms since 1970; nil of an empty one.
    static func firstArrivalMs(page: [UInt8]) -> UInt64? { arrivalMs(in: page[...]) }

    private static func arrivalMs(in line: ArraySlice<UInt8>) -> UInt64? {
        guard let at = end(of: arrival, in: line) else { return nil }
        return line[at...].prefix { 0x30...0x39 ~= $0 }.reduce(UInt64(0)) { $0 &* 10 &+ UInt64($1 - 0x30) }
    }

    private static let arrival = Array("\"arrival_ms\":".utf8)
    private static let apnsID = Array("\"apns_id\":\"".utf8)

    private static func id(in line: ArraySlice<UInt8>) -> ID? {
        guard let at = end(of: apnsID, in: line) else { return nil }
        var id = ID()
        var digits = 0
        for byte in line[at...].prefix(36) where byte != UInt8(ascii: "-") {
            guard let value = Hex.value(byte) else { return nil }
            if digits < 16 {
                id.high = id.high << 4 | UInt64(value)
            } else {
                id.low = id.low << 4 | UInt64(value)
            }
            digits += 1
        }
        return digits == 32 ? id : nil
    }

    /// The place behind the first occurrence of `name`.
    private static func end(of name: [UInt8], in line: ArraySlice<UInt8>) -> Int? {
        guard line.count >= name.count else { return nil }
        for start in line.startIndex...(line.endIndex - name.count)
        where line[start] == name[0] && line[start..<start + name.count].elementsEqual(name) {
            return start + name.count
        }
        return nil
    }
}
