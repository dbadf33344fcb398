internal import EventLoop
internal import Glibc
package import SimulatorKit

/// An app of the stack, with the simulator's credentials for both providers.
package struct StackApp: Sendable {
    package var name: String
    /// A payload profile's name: `concierge`.
    package var profile: String
    /// The bundle id.
    package var topic: String
    /// `reject` or `truncate`.
    package var oversize: String
    /// `all`, `failures` or `off`.
    package var outcomes: String

    package init(
        _ name: String, profile: String = "plain", topic: String? = nil, oversize: String = "reject",
        outcomes: String = "all"
    ) {
        self.name = name
        self.profile = profile
        self.topic = topic ?? "com.example.\(name)"
        self.oversize = oversize
        self.outcomes = outcomes
    }

    /// The apps of the demo's input, one for each payload profile.
    package static let demo = [
        StackApp("helpdesk", profile: "concierge", oversize: "truncate"),
        StackApp("moonlight", profile: "dialect"), StackApp("studio", profile: "creator"),
        StackApp("vault", profile: "wallet"),
    ]
}

/// What a stack consists of.
package struct StackOptions: Sendable {
    package var workers = 1
    package var retries = 1
    /// Gateways; each takes the stack's API key for every app and scope.
    package var gateways = 0
    /// Processes of the broadcast stage.
    package var expanders = 0
    /// Partitions of each job topic, and of the outcome topic. The embedded broker keeps 5 MiB of each.
    package var partitions = 16
    package var topicPrefix = "peal"
    package var apps = StackApp.demo
    /// How the simulator behaves; its certificate directory is the stack's.
    package var simulator = SimulatorSettings()
    /// Settings of redis-server as on its command line.
    package var redisSettings: [String] = []
    /// Whether Redis keeps its data when it is killed and started again.
    package var redisIsDurable = false
    /// Lines put into the configuration's sections, for example `["worker": ["shards: 1"]]`.
    package var settings: [String: [String]] = [:]
    /// The first waits of the back-off classes and the retry topics suit a run of seconds instead of the
    /// providers' minutes.
    package var hasShortWaits = true
    /// Added to the environment of every program.
    package var environment: [String: String] = [:]
    package var logLevel = "info"
    /// Where the programs are; nil for the directory of this process's own executable.
    package var programDirectory: String?
    /// Where configuration, credentials and logs go; nil for a temporary directory.
    package var directory: String?
    /// Whether the temporary directory stays.
    package var keepsDirectory = false
    /// How long the start and each ready check may take, in ms.
    package var readyDeadlineMs: UInt64 = 60_000

    package init() {}

    /// The directory of this process's executable.
    package static var ownDirectory: String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &path, path.count)
        guard count > 0 else { return "." }
        let text = String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let slash = text.lastIndex(of: "/") else { return "." }
        return String(text[..<slash])
    }
}
