internal import Core
internal import EventLoop

/// What every process exposes of itself.
package enum ProcessFamilies {
    private static let everywhere = MetricRole.allCases

    /// Version and role.
    package static let build = MetricFamily.info(
        "peal_build_info", "What this process is.",
        [
            .closed("role", MetricRole.allCases.map(\.rawValue)),
            .open("version", "the version of Peal"),
        ], by: everywhere)
    /// When it started.
    package static let startTime = MetricFamily.gauge(
        "process_start_time_seconds", "When the process started, in seconds since 1970.",
        by: everywhere)
    /// CPU time.
    package static let cpu = MetricFamily.counter(
        "process_cpu_seconds_total", "CPU time of all threads.", by: everywhere)
    /// Resident memory.
    package static let resident = MetricFamily.gauge(
        "process_resident_memory_bytes", "Resident memory.", by: everywhere)
    /// Descriptors in use.
    package static let openDescriptors = MetricFamily.gauge(
        "process_open_fds", "Open file descriptors.", by: everywhere)
    /// Descriptors allowed.
    package static let maximumDescriptors = MetricFamily.gauge(
        "process_max_fds", "File descriptors that the process may open.", by: everywhere)
    /// What `/readyz` says.
    package static let ready = MetricFamily.gauge(
        "peal_ready", "Whether /readyz says that the process can work.", by: everywhere)
    /// What `/livez` says.
    package static let live = MetricFamily.gauge(
        "peal_live", "Whether /livez says that the process makes progress.", by: everywhere)

    /// All of them.
    package static let all = [
        build, startTime, cpu, resident, openDescriptors, maximumDescriptors, ready, live,
    ]

    /// Writes all of them.
    package static func write(
        to writer: inout MetricWriter, role: MetricRole, isReady: Bool, isLive: Bool
    ) {
        writer.begin(build)
        writer.add([role.rawValue, Version.current], 1)
        writer.begin(startTime)
        writer.add([], number: Double(Clock.processStartMs) / 1000)
        writer.begin(cpu)
        writer.add([], number: Double(Clock.processCPUNs) / 1e9)
        writer.single(resident, Clock.residentBytes)
        writer.single(openDescriptors, UInt64(clamping: Clock.openDescriptors))
        writer.single(maximumDescriptors, Clock.maximumDescriptors)
        writer.single(ready, isReady ? 1 : 0)
        writer.single(live, isLive ? 1 : 0)
    }
}
