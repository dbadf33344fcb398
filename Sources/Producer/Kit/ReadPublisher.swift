internal import Core
internal import EventLoop
package import Jobs
import Kafka
package import Redis
package import Registry

/// Why a read was not carried out, or not told to the other devices.
package enum ReadFailure: Error, Sendable {
    /// The app, the recipient or the device can't be one.
    case job(JobFault)
    /// The counter was not changed, as far as one knows.
    case redis(RedisFailure)
    /// The counter was changed; the other devices have not been told. The next read tells them.
    case kafka(String)
}

/// Changes the unread counter after a read and tells the recipient's other devices by a silent push; see
/// ``BadgeSync``.
///
/// - Threading: one thread.
package final class ReadPublisher {
    private let session: RedisSession
    private let kafka: SendSettings
    private let parser: JobParser
    private var publisher: JobPublisher?
    private var value = ByteBuffer(capacity: 1024)

    /// Makes a publisher; nil without memory for the parser. It connects to Kafka when the first push is due.
    /// The session knows the registry's scripts.
    package init?(session: RedisSession, kafka: SendSettings) {
        guard let parser = JobParser() else { return nil }
        self.parser = parser
        self.session = session
        self.kafka = kafka
    }

    /// Carries a read out on `device`, which is not told; it is empty when it is none of the recipient's.
    /// `nowMs` is milliseconds since 1970.
    /// - Throws: what is wrong with the names, or what could not be reached.
    package func read(
        _ change: UnreadChange, app: String, recipient: String, device: String, nowMs: Int64
    ) throws(ReadFailure) -> DeviceDirectory.ReadAnswer {
        value.clear()
        BadgeSync.write(app: app, recipient: recipient, device: device, nowMs: nowMs, into: &value)
        var job = Job()
        if let fault = unsafe parser.parse(value.bytes, into: &job) { throw .job(fault) }
        let directory = DeviceDirectory(session: session, app: app)
        let answer: DeviceDirectory.ReadAnswer
        do throws(RedisFailure) {
            answer = try directory.read(change, of: recipient, device: device, claimMs: BadgeSync.claimMs)
        } catch {
            throw .redis(error)
        }
        guard answer.isOurs else { return answer }
        if let sentence = publish(job, nowMs) {
            try? directory.giveBackSync(of: recipient, device: device)
            throw .kafka(sentence)
        }
        return answer
    }

    /// Publishes the push; what went wrong as a sentence, nil when the brokers have it.
    private func publish(_ job: Job, _ nowMs: Int64) -> String? {
        let publisher: JobPublisher
        do throws(KafkaFailure) {
            if let known = self.publisher {
                publisher = known
            } else {
                publisher = try makePublisher()
                try publisher.producer.warmUp(timeoutMs: kafka.patienceMs)
                self.publisher = publisher
            }
        } catch {
            return error.message
        }
        switch publisher.publish(job, lane: Self.lane, opaque: 0, nowMs: nowMs) {
        case .accepted: break
        case .queueFull: return "the producer's queue is full"
        case .failed(let code): return code.description
        }
        var reports: [DeliveryReport] = []
        let left = publisher.producer.flush(deadlineMs: kafka.patienceMs, into: &reports)
        guard left == 0, let report = reports.last else { return "the brokers did not answer in time" }
        return report.isDelivered ? nil : report.code.description
    }

    private func makePublisher() throws(KafkaFailure) -> JobPublisher {
        var configuration = KafkaConfiguration.producer(
            brokers: kafka.brokers, clientID: "peal-producer", lingerMs: 0)
        try configuration.apply(kafka.properties)
        let producer = try KafkaProducer(
            configuration, topics: JobPublisher.topics(names: kafka.names, tiers: kafka.tiers))
        return JobPublisher(
            producer: producer, names: kafka.names, tiers: kafka.tiers, seed: RandomSource.seed())
    }

    /// The normal lane's index in `TopicNames.lanes`.
    private static let lane = 1

    /// Ends the connections.
    package func close() { publisher?.producer.close(deadlineMs: 0) }
}
