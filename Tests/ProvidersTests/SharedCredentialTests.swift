import Core
import Decisions
import EventLoop
import Glibc
import Logging
import Redis
import Security
import SimulatorKit
import TestSupport
import Testing

@testable import Providers

/// Waits until the condition holds; false when it doesn't within the deadline.
func waits(_ withinMs: UInt64 = 60_000, _ condition: () -> Bool) -> Bool {
    let deadline = Clock.monotonicMs + withinMs
    while !condition() {
        if Clock.monotonicMs > deadline { return false }
        usleep(5_000)
    }
    return true
}

private let patienceMs: UInt64 = 20_000

/// A pod's keeper with one credential. Unless `isPatient` is false it waits for a Redis that is slow because
/// the machine is.
private struct Pod {
    let keeper: CredentialKeeper
    let bearer = Bearer(name: "test")

    init(_ redis: RedisEndpoint?, name: String, caFile: String? = nil, isPatient: Bool = true) {
        var options = KeeperOptions()
        options.caFile = caFile
        options.redis = redis.map { RedisClientOptions.patient($0) }
        if isPatient { options.redisTimeoutMs = patienceMs }
        options.pod = name
        keeper = CredentialKeeper(options, logger: .silent)
    }

    var token: String { String(decoding: bearer.snapshot().authorization, as: UTF8.self) }
    func has(within ms: UInt64 = 60_000) -> Bool { waits(ms) { !token.isEmpty } }
}

private func makeKey(_ id: String = "ABC123DEFG") throws -> Providers.APNsKey {
    try Providers.APNsKey(
        pem: ES256PrivateKey.generate().pem(), source: "test", keyID: id, teamID: "TEAM123456")
}

@Suite(.serialized) struct SharedAppleTokenTests {
    private let redis: RedisServer
    private let key: Providers.APNsKey

    init() throws {
        redis = try RedisServer()
        key = try makeKey()
    }

    private func pod(_ name: String, isPatient: Bool = true) -> Pod {
        let pod = Pod(redis.endpoint, name: name, isPatient: isPatient)
        pod.keeper.keep(pod.bearer, key)
        return pod
    }

    private func sharing(_ name: String) -> SharedCredentials {
        SharedCredentials(.patient(redis.endpoint), timeoutMs: patienceMs, pod: name, logger: .silent)
    }

    @Test func fivePodsMintOneTokenAmongThem() throws {
        let pods = (1...5).map { pod("pod-\($0)") }
        defer { for pod in pods { pod.keeper.stop() } }
        for pod in pods { #expect(pod.has()) }
        #expect(Set(pods.map(\.token)).count == 1)
        #expect(waits { pods.reduce(0) { $0 + $1.keeper.status.adopted } == 4 })
        #expect(pods.reduce(0) { $0 + $1.keeper.status.minted } == 1)
        #expect(pods.allSatisfy { $0.keeper.status.fallbacks == 0 })
    }

    @Test func aPodThatStartsLaterTakesTheTokenThatIsThere() throws {
        let first = pod("first")
        defer { first.keeper.stop() }
        #expect(first.has())
        let second = pod("second")
        defer { second.keeper.stop() }
        #expect(second.has())
        #expect(second.token == first.token)
        #expect(second.keeper.status.minted == 0)
    }

    @Test func redisHoldsNothingThatAReaderCouldSendWith() throws {
        let first = pod("first")
        defer { first.keeper.stop() }
        #expect(first.has())
        let session = try redis.session()
        let place = try SharedPlace(key)
        #expect(waits { (try? session.command("EXISTS", place.key).integer) == 1 })
        let stored = try #require(try session.command("GET", place.key).text)
        #expect(!stored.contains(first.token.dropFirst("bearer ".count)))
        #expect(!stored.contains("eyJ"))
        let life = try #require(try session.command("PTTL", place.key).integer)
        #expect(life > 0 && life <= MintingPolicy.lifeMs)
        // Another private key under the same ids neither reads it nor replaces it.
        let stranger = try makeKey()
        let other = Pod(redis.endpoint, name: "stranger")
        defer { other.keeper.stop() }
        other.keeper.keep(other.bearer, stranger)
        #expect(other.has())
        #expect(other.token != first.token)
        #expect(try session.command("GET", place.key).text == stored)
    }

    @Test func aLockWhoseHolderDiedIsTakenOverWithinSeconds() throws {
        let dead = sharing("dead")
        let sight = try #require(dead.look(try SharedPlace(key), wantsLock: true, knownMs: -1))
        #expect(sight.fence != nil)
        let heir = pod("heir")
        defer { heir.keeper.stop() }
        #expect(heir.has(within: 20_000))
        #expect(heir.keeper.status.minted == 1)
        #expect(waits { heir.keeper.status.entries.first?.isShared == true })
        #expect(heir.keeper.status.fallbacks == 0)
    }

    @Test func anOlderTokenNeverReplacesANewerOneAndALostLockPublishesNothing() throws {
        let place = try SharedPlace(key)
        let one = sharing("one")
        let two = sharing("two")
        let first = try #require(one.look(place, wantsLock: true, knownMs: -1))
        let fence = try #require(first.fence)
        #expect(try #require(two.look(place, wantsLock: true, knownMs: -1)).isLockedByOther)
        let newer = SharedToken(
            text: "newer", mintedMs: first.nowMs, expiresMs: first.nowMs + 60_000, pod: "one")
        guard case .stored = one.publish(newer, at: place, fence: fence, nowMs: first.nowMs) else {
            Issue.record("the holder of the lock may publish")
            return
        }
        // With a token of the same age the lock is to be had, and an older one is not stored all the same.
        let second = try #require(two.look(place, wantsLock: true, knownMs: newer.mintedMs))
        let older = SharedToken(
            text: "older", mintedMs: newer.mintedMs - 1, expiresMs: newer.expiresMs, pod: "two")
        let outcome = two.publish(
            older, at: place, fence: try #require(second.fence), nowMs: second.nowMs)
        guard case .superseded(let kept) = outcome else {
            Issue.record("an older token was stored")
            return
        }
        #expect(kept == newer)
        let latest = SharedToken(
            text: "latest", mintedMs: newer.mintedMs + 1, expiresMs: newer.expiresMs, pod: "one")
        guard case .superseded = one.publish(latest, at: place, fence: fence, nowMs: second.nowMs) else {
            Issue.record("a lost lock let a token through")
            return
        }
        #expect(one.look(place, wantsLock: false, knownMs: -1)?.token == newer)
    }

    @Test func aPodMintsForItselfWhileRedisHangsAndSharesItLater() throws {
        redis.suspend()
        let alone = pod("alone", isPatient: false)
        defer { alone.keeper.stop() }
        #expect(alone.has(within: 20_000))
        #expect(alone.keeper.status.fallbacks == 1)
        #expect(alone.keeper.status.isRedisAway)
        redis.resume()
        #expect(waits { alone.keeper.status.entries.first?.isShared == true })
        let later = pod("later")
        defer { later.keeper.stop() }
        #expect(later.has())
        #expect(later.token == alone.token)
        #expect(alone.keeper.status.minted + later.keeper.status.minted == 1)
    }

    @Test func aTokenThatWasMadeAloneIsNotChangedWithinTwentyMinutes() throws {
        redis.suspend()
        let alone = pod("alone", isPatient: false)
        defer { alone.keeper.stop() }
        #expect(alone.has(within: 20_000))
        let own = alone.token
        redis.resume()
        // Another pod was quicker in Redis and has the newer token.
        let place = try SharedPlace(key)
        let other = sharing("other")
        let sight = try #require(other.look(place, wantsLock: false, knownMs: -1))
        let newer = SharedToken(
            text: "newer", mintedMs: sight.nowMs + 60_000, expiresMs: sight.nowMs + 600_000, pod: "other")
        let sealed = try newer.sealed(by: place.sealing, for: place.key)
        try redis.session().command("SET", place.key, sealed)
        #expect(waits { !alone.keeper.status.isRedisAway })
        #expect(alone.token == own)
        #expect(try redis.session().command("GET", place.key).text == sealed)
        // APNs refuses the own one: now there is nothing to lose.
        alone.bearer.refuse(version: alone.bearer.version)
        #expect(waits(60_000) { alone.token == "bearer newer" })
        #expect(alone.keeper.status.minted == 1)
    }

    @Test func tooManyUpdatesKeepEveryPodFromMintingForTwentyMinutes() throws {
        let first = pod("first")
        defer { first.keeper.stop() }
        #expect(first.has())
        let token = first.token
        first.bearer.holdMinting()
        let place = try SharedPlace(key)
        let session = try redis.session()
        #expect(waits { (try? session.command("EXISTS", place.hold).integer) == 1 })
        let left = try #require(try session.command("PTTL", place.hold).integer)
        #expect(left > 19 * 60_000 && left <= 20 * 60_000)
        // A pod that starts now takes what is there, and nothing is made even when nothing is there.
        let second = pod("second")
        defer { second.keeper.stop() }
        #expect(second.has())
        #expect(second.token == token)
        try session.command("DEL", place.key)
        let third = pod("third")
        defer { third.keeper.stop() }
        #expect(waits { third.keeper.status.entries.count == 1 })
        #expect(third.token.isEmpty)
        #expect(first.keeper.status.minted + second.keeper.status.minted == 1)
        #expect(third.keeper.status.minted == 0)
        #expect(first.token == token)
    }
}

@Suite(.serialized) struct ClockGuardTests {
    /// The simulator's clock is two hours ahead, which is to say that this machine's is two hours behind.
    @Test func aWrongClockIsNoticedByTheTokenEndpointsDateAndTokensAreDatedByThatTime() throws {
        var settings = SimulatorSettings()
        settings.adminPort = nil
        let simulator = try Simulator.start(settings)
        defer { simulator.stop() }
        let aheadMs: Int64 = 2 * 3_600_000
        simulator.setClockOffset(ms: aheadMs)
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-clock")
        defer { Files.removeTree(folder) }
        try Files.write(path: folder + "/ca.pem", text: simulator.credentials.caPEM)
        let pod = Pod(nil, name: "behind", caFile: folder + "/ca.pem")
        defer { pod.keeper.stop() }
        let account = try Providers.ServiceAccount(
            json: simulator.credentials.serviceAccountJSON, source: "simulator")
        pod.keeper.keep(pod.bearer, account, tokenURI: nil)
        #expect(pod.has())
        #expect(simulator.stats()?.accessTokensRefused == 1)
        let skew = try #require(
            pod.keeper.status.skew.skewMs(wallMs: Clock.wallMs, steadyMs: Int64(Clock.monotonicMs)))
        #expect(abs(skew - aheadMs) < 10_000)
        let apple = Bearer(name: "apple")
        pod.keeper.keep(apple, try makeKey())
        #expect(waits { !apple.snapshot().authorization.isEmpty })
        let token = try #require(JWT.decode(apple.snapshot().authorization.dropFirst("bearer ".utf8.count)))
        let issued = try #require(token.claims["iat"]?.integer)
        #expect(abs(issued * 1000 - Clock.wallMs - aheadMs) < 30_000)
    }
}

@Suite(.serialized) struct SharedAccessTokenTests {
    @Test func fivePodsMakeOneExchangeAndARefusedTokenBringsOneMore() throws {
        let redis = try RedisServer()
        var settings = SimulatorSettings()
        settings.adminPort = nil
        let simulator = try Simulator.start(settings)
        defer { simulator.stop() }
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-shared")
        defer { Files.removeTree(folder) }
        try Files.write(path: folder + "/ca.pem", text: simulator.credentials.caPEM)
        let account = try Providers.ServiceAccount(
            json: simulator.credentials.serviceAccountJSON, source: "simulator")
        let pods = (1...5).map { Pod(redis.endpoint, name: "pod-\($0)", caFile: folder + "/ca.pem") }
        defer { for pod in pods { pod.keeper.stop() } }
        for pod in pods { pod.keeper.keep(pod.bearer, account, tokenURI: nil) }
        for pod in pods { #expect(pod.has()) }
        let first = pods[0].token
        #expect(pods.allSatisfy { $0.token == first })
        #expect(simulator.stats()?.accessTokensGranted == 1)
        simulator.revokeAccessTokens()
        for pod in pods { pod.bearer.refuse(version: pod.bearer.version) }
        for pod in pods { #expect(waits(60_000) { pod.token != first }) }
        #expect(Set(pods.map(\.token)).count == 1)
        #expect(simulator.stats()?.accessTokensGranted == 2)
    }
}
