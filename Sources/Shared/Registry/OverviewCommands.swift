package import Redis

/// The commands behind overviews: which apps, campaigns and broadcasts there are, and what became of them.
package enum OverviewCommands {
    /// How long a campaign is remembered after its last delivery, and an app after the last worker that knew
    /// it, in ms.
    package static let memoryMs: Int64 = 7 * 86_400_000
    /// The most campaigns of an app.
    package static let campaignsMax: Int64 = 1_000
    /// The most broadcasts that an app's list holds.
    package static let broadcastsMax: Int64 = 200

    /// What a client must know for all of these.
    package static let scripts = [countCampaignScript]

    /// Notes that a worker knows these apps. They are at least one.
    package static func know(apps: [String], nowMs: Int64, into out: inout RedisCommandBuffer) {
        out.begin(2 + apps.count * 2)
        out.argument("ZADD")
        out.argument(text: RegistryKeys.apps)
        for app in apps {
            out.argument(decimal: nowMs)
            out.argument(text: app)
        }
    }

    /// Forgets the apps that no worker has known for long.
    package static func forgetApps(nowMs: Int64, into out: inout RedisCommandBuffer) {
        out.begin(4)
        out.argument("ZREMRANGEBYSCORE")
        out.argument(text: RegistryKeys.apps)
        out.argument("-inf")
        out.argument(decimal: nowMs - memoryMs)
    }

    /// Adds to a campaign's counts. The reply is 1, or 0 when the app has too many campaigns.
    package static func count(
        app: String, campaign: String, _ counts: [(field: String, count: Int64)], nowMs: Int64,
        into out: inout RedisCommandBuffer
    ) {
        out.begin(countCampaignScript, keys: 2, arguments: 4 + counts.count * 2)
        out.argument(text: RegistryKeys.campaign(app: app, name: campaign))
        out.argument(text: RegistryKeys.campaigns(app: app))
        out.argument(decimal: nowMs)
        out.argument(decimal: campaignsMax)
        out.argument(decimal: memoryMs)
        out.argument(text: campaign)
        for (field, count) in counts {
            out.argument(text: field)
            out.argument(decimal: count)
        }
    }

    /// Puts a broadcast into its app's list, unless it is there.
    package static func list(
        broadcast id: String, app: String, nowMs: Int64, into out: inout RedisCommandBuffer
    ) {
        out.begin(5)
        out.argument("ZADD")
        out.argument(text: RegistryKeys.broadcasts(app: app))
        out.argument("NX")
        out.argument(decimal: nowMs)
        out.argument(text: id)
    }

    /// Takes the oldest broadcasts out of a list that has become too long.
    package static func trimBroadcasts(app: String, into out: inout RedisCommandBuffer) {
        out.begin(4)
        out.argument("ZREMRANGEBYRANK")
        out.argument(text: RegistryKeys.broadcasts(app: app))
        out.argument("0")
        out.argument(decimal: -broadcastsMax - 1)
    }

    /// Adds to a campaign's counts, unless it would be one too many.
    ///
    /// - Keys: the campaign, the app's campaigns. Arguments: now, the most campaigns, milliseconds to keep,
    ///   the name, then pairs of fields and counts. Returns: 1, or 0 for one too many.
    private static let countCampaignScript = RedisScript(
        name: "count_campaign",
        source: """
            local call=redis.call
            if not call('ZSCORE',KEYS[2],ARGV[4]) and call('ZCARD',KEYS[2])>=tonumber(ARGV[2]) then
             call('ZREMRANGEBYSCORE',KEYS[2],'-inf',tonumber(ARGV[1])-tonumber(ARGV[3]))
             if call('ZCARD',KEYS[2])>=tonumber(ARGV[2]) then return 0 end
            end
            if not call('HGET',KEYS[1],'first_ms') then call('HSET',KEYS[1],'first_ms',ARGV[1]) end
            for i=5,#ARGV,2 do call('HINCRBY',KEYS[1],ARGV[i],ARGV[i+1]) end
            call('HSET',KEYS[1],'last_ms',ARGV[1])
            call('PEXPIRE',KEYS[1],ARGV[3])
            call('ZADD',KEYS[2],ARGV[1],ARGV[4])
            call('PEXPIRE',KEYS[2],ARGV[3])
            return 1
            """)
}
