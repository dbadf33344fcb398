internal import CRdkafka

/// The library that this target wraps.
package enum KafkaLibrary {
    /// The version of librdkafka that the process runs with, such as `1.2.3` (rd_kafka_version_str in
    /// rdkafka.h); empty when it doesn't say.
    package static var version: String {
        guard let text = unsafe rd_kafka_version_str() else { return "" }
        return unsafe String(cString: text)
    }
}
