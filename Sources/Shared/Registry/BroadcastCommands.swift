internal import Core
package import Redis

/// The commands about `peal:cast:{app:id}`, the record of one broadcast.
///
/// A part of a broadcast is a contiguous run of the shards of the subscriber index. `p<part>` is the next
/// shard that it has to expand and `c<part>` how many recipients it has expanded before that.
package enum BroadcastCommands {
    /// How long a broadcast is remembered, in milliseconds. A job of the same app and id within this time is
    /// the same broadcast.
    package static let memoryMs: Int64 = 30 * 86_400_000

    /// What a session or client must know for all of these.
    package static let scripts = [noteScript, startScript, advanceScript, cancelScript]

    /// Reads everything; the reply is for ``BroadcastStatus``.
    package static func read(app: String, id: String, into out: inout RedisCommandBuffer) {
        out.begin(2)
        out.argument("HGETALL")
        out.argument(text: RegistryKeys.broadcast(app: app, id: id))
    }

    /// Notes a broadcast unless it is known. The reply's elements are the state, the number of parts that it
    /// has been divided into, and with a part `p<part>` and `c<part>`, both null when it has stored nothing
    /// yet.
    package static func note(
        app: String, id: String, audience: String, campaign: String, parts: Int, part: Int?, nowMs: Int64,
        into out: inout RedisCommandBuffer
    ) {
        out.begin(noteScript, keys: 1, arguments: 6)
        out.argument(text: RegistryKeys.broadcast(app: app, id: id))
        out.argument(decimal: nowMs)
        out.argument(decimal: memoryMs)
        out.argument(decimal: Int64(parts))
        out.argument(text: audience)
        out.argument(text: campaign)
        out.argument(text: part.map { "\($0)" } ?? "")
    }

    /// Says that all parts are published; the reply is the state.
    package static func start(app: String, id: String, into out: inout RedisCommandBuffer) {
        out.begin(startScript, keys: 1, arguments: 0)
        out.argument(text: RegistryKeys.broadcast(app: app, id: id))
    }

    /// Stores how far a part has got: `next` is its next shard, `end` the one behind its last, `count` its
    /// recipients so far. A place before the stored one changes nothing. The reply is the state, null when
    /// the broadcast is not known any more.
    package static func advance(
        app: String, id: String, part: Int, next: Int, end: Int, count: Int64, nowMs: Int64,
        into out: inout RedisCommandBuffer
    ) {
        out.begin(advanceScript, keys: 1, arguments: 5)
        out.argument(text: RegistryKeys.broadcast(app: app, id: id))
        out.argument(decimal: Int64(part))
        out.argument(decimal: Int64(next))
        out.argument(decimal: Int64(end))
        out.argument(decimal: count)
        out.argument(decimal: nowMs)
    }

    /// Ends a broadcast that is not done yet as cancelled; the reply is the state.
    package static func cancel(app: String, id: String, nowMs: Int64, into out: inout RedisCommandBuffer) {
        out.begin(cancelScript, keys: 1, arguments: 1)
        out.argument(text: RegistryKeys.broadcast(app: app, id: id))
        out.argument(decimal: nowMs)
    }

    private static let noteScript = RedisScript(
        name: "note_broadcast",
        source: """
            if redis.call('HLEN',KEYS[1])==0 then
             redis.call('HSET',KEYS[1],'state','planned','audience',ARGV[4],'campaign',ARGV[5],
              'parts',ARGV[3],'started_ms',ARGV[1],'n',0,'done',0)
             redis.call('PEXPIRE',KEYS[1],ARGV[2])
            end
            return redis.call('HMGET',KEYS[1],'state','parts','p'..ARGV[6],'c'..ARGV[6])
            """)

    private static let startScript = RedisScript(
        name: "start_broadcast",
        source: """
            local s=redis.call('HGET',KEYS[1],'state')
            if s~='planned' then return s end
            redis.call('HSET',KEYS[1],'state','running')
            return 'running'
            """)

    private static let advanceScript = RedisScript(
        name: "advance_broadcast",
        source: """
            local h=redis.call('HMGET',KEYS[1],'state','p'..ARGV[1],'c'..ARGV[1],'parts')
            if not h[1] then return false end
            local next=tonumber(ARGV[2])
            if next<=tonumber(h[2] or '-1') then return h[1] end
            redis.call('HSET',KEYS[1],'p'..ARGV[1],ARGV[2],'c'..ARGV[1],ARGV[4])
            redis.call('HINCRBY',KEYS[1],'n',string.format('%.0f',tonumber(ARGV[4])-tonumber(h[3] or '0')))
            if next<tonumber(ARGV[3]) then return h[1] end
            local done=redis.call('HINCRBY',KEYS[1],'done',1)
            if done<tonumber(h[4]) or h[1]=='cancelled' then return h[1] end
            redis.call('HSET',KEYS[1],'state','done','finished_ms',ARGV[5])
            return 'done'
            """)

    private static let cancelScript = RedisScript(
        name: "cancel_broadcast",
        source: """
            local s=redis.call('HGET',KEYS[1],'state')
            if s~='planned' and s~='running' then return s end
            redis.call('HSET',KEYS[1],'state','cancelled','finished_ms',ARGV[1])
            return 'cancelled'
            """)
}
