/// The JSON member names under which a sender puts its job id, so that the record can be asked by job.
///
/// They are looked for at the top level of an APNs payload, one dictionary below it (except in `aps`), and in
/// the `data` maps of an FCM message.
package struct PayloadMarkers: Sendable {
    private let names: [[UInt8]]
    private let lengths: UInt64

    /// The default name.
    package static let standard = PayloadMarkers(["peal_job"])

    package init(_ names: [String]) {
        self.names = names.map { Array($0.utf8) }
        lengths = self.names.reduce(0) { $0 | 1 << UInt64(min(63, $1.count)) }
    }

    /// Whether the member name is one of them; decided by the name's length in nearly every case.
    func contains(_ name: Bytes) -> Bool {
        guard lengths & (1 << UInt64(min(63, name.count))) != 0 else { return false }
        for candidate in names where name.equals(candidate) { return true }
        return false
    }
}
