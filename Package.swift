// swift-tools-version: 6.2
import PackageDescription

// One settings constant for every Swift target. A C type that leaks out of its wrapper, an unmarked unsafe
// use or a warning of any kind is a build failure.
let strict: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    // The run-time exclusivity checks of class properties cost a tenth of the worker's CPU
    // (docs/benchmarks.md). Debug builds, and so every test, keep them.
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

// Tests drive pointers and C buffers freely, so they keep everything but the `unsafe` markers.
let strictTests: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func library(_ name: String, _ path: String, _ dependencies: [Target.Dependency], exclude: [String] = [])
    -> Target
{
    .target(name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: strict)
}

func shared(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    library(name, "Sources/Shared/\(name)", dependencies)
}

func door(_ name: String, pkgConfig: String?, apt: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/Shared/C/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

func executable(_ name: String, _ path: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(name)", resources: resources,
        swiftSettings: strictTests)
}

let package = Package(
    name: "peal",
    products: [
        .executable(name: "peal-producer", targets: ["peal-producer"]),
        .executable(name: "peal-worker", targets: ["peal-worker"]),
        .executable(name: "peal-retry", targets: ["peal-retry"]),
        .executable(name: "peal-simulator", targets: ["peal-simulator"]),
        .executable(name: "peal", targets: ["peal"]),
        // Preloaded by `peal bench allocations` into the worker that it measures; linked into nothing.
        .library(name: "peal-allocations", type: .dynamic, targets: ["CAllocations"]),
    ],
    targets: [
        // Layer 0: C doors. Each is imported by exactly one wrapper target.
        .target(name: "CLinux", path: "Sources/Shared/C/CLinux"),
        .target(name: "CAllocations", path: "Sources/Shared/C/CAllocations"),
        .target(
            name: "CSimdjson", path: "Sources/Shared/C/CSimdjson",
            cxxSettings: [.define("NDEBUG")],
            linkerSettings: [.linkedLibrary("simdjson")]),
        door("CRdkafka", pkgConfig: "rdkafka", apt: "librdkafka-dev"),
        door("CNghttp2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev"),
        door("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
        // No pkg-config: Debian's hiredis.pc carries a flag that SwiftPM refuses with a warning.
        door("CHiredis", pkgConfig: nil, apt: "libhiredis-dev"),
        door("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
        door("CMicrohttpd", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
        door("CYaml", pkgConfig: "yaml-0.1", apt: "libyaml-dev"),

        // Layer 1: values. No I/O, no clock, no C beyond the JSON reader.
        .target(
            name: "Core", path: "Sources/Shared/Core", swiftSettings: strict,
            linkerSettings: [.linkedLibrary("m")]),
        shared("Decisions", ["Core"]),
        shared("Jobs", ["Core", "CSimdjson"]),
        shared("Rendering", ["Core", "Jobs"]),

        // Layer 2: the loop, threads and clocks.
        shared("EventLoop", ["Core", "CLinux"]),
        shared("Metrics", ["Core", "EventLoop"]),

        // Layer 3: one wrapper for each library.
        shared("Security", ["Core", "COpenSSL"]),
        shared("HTTP2", ["Core", "EventLoop", "Security", "CNghttp2"]),
        shared("Kafka", ["Core", "EventLoop", "CRdkafka"]),
        shared("Redis", ["Core", "EventLoop", "Security", "CHiredis"]),
        shared("HTTPClient", ["Core", "EventLoop", "CCurl"]),
        shared("HTTPServer", ["Core", "EventLoop", "Metrics", "CMicrohttpd"]),
        shared("YAML", ["Core", "CYaml"]),

        // Layer 4: shared services.
        shared("Logging", ["Core", "EventLoop"]),
        shared("Tracing", ["Core", "EventLoop", "HTTPClient", "Logging"]),
        shared("Terminal", ["Core", "EventLoop"]),
        shared("Configuration", ["Core", "Decisions", "Rendering", "YAML"]),
        shared("Registry", ["Core", "Decisions", "EventLoop", "Redis", "Security"]),
        shared("Overview", ["Core", "Decisions", "EventLoop", "Redis", "Registry"]),
        shared(
            "Providers",
            [
                "Core", "Decisions", "Jobs", "Rendering", "EventLoop", "Security", "HTTP2", "HTTPClient",
                "Redis", "Logging", "Configuration", "Registry",
            ]),

        shared(
            "Services",
            [
                "Core", "Decisions", "EventLoop", "Metrics", "Security", "HTTPClient", "HTTPServer", "Kafka",
                "Logging", "Tracing", "Configuration", "Redis", "Registry", "Terminal",
            ]),

        // Layer 5: the services, each a library that tests drive in-process.
        library(
            "WorkerKit", "Sources/Worker/Kit",
            [
                "Core", "Decisions", "Jobs", "Rendering", "EventLoop", "Metrics", "Security", "HTTP2",
                "Kafka",
                "Redis", "HTTPServer", "Logging", "Terminal", "Configuration", "Registry", "Providers",
                "Services", "Tracing",
            ]),
        library(
            "RetryKit", "Sources/Retry/Kit",
            [
                "Core", "Decisions", "EventLoop", "Metrics", "Kafka", "Redis", "HTTPServer", "Logging",
                "Terminal", "Configuration", "Registry", "Services", "Tracing",
            ]),
        library(
            "ProducerKit", "Sources/Producer/Kit",
            [
                "Core", "Decisions", "Jobs", "EventLoop", "Kafka", "Redis", "Logging", "Terminal",
                "Configuration", "Registry", "Services",
            ]),
        library(
            "GatewayKit", "Sources/Producer/Gateway",
            [
                "Core", "Decisions", "Jobs", "EventLoop", "Metrics", "Security", "Kafka", "Redis",
                "HTTPServer", "Logging", "Terminal", "Configuration", "Registry", "Overview", "Providers",
                "Services", "Tracing",
                "ProducerKit",
            ]),
        library(
            "BroadcastKit", "Sources/Producer/Broadcast",
            [
                "Core", "Decisions", "Jobs", "EventLoop", "Metrics", "Kafka", "Redis", "HTTPServer",
                "Logging", "Terminal", "Configuration", "Registry", "Services",
            ]),
        library(
            "SimulatorKit", "Sources/Simulator/Kit",
            [
                "Core", "Jobs", "EventLoop", "Metrics", "Security", "HTTP2", "HTTPServer", "Logging",
                "Terminal",
            ]),
        library(
            "PealKit", "Sources/Peal/Kit",
            [
                "Core", "Decisions", "Jobs", "Rendering", "EventLoop", "Metrics", "Security", "HTTP2",
                "HTTPClient", "Kafka", "Overview",
                "Redis", "Logging", "Terminal", "Configuration", "Registry", "Providers", "SimulatorKit",
                "WorkerKit",
                "RetryKit", "ProducerKit", "GatewayKit", "BroadcastKit", "Services",
            ]),

        // Thin mains.
        executable(
            "peal-producer", "Sources/Producer/Main",
            ["Core", "ProducerKit", "GatewayKit", "BroadcastKit", "Terminal"]),
        executable("peal-worker", "Sources/Worker/Main", ["WorkerKit", "Terminal"]),
        executable("peal-retry", "Sources/Retry/Main", ["RetryKit", "Terminal"]),
        executable("peal-simulator", "Sources/Simulator/Main", ["SimulatorKit", "Terminal"]),
        executable("peal", "Sources/Peal/Main", ["PealKit", "Terminal"]),

        // Tests, one target for each library.
        .target(
            name: "TestSupport",
            dependencies: ["Core", "EventLoop", "HTTPServer", "Metrics", "Redis", "Kafka", "Security"],
            path: "Tests/Support", swiftSettings: strictTests),
        tests("CoreTests", ["Core"]),
        tests("DecisionsTests", ["Decisions", "EventLoop", "Core"]),
        tests("JobsTests", ["Jobs", "Core"]),
        tests("RenderingTests", ["Rendering", "Jobs", "Core"]),
        tests("EventLoopTests", ["EventLoop", "Core"]),
        tests("MetricsTests", ["Metrics", "EventLoop", "Core"]),
        tests("SecurityTests", ["Security", "Core"]),
        tests("HTTP2Tests", ["HTTP2", "Security", "EventLoop", "Core", "TestSupport"]),
        tests("KafkaTests", ["Kafka", "EventLoop", "Core", "TestSupport"]),
        tests("RedisTests", ["Redis", "EventLoop", "Security", "Core", "TestSupport"]),
        tests(
            "RegistryTests",
            ["Registry", "Decisions", "Redis", "Security", "EventLoop", "Core", "TestSupport"]),
        tests(
            "OverviewTests",
            ["Overview", "Registry", "Decisions", "Redis", "EventLoop", "Core", "TestSupport"]),
        tests(
            "HTTPClientTests",
            ["HTTPClient", "HTTPServer", "Metrics", "Security", "EventLoop", "Core", "TestSupport"]),
        tests("YAMLTests", ["YAML", "Core"]),
        tests(
            "ConfigurationTests",
            ["Configuration", "Rendering", "Decisions", "YAML", "EventLoop", "Core"]),
        tests("TerminalTests", ["Terminal", "Core"]),
        tests(
            "LoggingTests",
            [
                "Logging", "Services", "Kafka", "Metrics", "Configuration", "HTTPServer", "Redis", "Registry",
                "Decisions", "EventLoop", "Core", "TestSupport",
            ]),
        tests(
            "TracingTests",
            [
                "Tracing", "Services", "Configuration", "HTTPClient", "HTTPServer", "Logging", "EventLoop",
                "Core",
                "TestSupport",
            ]),
        tests(
            "ProvidersTests",
            [
                "Providers", "Configuration", "Decisions", "Rendering", "Jobs", "HTTP2", "HTTPServer",
                "Security", "Redis", "Registry", "EventLoop", "Core", "Logging", "SimulatorKit",
                "TestSupport",
            ]),
        tests(
            "SimulatorTests",
            [
                "SimulatorKit", "HTTP2", "HTTPServer", "Terminal", "Security", "EventLoop", "Core",
                "TestSupport",
            ]),
        tests(
            "ProducerTests",
            [
                "ProducerKit", "Kafka", "Redis", "Registry", "Jobs", "Decisions", "Core", "EventLoop",
                "Terminal", "TestSupport",
            ]),
        tests(
            "GatewayTests",
            [
                "GatewayKit", "ProducerKit", "WorkerKit", "SimulatorKit", "HTTPServer", "HTTPClient",
                "Kafka", "Redis", "Registry", "Configuration", "Decisions", "Jobs", "Security", "Core",
                "EventLoop", "Logging", "Services", "Tracing", "TestSupport",
            ]),
        tests(
            "RetryTests",
            [
                "RetryKit", "Metrics", "Kafka", "Redis", "Registry", "Configuration", "Decisions", "Core",
                "EventLoop", "Logging", "Tracing", "TestSupport",
            ]),
        tests(
            "BroadcastTests",
            [
                "BroadcastKit", "WorkerKit", "RetryKit", "ProducerKit", "SimulatorKit", "Kafka", "Redis",
                "Registry", "Configuration", "Decisions", "Jobs", "Core", "EventLoop", "Logging", "Terminal",
                "TestSupport",
            ]),
        tests(
            "WorkerTests",
            [
                "WorkerKit", "RetryKit", "ProducerKit", "SimulatorKit", "Metrics", "HTTP2", "HTTPClient",
                "HTTPServer",
                "Kafka", "Redis", "Registry", "Configuration",
                "Decisions",
                "Jobs", "Rendering", "Providers", "Security", "Core", "EventLoop", "Logging",
                "Services", "Tracing", "TestSupport",
            ]),
        tests(
            "PealTests",
            [
                "PealKit", "SimulatorKit", "WorkerKit", "RetryKit", "BroadcastKit", "Metrics",
                "Overview", "Configuration", "Decisions", "Jobs", "HTTPClient", "HTTPServer", "Kafka",
                "Logging", "Terminal", "Core", "EventLoop", "Redis", "Registry", "TestSupport",
            ]),
        tests(
            "OperationsTests",
            [
                "PealKit", "Metrics", "SimulatorKit", "HTTPClient", "YAML", "Kafka", "Redis", "Decisions",
                "Core", "EventLoop", "Terminal", "TestSupport",
            ]),
        tests("TidyTests", []),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
