internal import Terminal

/// What is to be carried, and with how much room.
struct SizeRequest: Equatable, Sendable {
    /// Notifications a second at the peak.
    var rate = 0
    /// Registered devices.
    var devices = 0
    /// Recipients that have them.
    var recipients = 0
    /// How much of the devices, and of the notifications, is FCM's.
    var fcmPercent = 50
    /// From a request to the provider's answer, ms.
    var roundTripMs = 60
    /// How many of a hundred notifications are tried once more.
    var retryPercent = 2
    /// How many of a hundred jobs come through the gateway, one in a request.
    var gatewayPercent = 0
    /// Recipients of the largest broadcast.
    var broadcast = 0
    var jobBytes = 400
    /// How much of what was measured is planned to be used at the peak.
    var loadPercent = 60
    var coresPerPod = 2
    var retentionHours = 24
    var replication = 3
    /// Memory of one Redis shard that data may fill, GiB.
    var redisGiB = 8

    /// The options that set it.
    static let options = [
        Option("rate", .value("N"), help: "notifications a second at the peak; must be given"),
        Option("devices", .value("N"), help: "registered devices (100 times the rate)"),
        Option("recipients", .value("N"), help: "recipients that have them (as many)"),
        Option("fcm", .value("PERCENT"), help: "of devices and notifications that are FCM's (50)"),
        Option("round-trip", .value("MS"), help: "from a request to the provider's answer (60)"),
        Option("retries", .value("PERCENT"), help: "of notifications that are tried once more (2)"),
        Option("gateway", .value("PERCENT"), help: "of jobs that come over HTTP, one in a request (0)"),
        Option("broadcast", .value("N"), help: "recipients of the largest broadcast (0)"),
        Option("job-bytes", .value("N"), help: "of a job (400)"),
        Option("load", .value("PERCENT"), help: "of what was measured to use at the peak (60)"),
        Option("cores", .value("N"), help: "of a pod (2)"),
        Option("retention", .value("HOURS"), help: "of the topics (24)"),
        Option("replication", .value("N"), help: "copies that Kafka keeps (3)"),
        Option("redis-memory", .value("GIB"), help: "that data may fill in one Redis shard (8)"),
    ]

    init(rate: Int) {
        self.rate = rate
        devices = rate * 100
        recipients = devices
    }

    /// Reads the command line.
    /// - Throws: what is missing or out of its range.
    init(_ arguments: Arguments) throws(UsageFailure) {
        guard let rate = try arguments.integer("rate", in: 1...100_000_000) else {
            throw UsageFailure("size needs --rate: the notifications a second at the peak")
        }
        self.init(rate: rate)
        devices = try arguments.integer("devices", in: 0...100_000_000_000) ?? devices
        recipients = try arguments.integer("recipients", in: 0...100_000_000_000) ?? devices
        guard recipients <= devices else {
            throw UsageFailure("--recipients is more than --devices; a recipient counts that has a device")
        }
        fcmPercent = try arguments.integer("fcm", in: 0...100) ?? fcmPercent
        roundTripMs = try arguments.integer("round-trip", in: 1...60_000) ?? roundTripMs
        retryPercent = try arguments.integer("retries", in: 0...100) ?? retryPercent
        gatewayPercent = try arguments.integer("gateway", in: 0...100) ?? gatewayPercent
        broadcast = try arguments.integer("broadcast", in: 0...100_000_000_000) ?? broadcast
        jobBytes = try arguments.integer("job-bytes", in: 1...1_000_000) ?? jobBytes
        loadPercent = try arguments.integer("load", in: 1...100) ?? loadPercent
        coresPerPod = try arguments.integer("cores", in: 1...256) ?? coresPerPod
        retentionHours = try arguments.integer("retention", in: 1...8_760) ?? retentionHours
        replication = try arguments.integer("replication", in: 1...10) ?? replication
        redisGiB = try arguments.integer("redis-memory", in: 1...4_096) ?? redisGiB
    }
}
