internal import Core
internal import Redis
internal import Registry

/// The subscriber index as the broadcast stage reads it: one shard after the other, each whole.
enum SubscriberShards {
    /// Reads one shard of a topic, or of everyone who has a device; the reply is an array of recipients.
    static func read(app: String, topic: String?, shard: Int, into out: inout RedisCommandBuffer) {
        out.begin(2)
        out.argument("HKEYS")
        out.argument(
            text: RegistryKeys.subscribers(app: app, topic: topic ?? SubscriberIndex.everybody, shard: shard))
    }
}
