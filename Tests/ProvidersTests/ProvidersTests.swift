import Configuration
import Core
import Decisions
import EventLoop
import Jobs
import Logging
import Security
import SimulatorKit
import Testing

@testable import Providers

private let minute: Int64 = 60_000

@Suite struct MintingPolicyTests {
    private func minted(_ random: UInt64 = 180_000) -> MintingPolicy {
        var policy = MintingPolicy()
        policy.minted(wallMs: 1_000_000_000, steadyMs: 0, random: random)
        return policy
    }

    @Test func theFirstTokenIsMintedAtOnce() {
        #expect(MintingPolicy().decide(wallMs: 0, steadyMs: 0, isRefused: false) == .mint)
    }

    @Test func aTokenIsRenewedAtItsAgeAndNotBefore() {
        let policy = minted()
        let just = 45 * minute - 1
        #expect(policy.decide(wallMs: 1_000_000_000 + just, steadyMs: just, isRefused: false) != .mint)
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 45 * minute, steadyMs: 45 * minute, isRefused: false)
                == .mint)
    }

    @Test(arguments: [UInt64(0), 1, 12_345, 360_000, .max])
    func theJitterNeverLeadsPastApplesLimits(random: UInt64) {
        let policy = minted(random)
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 20 * minute, steadyMs: 20 * minute, isRefused: false)
                != .mint)
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 55 * minute, steadyMs: 55 * minute, isRefused: false)
                == .mint)
    }

    @Test func aRefusedTokenIsRenewedButNotWithinTwentyMinutes() {
        let policy = minted()
        #expect(
            policy.decide(wallMs: 1_000_000_000 + minute, steadyMs: minute, isRefused: true)
                == .keep(untilSteadyMs: 20 * minute))
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 20 * minute, steadyMs: 20 * minute, isRefused: true)
                == .mint)
    }

    @Test func aHoldPutsTheNextTokenOff() {
        var policy = minted()
        policy.hold(steadyMs: 30 * minute)
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 46 * minute, steadyMs: 46 * minute, isRefused: false)
                == .keep(untilSteadyMs: 50 * minute))
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 50 * minute, steadyMs: 50 * minute, isRefused: false)
                == .mint)
    }

    @Test func aHoldEndsBeforeTheTokenIsTooOldToBeAccepted() {
        var policy = minted()
        for at in stride(from: Int64(30), through: 56, by: 2) { policy.hold(steadyMs: at * minute) }
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 56 * minute, steadyMs: 56 * minute, isRefused: false)
                == .keep(untilSteadyMs: 57 * minute))
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 57 * minute, steadyMs: 57 * minute, isRefused: false)
                == .mint)
    }

    @Test func aHoldKeepsAProcessWithoutATokenFromMintingToo() {
        var policy = MintingPolicy()
        policy.hold(steadyMs: 0, forMs: 5 * minute)
        #expect(
            policy.decide(wallMs: 0, steadyMs: minute, isRefused: false)
                == .keep(untilSteadyMs: 5 * minute))
        #expect(policy.decide(wallMs: 0, steadyMs: 5 * minute, isRefused: false) == .mint)
    }

    @Test func anAdoptedTokenIsAsOldAsItsMintingAndChangesNoSoonerThanTwentyMinutesLater() {
        var policy = MintingPolicy()
        #expect(policy.mayChange(steadyMs: 0, isRefused: false))
        policy.adopted(ageMs: 30 * minute, wallMs: 1_000_000_000, steadyMs: 0, random: 180_000)
        // The first token is no change: the next may come when the old one is 45 minutes old.
        #expect(policy.mayChange(steadyMs: minute, isRefused: false))
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 15 * minute, steadyMs: 15 * minute, isRefused: false)
                == .mint)
        policy.adopted(
            ageMs: 0, wallMs: 1_000_000_000 + 15 * minute, steadyMs: 15 * minute, random: 180_000)
        #expect(!policy.mayChange(steadyMs: 34 * minute, isRefused: false))
        #expect(policy.mayChange(steadyMs: 34 * minute, isRefused: true))
        #expect(policy.mayChange(steadyMs: 35 * minute, isRefused: false))
        #expect(policy.ageMs(steadyMs: 35 * minute) == 20 * minute)
    }

    @Test func aWallClockThatStepsMakesTheTokenWrong() {
        let policy = minted()
        for step in [-10 * minute, 10 * minute] {
            #expect(
                policy.decide(
                    wallMs: 1_000_000_000 + 25 * minute + step, steadyMs: 25 * minute, isRefused: false)
                    == .mint)
        }
        #expect(
            policy.decide(wallMs: 1_000_000_000 + 25 * minute + 1000, steadyMs: 25 * minute, isRefused: false)
                != .mint)
    }
}

@Suite struct GoogleTokensTests {
    private func read(_ status: Int, _ body: String) -> GoogleTokens.Answer {
        GoogleTokens.read(status: status, body: Array(body.utf8))
    }

    @Test func answersOfTheTokenEndpointAreTold() {
        #expect(
            read(200, #"{"access_token":"abc","expires_in":3599}"#)
                == .token("abc", lifetimeMs: 3_599_000))
        for body in ["", "{}", #"{"access_token":""}"#, #"{"access_token":"a b"}"#, "<html>"] {
            guard case .unavailable = read(200, body) else {
                Issue.record("\(body) was taken for a token")
                continue
            }
        }
        guard
            case .refused(let reason, let text) = read(
                400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#)
        else {
            Issue.record("invalid_grant is a refusal")
            return
        }
        #expect(reason == .oauthInvalidGrant)
        #expect(text.contains("Invalid JWT Signature"))
        guard case .unavailable = read(503, "") else {
            Issue.record("503 is no refusal")
            return
        }
    }

    @Test func aTokenIsRenewedFiveMinutesEarlyAndAFailureKeepsTheOldOne() throws {
        let account = try ServiceAccount(json: makeAccountJSON(), source: "test")
        var tokens = GoogleTokens(account: account, tokenURI: nil)
        #expect(tokens.isDue(steadyMs: 0))
        tokens.note(.token("a", lifetimeMs: 3_600_000), steadyMs: 0, random: 0)
        #expect(!tokens.isDue(steadyMs: 54 * minute))
        #expect(tokens.isDue(steadyMs: 55 * minute))
        tokens.note(.unavailable("away"), steadyMs: 55 * minute, random: 7)
        #expect(tokens.isValid(steadyMs: 59 * minute))
        #expect(!tokens.isDue(steadyMs: 55 * minute))
        #expect(tokens.isDue(steadyMs: 56 * minute))
        #expect(!tokens.isValid(steadyMs: 60 * minute))
    }

    @Test func refusedTokensBringAnExchangeEveryTenSecondsAtMostHoweverShortTheyLive() throws {
        let account = try ServiceAccount(json: makeAccountJSON(), source: "test")
        var tokens = GoogleTokens(account: account, tokenURI: nil)
        // Nothing was ever exchanged: the refusal must not stand in the way of the first exchange.
        tokens.refused(steadyMs: 5)
        #expect(tokens.isDue(steadyMs: 5))
        for lifetime: Int64 in [60_000, 1_800_000, 3_599_000] {
            tokens.note(.token("a", lifetimeMs: lifetime), steadyMs: 1000, random: 0)
            tokens.refused(steadyMs: 1500)
            #expect(!tokens.isDue(steadyMs: 10_999))
            #expect(tokens.isDue(steadyMs: 11_000))
            tokens.note(.token("a", lifetimeMs: lifetime), steadyMs: 1000, random: 0)
            tokens.refused(steadyMs: 20_000)
            #expect(tokens.isDue(steadyMs: 20_000))
        }
    }

    private func makeAccountJSON() throws -> String {
        let pem = try RS256PrivateKey.generate().pem()
        return JSONValue.object([
            .init(name: "client_email", value: .string("peal@example.iam")),
            .init(name: "project_id", value: .string("example")),
            .init(name: "private_key", value: .string(pem)),
        ]).text
    }

    @Test func aServiceAccountThatIsNoneIsNamed() throws {
        for (json, word) in [("{", "service-account"), ("{}", "client_email"), ("[]", "client_email")] {
            let failure = #expect(throws: CredentialFailure.self) {
                _ = try ServiceAccount(json: json, source: "key.json")
            }
            #expect(failure?.description.contains(word) == true)
            #expect(failure?.description.contains("key.json") == true)
        }
        let failure = #expect(throws: CredentialFailure.self) {
            _ = try ServiceAccount(path: "/nonexistent.json")
        }
        #expect(failure?.description.contains("/nonexistent.json") == true)
    }
}

/// Options that trust the simulator's authority.
func trusting(_ caFile: String) -> KeeperOptions {
    var options = KeeperOptions()
    options.caFile = caFile
    return options
}

@Suite(.serialized) struct KeeperTests {
    @Test func theSimulatorsTokenEndpointIsAskedOnceAndItsTokenIsUsed() throws {
        var settings = SimulatorSettings()
        settings.adminPort = nil
        let simulator = try Simulator.start(settings)
        defer { simulator.stop() }
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-keeper")
        defer { Files.removeTree(folder) }
        try Files.write(path: folder + "/ca.pem", text: simulator.credentials.caPEM)
        let account = try ServiceAccount(json: simulator.credentials.serviceAccountJSON, source: "simulator")
        let keeper = CredentialKeeper(trusting(folder + "/ca.pem"), logger: .silent)
        defer { keeper.stop() }
        let bearer = Bearer(name: "fcm test")
        let before = bearer.version
        keeper.keep(bearer, account, tokenURI: nil)
        let deadline = Clock.monotonicMs + 60_000
        while bearer.version == before, Clock.monotonicMs < deadline { _ = RandomSource.bytes(4096) }
        let snapshot = bearer.snapshot()
        #expect(String(decoding: snapshot.authorization, as: UTF8.self).hasPrefix("Bearer "))
        #expect(snapshot.fault == nil)
    }

    @Test func aConfigurationWithABadKeyIsRefusedByName() throws {
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-directory")
        defer { Files.removeTree(folder) }
        try Files.write(path: folder + "/bad.p8", text: "not a key")
        let yaml = """
            apps:
              shop:
                apns: {key_file: bad.p8, key_id: ABC123DEFG, team_id: TEAM123456, topic: com.example.shop}
            """
        let loaded = try Configuration.parse(Array(yaml.utf8), file: folder + "/peal.yaml")
        var builder = DirectoryBuilder(loaded, keeper: nil)
        let failure = #expect(throws: CredentialFailure.self) { _ = try builder.build() }
        #expect(failure?.description.contains("bad.p8") == true)
    }

    @Test func appsWithOneKeyShareARouteAndOthersPrint() throws {
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-directory")
        defer { Files.removeTree(folder) }
        try Files.write(path: folder + "/key.p8", text: try ES256PrivateKey.generate().pem())
        let yaml = """
            apps:
              one: {apns: {key_file: key.p8, key_id: ABC123DEFG, team_id: TEAM123456, topic: com.example.one}}
              two: {apns: {key_file: key.p8, key_id: ABC123DEFG, team_id: TEAM123456, topic: com.example.two}}
              bare: {title: Bare}
            """
        let loaded = try Configuration.parse(Array(yaml.utf8), file: folder + "/peal.yaml")
        var builder = DirectoryBuilder(loaded, keeper: nil)
        let directory = try builder.build()
        #expect(directory.routes.count == 1)
        let one = directory.apps[try #require(directory.index(of: "one"))]
        let bare = directory.apps[try #require(directory.index(of: "bare"))]
        #expect(
            one.traits.destination(platform: .ios, environment: .production) == .route(0, .apns))
        #expect(one.traits.destination(platform: .ios, environment: .sandbox) == .none(.apns))
        #expect(
            one.traits.destination(platform: .android, environment: .production) == .none(.fcm))
        #expect(bare.traits.destination(platform: .ios, environment: .production) == .log(.apns))
        #expect(directory.index(of: "three") == nil)
    }
}
