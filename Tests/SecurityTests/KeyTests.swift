import Core
import Security
import Testing

@Suite struct KeyTests {
    @Test func es256SignaturesAre64BytesAndVerify() throws {
        let key = try ES256PrivateKey(pem: try ES256PrivateKey.generate().pem())
        let message = Array("header.claims".utf8)
        for _ in 0..<200 {
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            #expect(try key.publicKey().verify(signature: signature, message: message))
        }
        var broken = try key.sign(message)
        broken[10] ^= 1
        #expect(try !key.publicKey().verify(signature: broken, message: message))
        #expect(try !key.publicKey().verify(signature: [], message: message))
        #expect(
            try !ES256PrivateKey.generate().publicKey().verify(
                signature: try key.sign(message), message: message))
    }

    @Test func rs256SignaturesVerify() throws {
        let key = try RS256PrivateKey(pem: try RS256PrivateKey.generate().pem())
        let signature = try key.sign([1, 2, 3])
        #expect(signature.count == 256)
        #expect(try key.publicKey().verify(signature: signature, message: [1, 2, 3]))
        #expect(try !key.publicKey().verify(signature: signature, message: [1, 2, 4]))
    }

    @Test func theWrongKindOfKeyIsNamed() throws {
        let rsa = try RS256PrivateKey.generate().pem()
        let ec = try ES256PrivateKey.generate().pem()
        #expect(throws: SecurityFailure.self) { _ = try ES256PrivateKey(pem: rsa) }
        #expect(throws: SecurityFailure.self) { _ = try RS256PrivateKey(pem: ec) }
        let failure = #expect(throws: SecurityFailure.self) { _ = try ES256PrivateKey(pem: "not a key") }
        #expect(failure?.code == .badKey)
        #expect(failure?.message.contains("BEGIN PRIVATE KEY") == true)
    }

    @Test func providerTokensCarryWhatAppleAsks() throws {
        let key = try ES256PrivateKey.generate()
        let token = try JWT.appleProviderToken(
            keyID: "ABC123DEFG", teamID: "TEAM123456", issuedAtS: 1_700_000_000, key: key)
        let parts = try #require(JWT.decode(Array(token.utf8)))
        #expect(parts.header.text == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(parts.claims.text == #"{"iss":"TEAM123456","iat":1700000000}"#)
        #expect(try key.publicKey().verify(signature: parts.signature, message: parts.signingInput))
        #expect(JWT.decode(Array("a.b".utf8)) == nil)
        #expect(JWT.decode(Array("a.b.c".utf8)) == nil)
    }

    @Test func googleAssertionsCarryWhatTheTokenEndpointAsks() throws {
        let key = try RS256PrivateKey.generate()
        let token = try JWT.googleAssertion(
            email: "peal@example.iam", keyID: "k1", audience: "https://oauth2.googleapis.com/token",
            scope: "https://www.googleapis.com/auth/firebase.messaging", issuedAtS: 1000, key: key)
        let parts = try #require(JWT.decode(Array(token.utf8)))
        #expect(parts.claims["exp"]?.integer == 4600)
        #expect(parts.claims["aud"]?.string == "https://oauth2.googleapis.com/token")
        #expect(try key.publicKey().verify(signature: parts.signature, message: parts.signingInput))
    }

    @Test func digestsMatchPublishedVectors() {
        #expect(
            Hex.encode(SHA256.hash(text: "abc"))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(Hex.encode(SHA1.hash(text: "abc")) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(
            Hex.encode(SHA256.hash(text: ""))
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }
}
