import Core
import Security
import Testing

@testable import SimulatorKit

@Suite("Provider tokens")
struct ProviderTokenTests {
    @Test("MissingProviderToken", arguments: ["", "bearer ", "basic abc", "Bearer x"])
    func missing(_ header: String) throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        draft.authorization = header
        #expect(fixture.reason(draft) == .missingProviderToken)
    }

    @Test("InvalidProviderToken: nonsense, another key's signature, another team, an unknown key")
    func invalid() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        draft.authorization = "bearer a.b.c"
        #expect(fixture.reason(draft) == .invalidProviderToken)
        let forged = try JWT.appleProviderToken(
            keyID: "KEY0000001", teamID: "TEAM000001", issuedAtS: RuleFixture.nowS,
            key: fixture.keys.otherTeam)
        draft.authorization = "bearer " + forged
        #expect(fixture.reason(draft) == .invalidProviderToken)
        draft.authorization = try fixture.bearer(teamID: "TEAM000009")
        #expect(fixture.reason(draft) == .invalidProviderToken)
        let unknown = try JWT.appleProviderToken(
            keyID: "KEY0000009", teamID: "TEAM000001", issuedAtS: RuleFixture.nowS, key: fixture.keys.apns)
        draft.authorization = "bearer " + unknown
        #expect(fixture.reason(draft) == .invalidProviderToken)
        draft.authorization = try fixture.bearer(issuedAtS: RuleFixture.nowS + 601)
        #expect(fixture.reason(draft) == .invalidProviderToken)
    }

    @Test("ExpiredProviderToken begins one second after the hour, also for a token that was accepted before")
    func expired() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        draft.authorization = try fixture.bearer(issuedAtS: RuleFixture.nowS - 3600)
        #expect(fixture.reason(draft) == APNsReason.none)
        #expect(fixture.reason(draft, nowMs: RuleFixture.nowMs + 1000) == .expiredProviderToken)
    }

    @Test("BadEnvironmentKeyIdInToken") func environment() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        draft.authorization = try fixture.bearer(key: 3)
        #expect(fixture.reason(draft) == .badEnvironmentKeyIDInToken)
        #expect(fixture.reason(draft, on: fixture.sandbox) == APNsReason.none)
    }

    @Test("UnrelatedKeyIdInToken: a connection belongs to the key of its first push") func unrelated() throws
    {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        #expect(fixture.reason(draft) == APNsReason.none)
        draft.authorization = try fixture.bearer(key: 2)
        #expect(fixture.reason(draft) == .unrelatedKeyIDInToken)
        let fresh = ConnectionState(listener: .apns, number: 2, streamsMax: 1)
        #expect(fixture.reason(draft, on: fresh) == APNsReason.none)
    }

    @Test("TooManyProviderTokenUpdates: a second token within 20 minutes, while the first goes on working")
    func updates() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        let first = try fixture.bearer(issuedAtS: RuleFixture.nowS - 1200)
        draft.authorization = first
        #expect(fixture.reason(draft) == APNsReason.none)
        draft.authorization = try fixture.bearer(issuedAtS: RuleFixture.nowS - 1)
        #expect(fixture.reason(draft) == .tooManyProviderTokenUpdates)
        draft.authorization = first
        #expect(fixture.reason(draft) == APNsReason.none)
        draft.authorization = try fixture.bearer(issuedAtS: RuleFixture.nowS)
        #expect(fixture.reason(draft) == APNsReason.none)
    }

    @Test("Updates are counted over all connections of a key when the simulator is told so")
    func updatesOfAKey() throws {
        var settings = SimulatorSettings()
        let other = ConnectionState(listener: .apns, number: 2, streamsMax: 1)
        for scope in [TokenUpdateScope.connection, .key] {
            settings.tokenUpdateScope = scope
            let fixture = try RuleFixture(settings)
            var draft = try fixture.draft()
            draft.authorization = try fixture.bearer(issuedAtS: RuleFixture.nowS - 60)
            #expect(fixture.reason(draft) == APNsReason.none)
            draft.authorization = try fixture.bearer(issuedAtS: RuleFixture.nowS)
            let wanted: APNsReason = scope == .key ? .tooManyProviderTokenUpdates : .none
            #expect(fixture.reason(draft, on: other) == wanted)
        }
    }

    @Test("A signature is checked once for each distinct token") func cached() throws {
        let fixture = try RuleFixture()
        let draft = try fixture.draft()
        for number in 1...50 {
            let connection = ConnectionState(listener: .apns, number: UInt64(number), streamsMax: 1)
            #expect(fixture.reason(draft, on: connection) == APNsReason.none)
            #expect(fixture.reason(draft, on: connection) == APNsReason.none)
        }
        #expect(fixture.judge.authority.verifications == 1)
    }

    @Test("A token whose key was taken away is refused at once, even on a connection that has used it")
    func revoked() throws {
        let fixture = try RuleFixture()
        let draft = try fixture.draft()
        #expect(fixture.reason(draft) == APNsReason.none)
        fixture.judge.authority.replaceKeys([])
        #expect(fixture.reason(draft) == .invalidProviderToken)
    }

    @Test("A mangled token is never accepted and never traps") func mangled() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        let good = Array(draft.authorization.utf8)
        var random = SplitMix(seed: 7)
        for _ in 0..<500 {
            var bad = good
            let at = 7 + Int(random.next() % UInt64(bad.count - 7))
            switch random.next() % 3 {
            case 0: bad[at] = UInt8(truncatingIfNeeded: random.next() % 95 + 32)
            case 1: bad.remove(at: at)
            default: bad.insert(UInt8(ascii: "."), at: at)
            }
            // The last character of a signature carries two unused bits, so it may change without meaning.
            guard bad != good, at < good.count - 1 else { continue }
            draft.authorization = String(decoding: bad, as: UTF8.self)
            let connection = ConnectionState(listener: .apns, number: 9, streamsMax: 1)
            #expect(fixture.reason(draft, on: connection) != APNsReason.none)
        }
    }
}

/// A small generator, so that a failing run can be repeated.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
