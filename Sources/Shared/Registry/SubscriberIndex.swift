internal import Core
package import Redis

/// Who follows which topic, in shards that can be read one by one: for the gateway and the broadcast stage.
///
/// A topic's subscribers of one shard are the fields of one hash. A recipient's own list of topics stands in
/// its user's hash. The two lie on different cluster slots, so a change is two steps; their order is such
/// that whoever stands in the index also stands in its own list, and repeating the call mends what was cut
/// off. The topic `*` is everybody who has a device: its hashes are those of the devices, so it is always
/// right and can't be subscribed to.
/// - Threading: that of its session; every call waits for Redis, at most the session's deadline a command.
package struct SubscriberIndex {
    /// How many shards the recipients of an app are divided into.
    package static let shards = RecipientShard.count
    /// The topic of everybody who has a device.
    package static let everybody = "*"
    /// The most topics that a recipient may follow.
    package static let topicsMax = 200
    /// The most bytes of a topic's name, as in a job.
    package static let topicBytesMax = 256

    private let session: RedisSession
    private let app: String

    /// Makes an index of an app over a session that loads ``RegistryScripts/all``.
    package init(session: RedisSession, app: String) {
        self.session = session
        self.app = app
    }

    /// The shard of a recipient.
    package static func shard(of recipient: String) -> Int { RecipientShard.of(text: recipient) }

    /// Lets the recipient follow the topic; it may do so already.
    /// - Throws: `.refused` when the topic has no proper name or the recipient follows too many, else what
    ///   Redis says.
    package func subscribe(_ recipient: String, _ topic: String) throws(RedisFailure) {
        try Self.check(topic)
        let listed = try edit(RegistryScripts.listTopic, recipient, topic)
        guard listed == 1 else {
            throw RedisFailure(.refused, "a recipient follows at most \(Self.topicsMax) topics; drop one")
        }
        try session.command("HSET", key(topic, recipient), recipient, "")
    }

    /// Ends a subscription; false when there was none.
    @discardableResult
    package func unsubscribe(_ recipient: String, _ topic: String) throws(RedisFailure) -> Bool {
        try Self.check(topic)
        let indexed = try session.command("HDEL", key(topic, recipient), recipient).integer ?? 0
        let listed = try edit(RegistryScripts.unlistTopic, recipient, topic)
        return indexed == 1 || listed == 1
    }

    /// Ends all subscriptions of a recipient.
    package func unsubscribeFromAll(_ recipient: String) throws(RedisFailure) {
        for topic in try topics(of: recipient) { try unsubscribe(recipient, topic) }
    }

    /// The topics that the recipient follows, in the order in which they were subscribed to.
    package func topics(of recipient: String) throws(RedisFailure) -> [String] {
        let reply = try session.command("HGET", "peal:usr:{\(app):\(recipient)}", "subs")
        guard case .string(let bytes) = reply else { return [] }
        return unsafe bytes.withUnsafeBytes { unsafe EscapedText.list($0) }
    }

    /// The recipients of some shards, in one go. Those of one shard come in no order.
    ///
    /// - Cost: one command a shard, sent without waiting for each other; at a million recipients a shard of
    ///   `*` has about 30.
    package func members(
        _ topic: String, shards: Range<Int>
    ) throws(RedisFailure) -> [SubscriberShard] {
        if topic != Self.everybody { try Self.check(topic) }
        let wanted = shards.clamped(to: 0..<Self.shards)
        let replies = try session.pipeline(
            wanted.map { ["HKEYS", RegistryKeys.subscribers(app: app, topic: topic, shard: $0)] })
        var found: [SubscriberShard] = []
        found.reserveCapacity(replies.count)
        for (number, reply) in zip(wanted, replies) {
            if case .error(let failure) = reply { throw failure }
            found.append(
                SubscriberShard(
                    number: number,
                    recipients: reply.array.compactMap {
                        guard case .string(let name) = $0 else { return nil }
                        return name
                    }))
        }
        return found
    }

    private func key(_ topic: String, _ recipient: String) -> String {
        RegistryKeys.subscribers(app: app, topic: topic, shard: Self.shard(of: recipient))
    }

    private func edit(
        _ script: RedisScript, _ recipient: String, _ topic: String
    ) throws(RedisFailure) -> Int64 {
        try RecipientReference.with(app: app, recipient: recipient) { (reference) throws(RedisFailure) in
            try session.run { out in
                out.begin(script, keys: 1, arguments: 2)
                out.argument { RegistryKeys.user(reference, into: &$0) }
                out.argument(text: EscapedText.escape(topic))
                out.argument(decimal: Int64(Self.topicsMax))
            }
        }.integer ?? 0
    }

    private static func check(_ topic: String) throws(RedisFailure) {
        let isProper =
            (1...topicBytesMax).contains(topic.utf8.count) && topic != everybody
            && topic.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        guard isProper else {
            throw RedisFailure(
                .refused,
                "a topic's name has 1 to \(topicBytesMax) bytes without control characters, and isn't *")
        }
    }
}

/// The subscribers of one shard.
package struct SubscriberShard: Sendable, Equatable {
    /// The shard's number.
    package let number: Int
    /// The recipients' names in UTF-8.
    package let recipients: [[UInt8]]
}

extension RegistryKeys {
    /// `peal:sub:{app:<shard>}:<topic>`, the topic's subscribers of a shard: a hash whose fields are the
    /// recipients. For the topic `*` it is the hash of the shard's devices.
    package static func subscribers(app: String, topic: String, shard: Int) -> String {
        topic == SubscriberIndex.everybody
            ? "peal:dev:{\(app):\(shard)}" : "peal:sub:{\(app):\(shard)}:\(topic)"
    }
}

/// The recipient's own list of topics: elements of ``EscapedText``, separated by commas.
extension RegistryScripts {
    /// Adds a topic to the recipient's list.
    ///
    /// - Keys: user. Arguments: the topic, the most topics. Returns: 1 listed, 0 there are too many.
    package static let listTopic = RedisScript(
        name: "list_topic",
        source: """
            local v=redis.call('HGET',KEYS[1],'subs') or ''
            local n=0
            for topic in string.gmatch(v,'[^,]+') do
             if topic==ARGV[1] then return 1 end
             n=n+1
            end
            if n>=tonumber(ARGV[2]) then return 0 end
            redis.call('HSET',KEYS[1],'subs',v=='' and ARGV[1] or v..','..ARGV[1])
            return 1
            """)

    /// Takes a topic off the recipient's list.
    ///
    /// - Keys: user. Arguments: the topic. Returns: 1 taken off, 0 it wasn't there.
    package static let unlistTopic = RedisScript(
        name: "unlist_topic",
        source: """
            local v=redis.call('HGET',KEYS[1],'subs') or ''
            local found,left=0,{}
            for topic in string.gmatch(v,'[^,]+') do
             if topic==ARGV[1] then found=1 else left[#left+1]=topic end
            end
            if found==0 then return 0 end
            if #left==0 then redis.call('HDEL',KEYS[1],'subs')
            else redis.call('HSET',KEYS[1],'subs',table.concat(left,',')) end
            return 1
            """)
}
