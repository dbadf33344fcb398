package import EventLoop

/// Time zone files for tests about what happens at some hour of somebody's clock.
package enum TimeZoneFile {
    /// Writes a time zone whose clocks show 7:00 after so many milliseconds, and never change.
    /// - Returns: when they do, in ms since 1970: a whole second.
    @discardableResult
    package static func write(
        _ folder: String, _ name: String, sevenAfterMs wait: Int64
    ) throws(SystemFailure) -> Int64 {
        let second = (Clock.wallMs + wait) / 1_000
        let offset = Int32((7 * 3_600 - second % 86_400 + 86_400) % 86_400)
        // RFC 9636: two blocks with one type and no change, then an empty rule.
        var block = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
        for count in [0, 0, 0, 0, 1, 4] as [UInt8] { block += [0, 0, 0, count] }
        block += (0..<4).map { UInt8(truncatingIfNeeded: offset >> (24 - $0 * 8)) } + [0, 0]
        block += Array("ABC\0".utf8)
        try Files.write(path: "\(folder)/\(name)", bytes: block + block + Array("\n\n".utf8))
        return second * 1_000
    }
}
