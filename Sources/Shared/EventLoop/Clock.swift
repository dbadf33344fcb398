internal import CLinux
internal import Glibc

/// The system's clocks and process gauges. Every call is a system call or a vDSO read; a loop reads time once
/// a turn.
package enum Clock {
    /// Nanoseconds of CLOCK_MONOTONIC.
    package static var monotonicNs: UInt64 { peal_monotonic_ns() }
    /// Milliseconds of CLOCK_MONOTONIC.
    package static var monotonicMs: UInt64 { peal_monotonic_ns() / 1_000_000 }
    /// Milliseconds since 1970.
    package static var wallMs: Int64 { peal_realtime_ms() }
    /// Nanoseconds since 1970.
    package static var wallNs: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
    /// CPU time of the whole process in nanoseconds, all threads.
    package static var processCPUNs: UInt64 { peal_process_cpu_ns() }
    /// Resident memory in bytes; 0 when /proc is not there.
    package static var residentBytes: UInt64 { peal_process_rss_bytes() }
    /// When this process started, milliseconds since 1970; 0 when /proc is not there.
    package static let processStartMs: Int64 = peal_process_start_ms()
    /// File descriptors in use, and how many the process may have.
    package static var openDescriptors: Int { Int(peal_process_open_fds()) }
    package static var maximumDescriptors: UInt64 { peal_process_max_fds() }
    /// Bounds the heaps that the C library divides the process's memory into, and the free bytes that each
    /// keeps at its end (mallopt(3)), unless the environment's MALLOC_ variables have. Call it before the
    /// first thread is made.
    package static func limitHeaps(_ count: Int, keepingBytes bytes: Int) {
        peal_limit_heaps(Int32(clamping: count), Int32(clamping: bytes))
    }
    /// Processors on line.
    package static var processorCount: Int { max(1, Int(peal_cpu_count())) }
}

/// The kernel's random source.
package enum RandomSource {
    /// Eight random bytes.
    package static func seed() -> UInt64 {
        var value: UInt64 = 0
        let got = unsafe withUnsafeMutableBytes(of: &value) { unsafe peal_random($0.baseAddress, $0.count) }
        return got == 8 ? value : peal_monotonic_ns() &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(getpid())
    }

    /// `count` random bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        var out: [UInt8] = []
        while out.count < count {
            let word = seed()
            for shift in stride(from: UInt64(0), to: 64, by: 8) where out.count < count {
                out.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return out
    }
}
