internal import Core
internal import Decisions
internal import HTTPClient
internal import Security

/// The access token of one service account: when it is renewed, and the exchange itself (RFC 7523 section
/// 2.1).
struct GoogleTokens {
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// A token is renewed this long before it expires.
    static let marginMs: Int64 = 5 * 60_000
    /// FCM's refusals bring about no more than one exchange in this time, however short a token's life is.
    static let gapMs: Int64 = 10_000

    enum Answer: Equatable {
        case token(String, lifetimeMs: Int64)
        /// The token endpoint says that the account or its key is no good.
        case refused(Reason, String)
        /// Nothing is known; try again.
        case unavailable(String)
    }

    let account: ServiceAccount
    let tokenURI: String
    private var expiresSteadyMs: Int64 = .min
    private var nextSteadyMs: Int64 = .min
    private var lastSteadyMs: Int64?
    private var backoff = Backoff(baseMs: 1000, capMs: 60_000)

    init(account: ServiceAccount, tokenURI: String?) {
        self.account = account
        self.tokenURI = tokenURI ?? account.tokenURI
    }

    /// Whether an exchange is due.
    func isDue(steadyMs: Int64) -> Bool { steadyMs >= nextSteadyMs }
    /// Whether the last token is still good.
    func isValid(steadyMs: Int64) -> Bool { steadyMs < expiresSteadyMs }
    /// When to look again.
    var nextCheckSteadyMs: Int64 { nextSteadyMs }

    /// Notes that FCM refused the bearer: an exchange is due, but not more often than every ten seconds.
    mutating func refused(steadyMs: Int64) {
        let earliest = max(steadyMs, (lastSteadyMs ?? steadyMs - Self.gapMs) + Self.gapMs)
        nextSteadyMs = min(nextSteadyMs, earliest)
    }

    /// Notes an answer. `random` spreads the renewals of many processes.
    mutating func note(_ answer: Answer, steadyMs: Int64, random: UInt64) {
        lastSteadyMs = steadyMs
        switch answer {
        case .token(_, let lifetime):
            backoff.succeeded()
            expiresSteadyMs = steadyMs + lifetime
            let margin = min(Self.marginMs + Int64(random % 60_000), lifetime / 2)
            nextSteadyMs = expiresSteadyMs - margin
        case .refused, .unavailable:
            nextSteadyMs = steadyMs + backoff.failed(random: random)
        }
    }

    /// Signs an assertion and trades it. Blocks for as long as the client's deadlines allow.
    /// - Returns: the answer and its `Date` header.
    func exchange(client: HTTPClient, nowS: Int64) -> (answer: Answer, date: String?) {
        let assertion: String
        do throws(SecurityFailure) {
            assertion = try JWT.googleAssertion(
                email: account.email, keyID: account.keyID, audience: account.tokenURI, scope: Self.scope,
                issuedAtS: nowS, key: account.key)
        } catch {
            return (.refused(.oauthInvalidClient, "the service account's key can't sign: \(error)"), nil)
        }
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
        let request = HTTPClientRequest(
            method: "POST", url: tokenURI,
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")],
            body: Array(form.utf8))
        do throws(HTTPClientFailure) {
            let response = try client.send(request)
            let answer = Self.read(status: response.status, body: response.body)
            return (answer, response.header("date"))
        } catch {
            return (.unavailable("the token endpoint \(tokenURI) can't be reached: \(error)"), nil)
        }
    }

    static func read(status: Int, body: [UInt8]) -> Answer {
        let document = try? JSONValue.parse(text: String(decoding: body, as: UTF8.self))
        if status == 200 {
            guard let token = document?["access_token"]?.string, !token.isEmpty,
                token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else { return .unavailable("the token endpoint answered 200 without an access token") }
            let lifetime = document?["expires_in"]?.integer ?? 3600
            return .token(token, lifetimeMs: min(max(lifetime, 1), 86_400) * 1000)
        }
        let error = document?["error"]?.string ?? ""
        let text = document?["error_description"]?.string ?? error
        if status == 400 || status == 401 || status == 403 {
            let reason: Reason = error == "invalid_client" ? .oauthInvalidClient : .oauthInvalidGrant
            return .refused(
                reason,
                "the token endpoint refused the service account (\(status) \(text.prefix(200))): check "
                    + "that the key was not deleted and that this machine's clock is right")
        }
        return .unavailable("the token endpoint answered \(status)")
    }
}
