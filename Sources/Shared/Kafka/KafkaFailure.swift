import CRdkafka

/// A Kafka error code as librdkafka numbers them; negative codes are the client's own.
package struct KafkaErrorCode: Hashable, Sendable, CustomStringConvertible {
    /// librdkafka's number.
    package let rawValue: Int32

    /// Wraps librdkafka's number.
    package init(rawValue: Int32) { self.rawValue = rawValue }

    init(_ code: rd_kafka_resp_err_t) { rawValue = Int32(code.rawValue) }

    var native: rd_kafka_resp_err_t { rd_kafka_resp_err_t(rawValue) }

    package static let none = KafkaErrorCode(RD_KAFKA_RESP_ERR_NO_ERROR)
    package static let queueFull = KafkaErrorCode(RD_KAFKA_RESP_ERR__QUEUE_FULL)
    package static let transport = KafkaErrorCode(RD_KAFKA_RESP_ERR__TRANSPORT)
    package static let timedOut = KafkaErrorCode(RD_KAFKA_RESP_ERR__TIMED_OUT)
    package static let messageTimedOut = KafkaErrorCode(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
    package static let fatal = KafkaErrorCode(RD_KAFKA_RESP_ERR__FATAL)
    package static let allBrokersDown = KafkaErrorCode(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
    package static let unknownTopicOrPartition = KafkaErrorCode(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
    package static let rebalanceInProgress = KafkaErrorCode(RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS)
    package static let illegalGeneration = KafkaErrorCode(RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION)
    package static let unknownMember = KafkaErrorCode(RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID)
    package static let noOffset = KafkaErrorCode(RD_KAFKA_RESP_ERR__NO_OFFSET)
    package static let coordinatorNotAvailable = KafkaErrorCode(RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE)
    package static let outOfOrderSequence = KafkaErrorCode(RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER)
    package static let notLeader = KafkaErrorCode(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION)
    package static let unsupportedFeature = KafkaErrorCode(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE)
    package static let messageTooLarge = KafkaErrorCode(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)

    /// The code's symbolic name, usable as a metric label: `_QUEUE_FULL`.
    package var name: String { unsafe String(cString: rd_kafka_err2name(native)) }

    /// librdkafka's sentence for it.
    package var description: String { unsafe String(cString: rd_kafka_err2str(native)) }

    /// Whether a record failed so only because its client had to be replaced: produced again, it goes
    /// through.
    package var meansClientReplaced: Bool {
        let codes = [
            RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, RD_KAFKA_RESP_ERR__FATAL,
            RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
            RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
        ]
        return codes.contains { $0.rawValue == rawValue }
    }

    /// Whether it says that a partition has no more records for now.
    var meansPartitionEnd: Bool { rawValue == RD_KAFKA_RESP_ERR__PARTITION_EOF.rawValue }

    /// Whether a commit answered so is simply out of date: the partition has a new owner, who reads on from
    /// the last commit that counted.
    package var meansStaleMember: Bool {
        self == .rebalanceInProgress || self == .illegalGeneration || self == .unknownMember
    }
}

/// Why a Kafka call could not be carried out.
package struct KafkaFailure: Error, Sendable, CustomStringConvertible {
    /// The kind of failure; usable as a metric label.
    package enum Code: String, Sendable {
        case configuration, create, subscribe, assign, commit, timeout, unknownTopic, closed, broker, tooLarge
        /// The broker doesn't know the request.
        case unsupported
    }

    /// The kind of failure.
    package let code: Code
    /// librdkafka's code, when it gave one.
    package let kafka: KafkaErrorCode
    /// One sentence that says what to fix.
    package let message: String

    init(_ code: Code, _ message: String, kafka: KafkaErrorCode = .none) {
        self.code = code
        self.kafka = kafka
        self.message = message
    }

    package var description: String { message }
}

/// Something a Kafka client reports besides records and delivery reports.
package struct KafkaEvent: Sendable {
    /// What kind of report it is.
    package enum Kind: Sendable {
        /// Informational: librdkafka goes on by itself.
        case error
        /// The client instance is of no more use.
        case fatal
        /// A line of librdkafka's log; `level` is syslog's.
        case log(level: Int)
        /// The statistics document (JSON) in `message`.
        case statistics
    }

    package let kind: Kind
    package let code: KafkaErrorCode
    package let message: String
}

/// Hears a client's events, on the thread that polls the client.
package protocol KafkaObserver: AnyObject {
    /// Called for each event; it must not call back into the client.
    func kafkaReported(_ event: KafkaEvent)
}

extension KafkaFailure {
    /// There was no memory for the thing.
    package static func outOfMemory(_ thing: String) -> KafkaFailure {
        KafkaFailure(.create, "there is no memory for \(thing)")
    }
}
