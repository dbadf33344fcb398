import Core
import Security
import Testing

@testable import SimulatorKit

/// A request under construction.
struct Draft {
    var method = "POST"
    var path = "/3/device/" + String(repeating: "ab", count: 32)
    var authorization = ""
    var apnsID = "01234567-89ab-cdef-0123-456789abcdef"
    var topic = "com.example.app"
    var pushType = "alert"
    var priority = "10"
    var expiration = ""
    var collapseID = ""
    var body = "{\"aps\":{\"alert\":\"hi\",\"badge\":3}}"
    var hasDuplicates = false

    /// Lends the request to `body`.
    func withRequest<R>(_ use: (ProviderRequest) -> R) -> R {
        let values = [
            method, path, authorization, apnsID, topic, pushType, priority, expiration, collapseID, body,
        ].map { Array($0.utf8) }
        let all = values.flatMap { $0 }
        return all.withUnsafeBytes { raw in
            var pieces: [Bytes] = []
            var at = 0
            for value in values {
                pieces.append(Bytes(UnsafeRawBufferPointer(rebasing: raw[at..<(at + value.count)])))
                at += value.count
            }
            var request = ProviderRequest()
            request.method = pieces[0]
            request.path = pieces[1]
            request.authorization = pieces[2]
            request.apnsID = pieces[3]
            request.topic = pieces[4]
            request.pushType = pieces[5]
            request.priority = pieces[6]
            request.expiration = pieces[7]
            request.collapseID = pieces[8]
            request.body = pieces[9]
            request.hasDuplicates = hasDuplicates
            return use(request)
        }
    }
}

/// Keys that are made once for all tests, because RSA keys take their time.
struct TestKeys {
    static let shared = Result { try TestKeys() }

    let apns: ES256PrivateKey
    let otherTeam: ES256PrivateKey
    let sandboxOnly: ES256PrivateKey
    let narrow: ES256PrivateKey
    let account: RS256PrivateKey
    let stranger: RS256PrivateKey

    init() throws {
        apns = try ES256PrivateKey.generate()
        otherTeam = try ES256PrivateKey.generate()
        sandboxOnly = try ES256PrivateKey.generate()
        narrow = try ES256PrivateKey.generate()
        account = try RS256PrivateKey.generate()
        stranger = try RS256PrivateKey.generate()
    }
}

/// A judge with known keys and a clock that stands still.
final class RuleFixture {
    static let nowMs: Int64 = 1_800_000_000_000
    static let nowS = nowMs / 1000
    static let project = "demo-project"
    static let email = "simulator@demo-project.iam.gserviceaccount.com"
    static let audience = "https://127.0.0.1:1/token"

    let keys: TestKeys
    let judge: Judge
    let apns = ConnectionState(listener: .apns, number: 1, streamsMax: 1)
    let sandbox = ConnectionState(listener: .sandbox, number: 1, streamsMax: 1)
    let fcm = ConnectionState(listener: .fcm, number: 1, streamsMax: 100)
    var row = RecordRow()
    var steadyMs: UInt64 = 0

    init(_ settings: SimulatorSettings = SimulatorSettings()) throws {
        keys = try TestKeys.shared.get()
        let authority = APNsAuthority(
            keys: [
                APNsKey(keyID: "KEY0000001", teamID: "TEAM000001", publicKey: try keys.apns.publicKey()),
                APNsKey(keyID: "KEY0000002", teamID: "TEAM000002", publicKey: try keys.otherTeam.publicKey()),
                APNsKey(
                    keyID: "KEY0000003", teamID: "TEAM000001", publicKey: try keys.sandboxOnly.publicKey(),
                    environments: [.sandbox]),
                APNsKey(
                    keyID: "KEY0000004", teamID: "TEAM000001", publicKey: try keys.narrow.publicKey(),
                    bundleIDs: ["com.example.allowed"]),
            ], refreshMinS: settings.tokenRefreshMinS, scope: settings.tokenUpdateScope)
        let oauth = OAuthServer(
            accounts: [
                ServiceAccount(
                    email: Self.email, keyID: "google-key", projectID: Self.project,
                    publicKey: try keys.account.publicKey())
            ], lifetimeS: settings.accessTokenLifetimeS)
        oauth.audiences = [Self.audience]
        judge = Judge(settings: settings, authority: authority, oauth: oauth)
    }

    /// A provider token, `bearer` included.
    func bearer(key: Int = 1, issuedAtS: Int64 = nowS, teamID: String? = nil) throws -> String {
        let private4 = [keys.apns, keys.otherTeam, keys.sandboxOnly, keys.narrow]
        let team = teamID ?? (key == 2 ? "TEAM000002" : "TEAM000001")
        let token = try JWT.appleProviderToken(
            keyID: "KEY000000\(key)", teamID: team, issuedAtS: issuedAtS, key: private4[key - 1])
        return "bearer " + token
    }

    // One token for all drafts: a second one within 20 minutes would be refused.
    private var usual = ""

    /// A draft that passes.
    func draft() throws -> Draft {
        if usual.isEmpty { usual = try bearer() }
        var draft = Draft()
        draft.authorization = usual
        return draft
    }

    /// Judges on a connection.
    func answer(
        _ draft: Draft, on connection: ConnectionState? = nil, nowMs: Int64 = RuleFixture.nowMs
    ) -> Answer {
        row = RecordRow()
        var texts = RecordTexts()
        return draft.withRequest { request in
            judge.judge(
                request, on: connection ?? apns, at: Moment(wallMs: nowMs, steadyMs: steadyMs), row: &row,
                texts: &texts)
        }
    }

    /// The reason that APNs gives.
    func reason(_ draft: Draft, on connection: ConnectionState? = nil, nowMs: Int64 = RuleFixture.nowMs)
        -> APNsReason?
    {
        APNsReason(rawValue: answer(draft, on: connection, nowMs: nowMs).reason)
    }

    /// Trades an assertion for an access token.
    func exchange(_ form: String, nowMs: Int64 = RuleFixture.nowMs) -> (status: UInt16, json: JSONValue?) {
        let bytes = Array(form.utf8)
        let (status, body) = bytes.withUnsafeBytes { judge.oauth.exchange(body: Bytes($0), nowMs: nowMs) }
        return (status, try? JSONValue.parse(text: String(decoding: body, as: UTF8.self)))
    }

    func assertion(
        email: String = RuleFixture.email, keyID: String = "google-key",
        audience: String = RuleFixture.audience,
        scope: String = "https://www.googleapis.com/auth/firebase.messaging",
        issuedAtS: Int64 = RuleFixture.nowS,
        key: RS256PrivateKey? = nil
    ) throws -> String {
        let token = try JWT.googleAssertion(
            email: email, keyID: keyID, audience: audience, scope: scope, issuedAtS: issuedAtS,
            key: key ?? keys.account)
        return "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + token
    }

    /// An FCM draft with a valid bearer.
    func message(_ message: String) throws -> Draft {
        let token = try #require(exchange(try assertion()).json?["access_token"]?.string)
        var draft = Draft()
        draft.path = "/v1/projects/\(Self.project)/messages:send"
        draft.authorization = "Bearer " + token
        draft.body = "{\"message\":\(message)}"
        return draft
    }

    func error(_ answer: Answer) -> FCMError? { FCMError(rawValue: answer.reason) }
}

func bytes<R>(_ text: String, _ use: (Bytes) -> R) -> R {
    Array(text.utf8).withUnsafeBytes { use(Bytes($0)) }
}
