internal import Decisions
internal import EventLoop
package import Redis
internal import Registry

/// Reads an ``Overview`` from Redis: two pipelines, and one more for each 240 minutes that it has not seen.
///
/// Minutes that are over don't change, so it keeps them: a page that shows two days asks for all of them once
/// and then for the last few.
/// - Threading: one thread; every call waits for Redis.
/// - Bounds: see the constants; what is left out is told in ``Overview/notes``.
/// - Errors: throws ``RedisFailure`` when Redis is away or too slow. A key that may not be read, or holds
///   something else, leaves its part empty and a note.
package final class OverviewReader {
    /// The longest time that a page can show: the counters of a minute are kept for two days.
    package static let minutesMax = 2_880
    /// The most lines of `peal:pods` that are read.
    package static let podsMax: Int64 = 5_000
    /// The most apps, campaigns and broadcasts that are read, by their latest use.
    package static let appsMax = 100
    package static let campaignsMax = 50
    package static let broadcastsMax = 50

    /// How many apps' minutes are kept between calls.
    private static let historiesMax = 8
    /// Minutes asked for in one pipeline, so that Redis is not held up.
    private static let chunk = 240
    /// Apps whose lists of campaigns and broadcasts are looked at when all of them are asked for.
    private static let listedAppsMax = 30

    /// What is read of every app.
    package static let appFields: [Overview.Counts.Field] = [
        .jobs, .accepted, .failed, .retried, .invalidToken, .rejected, .dead, .tokensRemoved, .unreadAdded,
        .unreadCleared,
    ]

    private let session: RedisSession
    private let deadlineMs: UInt64
    private var histories: [MinuteHistory] = []

    /// Works on a session, which needs no scripts. A call ends after about `deadlineMs`, in any case after
    /// that and the session's own deadline.
    package init(session: RedisSession, deadlineMs: UInt64 = 5_000) {
        self.session = session
        self.deadlineMs = deadlineMs
    }

    /// Reads everything about an app, or about all with `*`, with the counters of the last `minutes` minutes:
    /// 1...``minutesMax``.
    package func read(app: String = "*", minutes: Int = 60) throws(RedisFailure) -> Overview {
        let endMs = Clock.monotonicMs + deadlineMs
        var reading = OverviewReading(app: app)
        let known = apps(of: app)
        let first = try ask(
            [
                ["TIME"], ["HLEN", RegistryKeys.pods], ["HLEN", RegistryKeys.control],
                ["HGETALL", RegistryKeys.totals(app: app)],
                ["ZREVRANGE", RegistryKeys.apps, "0", "\(Self.appsMax)", "WITHSCORES"],
            ] + known, endMs)
        try reading.takeFirst(first)
        let window = minutes < 1 ? 1 : min(minutes, Self.minutesMax)
        try readRest(&reading, endMs)
        reading.overview.minutes = try readMinutes(reading, window, endMs)
        reading.finish()
        return reading.overview
    }

    /// Asks for the names of what belongs to the apps: with one app at once, since its name is known.
    private func apps(of app: String) -> [[String]] {
        app == "*" ? [] : Self.lists(of: app)
    }

    private static func lists(of app: String) -> [[String]] {
        [
            ["ZREVRANGE", RegistryKeys.campaigns(app: app), "0", "\(campaignsMax - 1)", "WITHSCORES"],
            ["ZREVRANGE", RegistryKeys.broadcasts(app: app), "0", "\(broadcastsMax - 1)", "WITHSCORES"],
        ]
    }

    private func readRest(_ reading: inout OverviewReading, _ endMs: UInt64) throws(RedisFailure) {
        var commands: [[String]] = []
        if reading.hasPods { commands.append(["HGETALL", RegistryKeys.pods]) }
        if reading.hasControl { commands.append(["HGETALL", RegistryKeys.control]) }
        let listed = reading.isAboutAll ? reading.appNames.prefix(Self.listedAppsMax) : []
        for app in listed { commands += Self.lists(of: app) }
        for app in reading.appNames { commands += reading.commands(ofApp: app) }
        try reading.takeSecond(try ask(commands, endMs), listed: Array(listed))
        let parts = reading.partCommands(campaigns: Self.campaignsMax, broadcasts: Self.broadcastsMax)
        if !parts.isEmpty { try reading.takeParts(try ask(parts, endMs)) }
    }

    private func readMinutes(
        _ reading: OverviewReading, _ window: Int, _ endMs: UInt64
    ) throws(RedisFailure) -> [Overview.Minute] {
        let app = reading.overview.app
        let place = histories.firstIndex { $0.app == app }
        var history = place.map { histories.remove(at: $0) } ?? MinuteHistory(app: app)
        let last = reading.overview.nowMs / 60_000
        let missing = history.missing(last: last, window: window, total: reading.overview.totals[.jobs])
        var read: [Int64: Overview.Counts] = [:]
        for start in stride(from: 0, to: missing.count, by: Self.chunk) {
            let part = missing[start..<min(start + Self.chunk, missing.count)]
            let commands = part.map { ["HGETALL", RegistryKeys.statistics(app: app, minute: $0)] }
            for (minute, reply) in zip(part, try ask(commands, endMs)) {
                read[minute] = OverviewReading.counts(reply)
            }
        }
        let minutes = history.minutes(last: last, window: window, read: read)
        histories.append(history)
        if histories.count > Self.historiesMax { histories.removeFirst() }
        return minutes
    }

    /// One pipeline. An outage is thrown; another error stays an element of the result.
    private func ask(_ commands: [[String]], _ endMs: UInt64) throws(RedisFailure) -> [RedisValue] {
        guard Clock.monotonicMs < endMs else {
            throw RedisFailure(.timedOut, "Redis answers, but too slowly for an overview")
        }
        let replies = try session.pipeline(commands)
        for case .error(let failure) in replies where failure.code.isOutage { throw failure }
        return replies
    }
}
