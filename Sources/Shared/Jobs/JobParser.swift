import CSimdjson
import Core
import Glibc

/// Reads jobs in place: simdjson finds where the tokens are, one walk over them checks everything that the
/// job format asks for and notes where the fields lie.
///
/// - Ownership: owns simdjson's index; reuse one parser for many jobs.
/// - Threading: one thread at a time.
/// - Cost: nothing is allocated, except to word a fault.
@safe
package final class JobParser {
    /// The most bytes that a job may have. Spans are 16 bits wide.
    package static let maximumBytes = 65_535
    /// The most levels of objects and arrays, the job's own included.
    package static let maximumDepth = 32
    /// The most members that `data` may have.
    package static let maximumDataMembers = 256
    /// The most ids that `to.devices` may have.
    package static let maximumDevices = 256

    private let indexer: OpaquePointer
    private let names: UnsafeMutablePointer<JobToken>

    /// Makes a parser; nil when there is no memory for its index (about 300 KiB).
    package init?() {
        guard let indexer = unsafe peal_json_new(Self.maximumBytes + 1) else { return nil }
        unsafe self.indexer = indexer
        unsafe names = .allocate(capacity: Self.maximumDataMembers)
        unsafe names.initialize(repeating: JobToken(), count: Self.maximumDataMembers)
    }

    deinit {
        unsafe peal_json_free(indexer)
        unsafe names.deallocate()
    }

    /// The instruction set that simdjson chose on this machine.
    package static var kernel: String { unsafe String(cString: peal_json_kernel()) }

    /// Reads one job.
    ///
    /// - Parameters:
    ///   - value: the bytes of one record. They must outlive `job`; nothing past their end is read.
    ///   - job: filled in; when there is a fault it holds what was read so far and may only be used for
    ///     ``Job/bytes``.
    /// - Returns: nil, or why the job is refused.
    package func parse(_ value: UnsafeRawBufferPointer, into job: inout Job) -> JobFault? {
        job = Job()
        guard let base = value.baseAddress, value.count > 0 else { return Self.empty }
        guard value.count <= Self.maximumBytes else {
            return JobFault(
                .tooLarge, "", "A job may have \(Self.maximumBytes) bytes; make this one shorter.")
        }
        unsafe job.base = base
        job.length = UInt32(truncatingIfNeeded: value.count)
        var index = unsafe peal_json_index()
        let status = unsafe peal_json_run(indexer, base, value.count, &index)
        if status != 0 { return Self.fault(ofStatus: status) }
        var walk = unsafe JobWalk(
            bytes: value, offsets: index.offsets, count: Int(index.count),
            hasEscapes: memchr(base, 0x5C, value.count) != nil, names: names)
        return walk.run(&job) ? nil : walk.fault
    }

    private static let empty = JobFault(.empty, "", "The job is empty; send a JSON object with app and to.")

    private static func fault(ofStatus status: Int32) -> JobFault {
        switch Int(status) {
        case Int(PEAL_JSON_EMPTY): empty
        case Int(PEAL_JSON_UTF8): JobFault(.invalidUTF8, "", "The job isn't valid UTF-8; encode it as UTF-8.")
        case Int(PEAL_JSON_UNCLOSED_STRING):
            JobFault(.malformed, "", "A string in the job doesn't end; add the missing quote.")
        case Int(PEAL_JSON_CONTROL_CHARACTER):
            JobFault(.malformed, "", "A string in the job holds a bare control character; escape it.")
        default: JobFault(.malformed, "", "The job isn't JSON.")
        }
    }
}
