import Configuration
import Core
import EventLoop
import Logging
import Security
import Testing

@testable import GatewayKit

@Suite struct UserTokensTests {
    private static let nowMs: Int64 = 1_800_000_000_000
    private static let secret = "the secret of the shop's backend, long"

    private func folder() throws -> String { try Files.makeTemporaryDirectory(prefix: "peal-users-test") }

    private func tokens(_ folder: String, _ users: String) throws -> UserTokens {
        let text = "apps:\n  shop:\n    users: {\(users)}\n  bare: {}\n"
        let settings = try Configuration.parse(Array(text.utf8), file: folder + "/peal.yaml")
        return try UserTokens(settings, logger: .silent)
    }

    private func claims(_ sub: String) -> String {
        "{\"sub\":\"\(sub)\",\"aud\":\"peal\",\"exp\":\(Self.nowMs / 1000 + 60)}"
    }

    private func token(_ sub: String, secret: String = secret) -> String {
        JWT.sign(header: #"{"alg":"HS256"}"#, claims: claims(sub), secret: Array(secret.utf8))
    }

    private func recipient(_ tokens: UserTokens, _ token: String, app: String = "shop") -> String {
        do throws(Problem) {
            return try tokens.verify(token, app: app, nowMs: Self.nowMs)
        } catch {
            return "\(error.status): \(error.detail)"
        }
    }

    @Test func theSubjectIsTheRecipient() throws {
        let folder = try folder()
        defer { Files.removeTree(folder) }
        // An editor's line end is no part of the secret.
        try Files.write(path: folder + "/secret", text: Self.secret + "\n", mode: 0o600)
        let tokens = try tokens(folder, "secret_file: secret, audience: peal")
        #expect(recipient(tokens, token("user-1")) == "user-1")
        #expect(
            recipient(tokens, token("user-1", secret: Self.secret + "x"))
                == "401: The token's signature is wrong.")
        #expect(tokens.isKnown(app: "shop") && !tokens.isKnown(app: "bare"))
        // An app without users answers like one that there isn't.
        #expect(recipient(tokens, token("u"), app: "bare").hasPrefix("401"))
        #expect(recipient(tokens, token("u"), app: "bare") == recipient(tokens, token("u"), app: "nowhere"))
    }

    @Test func aKeySetAndAPublicKeyAreRead() throws {
        let folder = try folder()
        defer { Files.removeTree(folder) }
        let key = try Ed25519PrivateKey.generate()
        let signed = try JWT.sign(header: #"{"alg":"EdDSA","kid":"k"}"#, claims: claims("u"), key: key)
        try Files.write(path: folder + "/key.pem", text: try key.publicPEM())
        #expect(recipient(try tokens(folder, "public_key_file: key.pem, audience: [x, peal]"), signed) == "u")
        let x = Base64.encodeURL(key.publicBytes)
        try Files.write(
            path: folder + "/jwks.json",
            text: "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"k\",\"x\":\"\(x)\"}]}")
        #expect(recipient(try tokens(folder, "jwks_file: jwks.json, audience: peal"), signed) == "u")
        #expect(
            recipient(try tokens(folder, "jwks_file: jwks.json, audience: other"), signed).contains("aud"))
        #expect(
            recipient(try tokens(folder, "jwks_file: jwks.json, audience: peal, issuer: me"), signed)
                .contains(
                    "iss"))
    }

    @Test func aClientMayBeNamedByItsOwnKey() throws {
        let folder = try folder()
        defer { Files.removeTree(folder) }
        let key = try Ed25519PrivateKey.generate()
        let name = try #require(DIDKey(publicKey: key.publicBytes))
        let signed = try JWT.sign(
            header: #"{"alg":"EdDSA","typ":"JWT"}"#,
            claims:
                "{\"iss\":\"\(name.text)\",\"sub\":\"\(name.identifier)\",\"aud\":\"https://push.example\",\"iat\":\(Self.nowMs / 1000),\"exp\":\(Self.nowMs / 1000 + 60)}",
            key: key)
        let tokens = try tokens(folder, "did_key: true, audience: \"https://push.example\"")
        #expect(recipient(tokens, signed) == name.identifier)
        #expect(recipient(tokens, token("u")).contains("No key"))
    }

    @Test func changedKeysAreTakenOverAndBrokenOnesAreNot() throws {
        let folder = try folder()
        defer { Files.removeTree(folder) }
        let path = folder + "/secret"
        try Files.write(path: path, text: Self.secret)
        let tokens = try tokens(folder, "secret_file: secret, audience: peal")
        let fresh = "another secret of the shop's backend, longer"
        try Files.write(path: path, text: fresh)
        tokens.reload()
        #expect(recipient(tokens, token("u", secret: fresh)) == "u")
        #expect(recipient(tokens, token("u")).hasPrefix("401"))
        try Files.write(path: path, text: "short")
        tokens.reload()
        #expect(recipient(tokens, token("u", secret: fresh)) == "u")
        try Files.write(path: path, text: Self.secret)
        tokens.reload()
        #expect(recipient(tokens, token("u")) == "u")
    }

    @Test func aFileThatCanNotBeUsedStopsTheStartAndIsNotRepeated() throws {
        let folder = try folder()
        defer { Files.removeTree(folder) }
        try Files.write(path: folder + "/secret", text: "tooshort-tooshort")
        do {
            _ = try tokens(folder, "secret_file: secret, audience: peal")
            Issue.record("taken")
        } catch {
            #expect("\(error)".contains("/secret: ") && "\(error)".contains("at least 32"))
            #expect(!"\(error)".contains("tooshort"))
        }
        #expect(throws: (any Error).self) { try tokens(folder, "jwks_file: none.json, audience: peal") }
    }
}
