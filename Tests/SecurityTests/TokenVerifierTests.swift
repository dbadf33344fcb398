import Core
import Testing

@testable import Security

@Suite struct TokenVerifierTests {
    private static let secret = Array("a secret of more than thirty-two bytes".utf8)
    private static let nowS: Int64 = 1_800_000_000
    private static let nowMs = nowS * 1000

    private func verifier(
        issuer: String? = nil, claim: String = "sub", did: Bool = false
    ) throws -> TokenVerifier {
        TokenVerifier(
            keys: VerificationKeys([try VerificationKey(secret: Self.secret, id: "k1")]),
            rules: TokenRules(audiences: ["peal", "other"], issuer: issuer, subjectClaim: claim),
            acceptsDIDKeys: did)
    }

    private func claims(
        exp: String? = "\(nowS + 300)", aud: String? = "\"peal\"", sub: String? = "\"user-1\"",
        more: String = ""
    ) -> String {
        var members: [String] = []
        if let sub { members.append("\"sub\":\(sub)") }
        if let aud { members.append("\"aud\":\(aud)") }
        if let exp { members.append("\"exp\":\(exp)") }
        if !more.isEmpty { members.append(more) }
        return "{" + members.joined(separator: ",") + "}"
    }

    private func token(header: String = #"{"alg":"HS256","typ":"JWT","kid":"k1"}"#, _ claims: String)
        -> String
    {
        JWT.sign(header: header, claims: claims, secret: Self.secret)
    }

    private func refusal(
        _ token: String, _ verifier: TokenVerifier, atMs: Int64 = nowMs
    ) -> TokenRefusal.Code? {
        do throws(TokenRefusal) {
            _ = try verifier.verify(token, nowMs: atMs)
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: Signatures

    @Test func aGoodTokenGivesItsSubjectAndClaims() throws {
        let good = try verifier().verify(token(claims(more: #""plan":"pro""#)), nowMs: Self.nowMs)
        #expect(good.subject == "user-1")
        #expect(good.claims["plan"]?.string == "pro")
    }

    /// One bit of any character changed, one character less, one more.
    @Test func everyChangeOfAGoodTokenIsNoticed() throws {
        let verifier = try verifier()
        let good = Array(token(claims()).utf8)
        #expect(refusal(String(decoding: good, as: UTF8.self), verifier) == nil)
        for at in good.indices {
            for bit in 0..<7 {
                var changed = good
                changed[at] ^= 1 << bit
                #expect(refusal(String(decoding: changed, as: UTF8.self), verifier) != nil)
            }
            var shorter = good
            shorter.remove(at: at)
            #expect(refusal(String(decoding: shorter, as: UTF8.self), verifier) != nil)
            #expect(refusal(String(decoding: good.prefix(at), as: UTF8.self), verifier) != nil)
            var longer = good
            longer.insert(UInt8(ascii: "A"), at: at)
            #expect(refusal(String(decoding: longer, as: UTF8.self), verifier) != nil)
        }
    }

    @Test func eachAlgorithmChecksItsOwnSignatures() throws {
        let ec = try ES256PrivateKey.generate()
        let rsa = try RS256PrivateKey.generate()
        let ed = try Ed25519PrivateKey.generate()
        let pems = [
            try ec.publicKey().handle.publicPEM(), try rsa.publicKey().handle.publicPEM(), try ed.publicPEM(),
        ]
        let verifiers = try pems.map {
            TokenVerifier(
                keys: VerificationKeys([try VerificationKey(publicPEM: $0)]),
                rules: TokenRules(audiences: ["peal"]))
        }
        let tokens = [
            try JWT.sign(header: #"{"alg":"ES256"}"#, claims: claims(), key: ec),
            try JWT.sign(header: #"{"alg":"RS256"}"#, claims: claims(), key: rsa),
            try JWT.sign(header: #"{"alg":"EdDSA"}"#, claims: claims(), key: ed),
        ]
        for (mine, token) in tokens.enumerated() {
            for (other, verifier) in verifiers.enumerated() {
                #expect(refusal(token, verifier) == (mine == other ? nil : .unknownKey))
            }
            // The last byte of the signature.
            let last = token.utf8.count - 3
            var changed = Array(token.utf8)
            changed[last] = changed[last] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(refusal(String(decoding: changed, as: UTF8.self), verifiers[mine]) == .signature)
        }
        #expect(
            refusal(
                try JWT.sign(header: #"{"alg":"ES256"}"#, claims: claims(), key: ES256PrivateKey.generate()),
                verifiers[0])
                == .signature)
    }

    /// The classic mistakes (RFC 8725 section 2.1): no signature, and a public key taken for a secret.
    @Test func theTokenDoesNotChooseTheAlgorithm() throws {
        let ec = try ES256PrivateKey.generate()
        let pem = try ec.publicKey().handle.publicPEM()
        let verifier = TokenVerifier(
            keys: VerificationKeys([try VerificationKey(publicPEM: pem, id: "k1")]),
            rules: TokenRules(audiences: ["peal"]))
        for name in ["HS256", "hs256"] {
            let forged = JWT.sign(
                header: "{\"alg\":\"\(name)\",\"kid\":\"k1\"}", claims: claims(), secret: Array(pem.utf8))
            #expect(refusal(forged, verifier) == (name == "HS256" ? .unknownKey : .algorithm))
        }
        for name in ["none", "None", "NONE", "HS384", "RS512", "PS256", "ES384", "", "ES256 "] {
            #expect(
                refusal(token(header: "{\"alg\":\"\(name)\",\"kid\":\"k1\"}", claims()), try self.verifier())
                    == .algorithm)
        }
        let parts = token(claims()).split(separator: ".")
        #expect(refusal("\(parts[0]).\(parts[1]).", try self.verifier()) == .signature)
    }

    @Test(arguments: [
        #"{"typ":"JWT"}"#, #"{"alg":null}"#, #"{"alg":["HS256"]}"#, #"{"alg":5}"#,
    ])
    func aHeaderWithoutAnAlgorithmIsRefused(_ header: String) throws {
        #expect(refusal(token(header: header, claims()), try verifier()) == .algorithm)
    }

    @Test func keysInTheHeaderAreNotBelieved() throws {
        let other = try ES256PrivateKey.generate()
        let header = #"{"alg":"ES256","jku":"https://evil.example/keys","jwk":{"kty":"EC"},"x5c":["AA"]}"#
        let forged = try JWT.sign(header: header, claims: claims(), key: other)
        let keys = VerificationKeys([
            try VerificationKey(publicPEM: try ES256PrivateKey.generate().publicKey().handle.publicPEM())
        ])
        let verifier = TokenVerifier(keys: keys, rules: TokenRules(audiences: ["peal"]))
        #expect(refusal(forged, verifier) == .signature)
    }

    // MARK: Form

    @Test(arguments: [
        "", ".", "..", "a.b", "a.b.c", "a.b.c.d", "....", "e30.e30.", "e30.e30.AA", "bnVsbA.e30.AA",
        "W10.e30.AA", "\u{0}", "Bearer x.y.z", "e30.e30.AA\n", " e30.e30.AA",
    ])
    func whatIsNoTokenIsRefused(_ text: String) throws {
        let code = refusal(text, try verifier())
        #expect(code == .malformed || code == .algorithm)
    }

    @Test func paddingAndTheOtherAlphabetAreRefused() throws {
        let good = token(claims())
        #expect(refusal(good + "=", try verifier()) == .malformed)
        let parts = good.split(separator: ".")
        #expect(refusal("\(parts[0])=.\(parts[1]).\(parts[2])", try verifier()) == .malformed)
        #expect(
            refusal(good.replacing("-", with: "+").replacing("_", with: "/") + "+", try verifier())
                == .malformed)
    }

    @Test(arguments: [
        #"{"alg":"HS256","kid":"k1","alg":"HS256"}"#, #"{"alg":"none","kid":"k1","alg":"HS256"}"#,
        #"{"alg":"HS256","kid":"k1","x":{"a":1,"a":2}}"#,
    ])
    func aNameThatStandsTwiceInTheHeaderIsRefused(_ header: String) throws {
        #expect(refusal(token(header: header, claims()), try verifier()) == .malformed)
    }

    @Test func aNameThatStandsTwiceInTheClaimsIsRefused() throws {
        #expect(refusal(token(claims(more: #""sub":"admin""#)), try verifier()) == .malformed)
        #expect(refusal(token(claims(more: #""a":[{"b":1,"b":1}]"#)), try verifier()) == .malformed)
    }

    @Test func longTokensAreRefusedBeforeTheyAreRead() throws {
        let long = token(claims(more: "\"x\":\"\(String(repeating: "y", count: 7000))\""))
        #expect(long.utf8.count > TokenVerifier.bytesMax)
        #expect(refusal(long, try verifier()) == .tooLong)
        let fits = token(claims(more: "\"x\":\"\(String(repeating: "y", count: 5800))\""))
        #expect(refusal(fits, try verifier()) == nil)
    }

    @Test func extensionsAndOtherKindsOfTokensAreRefused() throws {
        let critical = #"{"alg":"HS256","kid":"k1","crit":["b64"],"b64":false}"#
        #expect(refusal(token(header: critical, claims()), try verifier()) == .critical)
        for (type, isTaken) in [
            ("JWT", true), ("jwt", true), ("at+jwt", true), ("application/at+jwt", true),
            ("logout+jwt", false), ("dpop+jwt", false), ("", false),
        ] {
            let header = "{\"alg\":\"HS256\",\"kid\":\"k1\",\"typ\":\"\(type)\"}"
            #expect(refusal(token(header: header, claims()), try verifier()) == (isTaken ? nil : .type))
        }
        #expect(refusal(token(header: #"{"alg":"HS256","typ":7}"#, claims()), try verifier()) == .type)
    }

    // MARK: Keys

    @Test func theKeyIDSelects() throws {
        let other = Array("another secret of over thirty-two bytes".utf8)
        let keys = VerificationKeys([
            try VerificationKey(secret: Self.secret, id: "k1"), try VerificationKey(secret: other, id: "k2"),
        ])
        let verifier = TokenVerifier(keys: keys, rules: TokenRules(audiences: ["peal"]))
        func header(_ id: String) -> String { "{\"alg\":\"HS256\",\"kid\":\(id)}" }
        #expect(refusal(token(header: header("\"k1\""), claims()), verifier) == nil)
        #expect(refusal(token(header: header("\"k2\""), claims()), verifier) == .signature)
        #expect(refusal(token(header: header("\"k3\""), claims()), verifier) == .unknownKey)
        #expect(refusal(token(header: header("1"), claims()), verifier) == .malformed)
        // Two could be meant.
        #expect(refusal(token(header: #"{"alg":"HS256"}"#, claims()), verifier) == .unknownKey)
        // The only one may be meant without a name; a key without a name by any.
        #expect(refusal(token(header: #"{"alg":"HS256"}"#, claims()), try self.verifier()) == nil)
        let unnamed = TokenVerifier(
            keys: VerificationKeys([try VerificationKey(secret: Self.secret)]),
            rules: TokenRules(audiences: ["peal"]))
        #expect(refusal(token(header: header("\"k9\""), claims()), unnamed) == nil)
    }

    // MARK: Claims

    @Test func timesAreComparedToTheMillisecond() throws {
        let verifier = try verifier()
        let end = Self.nowMs + 300_000 + 60_000
        #expect(refusal(token(claims()), verifier, atMs: end - 1) == nil)
        #expect(refusal(token(claims()), verifier, atMs: end) == .expired)
        let later = token(claims(more: "\"nbf\":\(Self.nowS + 60)"))
        #expect(refusal(later, verifier) == nil)
        #expect(refusal(later, verifier, atMs: Self.nowMs - 1) == .notYetValid)
        let future = token(claims(more: "\"iat\":\(Self.nowS + 60)"))
        #expect(refusal(future, verifier) == nil)
        #expect(refusal(future, verifier, atMs: Self.nowMs - 1) == .issuedInFuture)
        let fraction = token(claims(exp: "\(Self.nowS).5"))
        #expect(refusal(fraction, verifier, atMs: Self.nowMs + 60_499) == nil)
        #expect(refusal(fraction, verifier, atMs: Self.nowMs + 60_500) == .expired)
    }

    @Test(arguments: [
        "\"1800000300\"", "null", "true", "[1]", "{}", "-1", "1e30", "253402300800", "-0.1",
    ])
    func whatIsNoTimeIsRefused(_ value: String) throws {
        #expect(refusal(token(claims(exp: value)), try verifier()) == .malformed)
        #expect(refusal(token(claims(more: "\"nbf\":\(value)")), try verifier()) == .malformed)
    }

    @Test func aTokenWithoutExpiryIsRefused() throws {
        #expect(refusal(token(claims(exp: nil)), try verifier()) == .expiryMissing)
    }

    @Test func theAudienceMustBeOneOfOurs() throws {
        for aud in ["\"peal\"", "\"other\"", #"["x","peal"]"#, #"[7,"peal"]"#] {
            #expect(refusal(token(claims(aud: aud)), try verifier()) == nil)
        }
        for aud in ["\"Peal\"", "\"\"", "[]", #"["x"]"#, "null", "5", #"{"peal":1}"#] {
            #expect(refusal(token(claims(aud: aud)), try verifier()) == .audience)
        }
        #expect(refusal(token(claims(aud: nil)), try verifier()) == .audience)
    }

    @Test func theIssuerIsCheckedWhenItIsConfigured() throws {
        let verifier = try verifier(issuer: "https://id.example")
        #expect(refusal(token(claims(more: #""iss":"https://id.example""#)), verifier) == nil)
        #expect(refusal(token(claims(more: #""iss":"https://id.example/""#)), verifier) == .issuer)
        #expect(refusal(token(claims()), verifier) == .issuer)
    }

    @Test func theSubjectComesFromTheConfiguredClaim() throws {
        let id = token(claims(sub: nil, more: #""user_id":4711"#))
        #expect(try verifier(claim: "user_id").verify(id, nowMs: Self.nowMs).subject == "4711")
        #expect(refusal(id, try verifier()) == .subject)
        for sub in [
            "\"\"", "null", "true", "1.5", "1e3", "[\"a\"]", "\"a\\nb\"", "\"a\\u0000\"",
            "\"\(String(repeating: "x", count: 257))\"",
        ] {
            #expect(refusal(token(claims(sub: sub)), try verifier()) == .subject)
        }
        let longest = String(repeating: "x", count: 256)
        #expect(refusal(token(claims(sub: "\"\(longest)\"")), try verifier()) == nil)
    }

    // MARK: Clients that are named by their key

    private func didToken(_ key: Ed25519PrivateKey, iss: String, sub: String = "\"nonce\"") throws -> String {
        try JWT.sign(
            header: #"{"alg":"EdDSA","typ":"JWT"}"#,
            claims: claims(sub: sub, more: "\"iss\":\"\(iss)\",\"iat\":\(Self.nowS)"), key: key)
    }

    @Test func aDIDKeyTokenIsAboutItsKey() throws {
        let key = try Ed25519PrivateKey.generate()
        let name = try #require(DIDKey(publicKey: key.publicBytes))
        let verifier = try verifier(did: true)
        let good = try verifier.verify(try didToken(key, iss: name.text), nowMs: Self.nowMs)
        #expect(good.subject == name.identifier)
        #expect(good.subject.hasPrefix("z6Mk"))
        // Whoever it says that it is: nobody can be somebody else.
        let victim = try #require(DIDKey(publicKey: try Ed25519PrivateKey.generate().publicBytes))
        let claimed = try didToken(key, iss: name.text, sub: "\"\(victim.identifier)\"")
        #expect(try verifier.verify(claimed, nowMs: Self.nowMs).subject == name.identifier)
        // Another's name with one's own signature.
        #expect(refusal(try didToken(key, iss: victim.text), verifier) == .signature)
        #expect(refusal(try didToken(key, iss: "did:key:z6Mk"), verifier) == .issuer)
        #expect(refusal(try didToken(key, iss: name.text), try self.verifier()) == .unknownKey)
        // Times and audience count for them too.
        #expect(refusal(try didToken(key, iss: name.text), verifier, atMs: Self.nowMs + 360_000) == .expired)
        let strange = try JWT.sign(
            header: #"{"alg":"EdDSA"}"#,
            claims: claims(aud: "\"x\"", more: "\"iss\":\"\(name.text)\""), key: key)
        #expect(refusal(strange, verifier) == .audience)
    }

    @Test func aConfiguredKeyDoesNotSpeakForADIDKey() throws {
        let name = try #require(DIDKey(publicKey: try Ed25519PrivateKey.generate().publicBytes))
        let forged = token(claims(more: "\"iss\":\"\(name.text)\""))
        #expect(refusal(forged, try verifier(did: true)) == .algorithm)
    }

    @Test func aRefusalRepeatsNothingOfTheToken() throws {
        let secretive = "SECRET-VALUE"
        let verifier = try verifier()
        for text in [
            token(header: "{\"alg\":\"\(secretive)\"}", claims()),
            token(header: "{\"alg\":\"HS256\",\"kid\":\"\(secretive)\"}", claims()),
            token(header: "{\"alg\":\"HS256\",\"typ\":\"\(secretive)\"}", claims()),
            token(claims(exp: "\"\(secretive)\"")), token(claims(aud: "\"\(secretive)\"")),
            token(claims(sub: "{\"\(secretive)\":1}")), secretive + "." + secretive,
        ] {
            do throws(TokenRefusal) {
                _ = try verifier.verify(text, nowMs: Self.nowMs)
                Issue.record("taken")
            } catch {
                #expect(!error.description.contains(secretive))
            }
        }
    }
}
