internal import Core
package import Redis

/// The jobs of an app that wait for their time: `peal:sched:{app}` and `peal:sched:{app}:about`.
///
/// What is past is cleared away whenever one is added or listed.
/// - Threading: one thread; every call waits for Redis, at most the session's deadline.
package struct ScheduledStore {
    /// One job that waits.
    package struct Entry: Equatable, Sendable {
        package var id: String
        /// In ms since 1970.
        package var dueMs: Int64
        /// Members of a JSON object that describe it.
        package var about: String

        package init(id: String, dueMs: Int64, about: String) {
            self.id = id
            self.dueMs = dueMs
            self.about = about
        }
    }

    /// The most entries of an app.
    package static let entriesMax = 100_000
    /// The most entries of a page.
    package static let pageMax = 1000

    /// What the session must know.
    package static let scripts = [addScript, pageScript, removeScript]

    private let session: RedisSession
    private let due: String
    private let about: String
    private let entriesMax: Int

    /// Works on an app's list.
    package init(session: RedisSession, app: String, entriesMax: Int = ScheduledStore.entriesMax) {
        self.session = session
        due = "peal:sched:{\(app)}"
        about = "peal:sched:{\(app)}:about"
        self.entriesMax = entriesMax
    }

    /// Adds entries, all or none.
    /// - Returns: false when there is no room for them.
    package func add(_ entries: [Entry]) throws(RedisFailure) -> Bool {
        let (due, about, entriesMax) = (due, about, entriesMax)
        let reply = try session.run {
            $0.begin(Self.addScript, keys: 2, arguments: 1 + entries.count * 3)
            $0.argument(text: due)
            $0.argument(text: about)
            $0.argument(decimal: Int64(entriesMax))
            for entry in entries {
                $0.argument(decimal: entry.dueMs)
                $0.argument(text: entry.id)
                $0.argument(text: entry.about)
            }
        }
        return reply.integer == 1
    }

    /// The entries after `cursor` by time, at most `limit` (up to `pageMax`), and the next page's cursor. The
    /// cursor is that of the page before; nil for the first page.
    package func page(
        after cursor: String?, limit: Int
    ) throws(RedisFailure) -> (entries: [Entry], next: String?) {
        let place = Self.place(of: cursor ?? "")
        let count = max(1, min(limit, Self.pageMax))
        let (due, about) = (due, about)
        let reply = try session.run {
            $0.begin(Self.pageScript, keys: 2, arguments: 3)
            $0.argument(text: due)
            $0.argument(text: about)
            $0.argument(decimal: place?.dueMs ?? -1)
            $0.argument(text: place?.id ?? "")
            $0.argument(decimal: Int64(count + 1))
        }
        let parts = reply.array
        var entries: [Entry] = []
        for index in stride(from: 0, to: parts.count - 2, by: 3) {
            entries.append(
                Entry(
                    id: parts[index].text ?? "", dueMs: parts[index + 1].integer ?? 0,
                    about: parts[index + 2].text ?? ""))
        }
        guard entries.count > count else { return (entries, nil) }
        entries.removeLast()
        return (entries, entries.last.map { "\($0.dueMs).\(Base64.encodeURL(Array($0.id.utf8)))" })
    }

    /// Whether the text can be a page's cursor.
    package static func isCursor(_ text: String) -> Bool { place(of: text) != nil }

    private static func place(of cursor: String) -> (dueMs: Int64, id: String)? {
        let parts = cursor.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let dueMs = Int64(parts[0]), dueMs >= 0,
            let bytes = Base64.decode(parts[1].utf8), let id = String(validating: bytes, as: UTF8.self)
        else { return nil }
        return (dueMs, id)
    }

    /// When a job is due, in ms since 1970; nil when it isn't listed.
    package func dueMs(of id: String) throws(RedisFailure) -> Int64? {
        let reply = try session.command("ZSCORE", due, id)
        return reply.text.flatMap { Double($0) }.flatMap { Int64(exactly: $0.rounded()) }
    }

    /// Takes entries out.
    package func remove(_ ids: [String]) throws(RedisFailure) {
        let (due, about) = (due, about)
        _ = try session.run {
            $0.begin(Self.removeScript, keys: 2, arguments: ids.count)
            $0.argument(text: due)
            $0.argument(text: about)
            for id in ids { $0.argument(text: id) }
        }
    }

    // A script's arguments fit Lua's stack in portions; 1000 fields are far below its limit of 8000.
    private static let clearing = """
        local t=redis.call('TIME')
        local now=t[1]*1000+math.floor(t[2]/1000)
        local past=redis.call('ZRANGEBYSCORE',KEYS[1],'-inf',now,'LIMIT',0,1000)
        if #past>0 then
         redis.call('ZREM',KEYS[1],unpack(past))
         redis.call('HDEL',KEYS[2],unpack(past))
        end

        """

    /// - Keys: times, descriptions. Arguments: the most entries; then time, id and description of each.
    ///   Returns: 1, or 0 when there is no room.
    private static let addScript = RedisScript(
        name: "add_scheduled",
        source: clearing + """
            if redis.call('ZCARD',KEYS[1])+(#ARGV-1)/3>tonumber(ARGV[1]) then return 0 end
            for i=2,#ARGV,3 do
             redis.call('ZADD',KEYS[1],ARGV[i],ARGV[i+1])
             redis.call('HSET',KEYS[2],ARGV[i+1],ARGV[i+2])
            end
            local last=redis.call('ZRANGE',KEYS[1],-1,-1,'WITHSCORES')
            if last[2] then
             redis.call('PEXPIREAT',KEYS[1],string.format('%.0f',last[2]+86400000))
             redis.call('PEXPIREAT',KEYS[2],string.format('%.0f',last[2]+86400000))
            end
            return 1
            """)

    /// - Keys: times, descriptions. Arguments: time and id of the last entry of the page before (-1 for
    ///   none), the most entries. Returns: id, time and description of each.
    private static let pageScript = RedisScript(
        name: "page_scheduled",
        source: clearing + """
            local from=0
            if tonumber(ARGV[1])>=0 then
             local rank=redis.call('ZRANK',KEYS[1],ARGV[2])
             if rank then from=rank+1
             else from=redis.call('ZCOUNT',KEYS[1],'-inf','('..ARGV[1]) end
            end
            local found=redis.call('ZRANGE',KEYS[1],from,from+ARGV[3]-1,'WITHSCORES')
            local out={}
            for i=1,#found,2 do
             out[#out+1]=found[i]
             out[#out+1]=string.format('%.0f',found[i+1])
             out[#out+1]=redis.call('HGET',KEYS[2],found[i]) or ''
            end
            return out
            """)

    /// - Keys: times, descriptions. Arguments: ids. Returns: how many there were.
    private static let removeScript = RedisScript(
        name: "remove_scheduled",
        source: """
            local n=0
            for i=1,#ARGV do
             n=n+redis.call('ZREM',KEYS[1],ARGV[i])
             redis.call('HDEL',KEYS[2],ARGV[i])
            end
            return n
            """)
}
