internal import Core
internal import EventLoop
internal import Kafka
internal import Redis
internal import Registry

/// Registers a plan's devices and publishes its jobs.
struct DemoSender {
    let plan: DemoPlan

    /// Registers every recipient's devices of every round.
    /// - Parameters:
    ///   - endpoint: the store.
    ///   - progress: told how many recipients are done.
    /// - Throws: `.redis` when the store refuses one.
    func register(at endpoint: RedisEndpoint, progress: (Int) -> Void) throws(StackFailure) {
        do throws(RedisFailure) {
            let session = try RedisSession(endpoint, scripts: RegistryScripts.all)
            defer { session.close() }
            var done = 0
            for round in 0..<plan.rounds {
                for recipient in plan.input.recipients {
                    try register(recipient, round, session)
                    done += 1
                    progress(done)
                }
            }
        } catch {
            throw StackFailure(.redis, "registering the devices failed: \(error)")
        }
    }

    private func register(_ recipient: DemoRecipient, _ round: Int, _ session: RedisSession)
        throws(RedisFailure)
    {
        let directory = DeviceDirectory(session: session, app: recipient.app)
        let name = recipient.name + DemoPlan.suffix(round: round)
        for device in recipient.devices {
            try directory.register(
                recipient: name, device: device.id,
                DeviceRecord(
                    platform: DevicePlatform(name: device.platform) ?? .ios,
                    token: DemoPlan.token(device.token, round: round), registeredAtMs: Clock.wallMs,
                    isSandbox: device.environment == "sandbox", locale: device.locale,
                    timeZone: device.timeZone, appVersion: device.appVersion))
        }
    }

    /// Publishes the jobs in order, each to its app's lane.
    /// - Parameters:
    ///   - brokers: the bootstrap servers.
    ///   - topics: the topics' names.
    ///   - room: how many jobs may be published on top of those published so far; asked whenever the last
    ///   answer is
    ///     used up.
    ///   - progress: told how many are published.
    /// - Throws: `.broker` when the broker refuses one.
    func publish(
        to brokers: String, topics: TopicNames, room: (Int) -> Int, progress: (Int) -> Void
    ) throws(StackFailure) {
        let producer: KafkaProducer
        do throws(KafkaFailure) {
            producer = try KafkaProducer(
                KafkaConfiguration.producer(brokers: brokers, clientID: "peal-demo"),
                topics: TopicNames.lanes.map { topics.jobs(lane: $0) })
            try producer.warmUp(timeoutMs: 10_000)
        } catch {
            throw StackFailure(.broker, "publishing failed: \(error)")
        }
        defer { producer.close(deadlineMs: 2_000) }
        try publish(with: producer, room: room, progress: progress)
    }

    private func publish(
        with producer: KafkaProducer, room: (Int) -> Int, progress: (Int) -> Void
    ) throws(StackFailure) {
        var job = ByteBuffer(capacity: 4096)
        var key = ByteBuffer(capacity: 256)
        var reports: [DeliveryReport] = []
        var next = 0
        var limit = 0
        while next < plan.jobCount {
            if next >= limit {
                limit = min(plan.jobCount, next + room(next))
                progress(next)
            }
            if next >= limit {
                producer.drain(into: &reports, timeoutMs: 2)
                try check(&reports)
                continue
            }
            job.clear()
            key.clear()
            plan.appendJob(next, to: &job)
            plan.appendKey(next, to: &key)
            let topic = producer.topic(Self.lane(of: plan.template(ofJob: next).app))
            switch unsafe producer.produce(to: topic, key: key.bytes, value: job.bytes, opaque: UInt64(next))
            {
            case .accepted: next += 1
            case .queueFull: producer.drain(into: &reports, timeoutMs: 10)
            case .failed(let code):
                throw StackFailure(.broker, "a job was refused: \(code.description)")
            }
            if next % 1_000 == 0 {
                producer.drain(into: &reports)
                try check(&reports)
            }
        }
        let missing = producer.flush(deadlineMs: 30_000, into: &reports)
        try check(&reports)
        if missing > 0 { throw StackFailure(.broker, "\(missing) jobs were not acknowledged") }
        progress(next)
    }

    private func check(_ reports: inout [DeliveryReport]) throws(StackFailure) {
        if let bad = reports.first(where: { !$0.isDelivered }) {
            throw StackFailure(.broker, "a job was not written: \(bad.code.description)")
        }
        reports.removeAll(keepingCapacity: true)
    }

    /// The lane of an app's jobs. A recipient's jobs share a lane, since order and badges hold within one.
    private static func lane(of app: String) -> Int {
        switch app {
        case "helpdesk", "vault": 0
        case "studio": 2
        default: 1
        }
    }

    /// Compares every recipient's counter with the sum of what its jobs added.
    /// - Returns: how many are wrong.
    func wrongCounters(at endpoint: RedisEndpoint) throws(StackFailure) -> Int {
        var expected: [String: Int64] = [:]
        var names: [String: (app: String, recipient: String)] = [:]
        for job in 0..<plan.jobCount {
            let template = plan.template(ofJob: job)
            guard let recipient = template.recipient, template.hasBadge else { continue }
            let name = recipient + DemoPlan.suffix(round: plan.round(ofJob: job))
            expected["\(template.app)/\(name)", default: 0] += template.unread
            names["\(template.app)/\(name)"] = (template.app, name)
        }
        do throws(RedisFailure) {
            let session = try RedisSession(endpoint, scripts: RegistryScripts.all)
            defer { session.close() }
            var wrong = 0
            for (key, place) in names {
                let directory = DeviceDirectory(session: session, app: place.app)
                if try directory.unread(of: place.recipient) != expected[key] { wrong += 1 }
            }
            return wrong
        } catch {
            throw StackFailure(.redis, "reading the counters failed: \(error)")
        }
    }
}
