import Core
import EventLoop
import Glibc
import Testing

@testable import Metrics

@Suite struct ProcessFamiliesTests {
    @Test func aProcessTellsWhatItIsAndUses() throws {
        var writer = MetricWriter(.text)
        ProcessFamilies.write(to: &writer, role: .retry, isReady: false, isLive: true)
        let reader = MetricText(String(decoding: writer.finish(), as: UTF8.self))
        #expect(reader.sum("peal_build_info", where: "role", is: "retry") == 1)
        #expect(reader.sum("peal_build_info", where: "version", is: Version.current) == 1)
        #expect(reader.sum("peal_ready") == 0 && reader.sum("peal_live") == 1)
        #expect(reader.sum("process_resident_memory_bytes") > 1_000_000)
        #expect(reader.sum("process_cpu_seconds_total") > 0)
        let age = Double(Clock.wallMs) / 1000 - reader.sum("process_start_time_seconds")
        #expect(age > 0 && age < 86_400)
        #expect(reader.sum("process_max_fds") >= reader.sum("process_open_fds"))
    }

    @Test func openDescriptorsAreCounted() {
        let before = Clock.openDescriptors
        let opened = (0..<64).map { _ in dup(0) }
        defer { for descriptor in opened { close(descriptor) } }
        // Other tests of the process open and close some at the same time.
        #expect(Clock.openDescriptors >= before + 32)
    }
}
