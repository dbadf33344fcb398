import Core
import Testing

@testable import Security

@Suite struct VerificationKeysTests {
    private static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    private static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    private static let ec = #""kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)""#
    private static let ed = #""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#
    private static let oct = #""kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr8""#

    private func read(_ keys: String...) throws -> [VerificationKey] {
        try VerificationKeys(jwks: "{\"keys\":[" + keys.map { "{\($0)}" }.joined(separator: ",") + "]}").all
    }

    private func fault(_ keys: String...) -> String {
        let text = "{\"keys\":[" + keys.map { "{\($0)}" }.joined(separator: ",") + "]}"
        do throws(SecurityFailure) {
            return "taken: \(try VerificationKeys(jwks: text).all.count)"
        } catch {
            return error.message
        }
    }

    @Test func aKeyOfEachTypeIsRead() throws {
        let keys = try read(
            Self.ec + #","kid":"a""#, Self.ed + #","alg":"EdDSA""#, Self.oct + #","use":"sig""#)
        #expect(keys.map(\.algorithm) == [.es256, .edDSA, .hs256])
        #expect(keys.map(\.id) == ["a", nil, nil])
    }

    @Test func keysForOtherPurposesArePassedOver() throws {
        let keys = try read(
            Self.ec + #","use":"enc""#, Self.ec + #","alg":"ECDH-ES""#,
            Self.ec + #","key_ops":["deriveKey"]"#,
            #""kty":"EC","crv":"P-384","x":"AA","y":"AA""#, #""kty":"OKP","crv":"X25519","x":"AA""#,
            #""kty":"AKP","pub":"AA""#, #""kid":"nothing""#, Self.ed)
        #expect(keys.map(\.algorithm) == [.edDSA])
        #expect(fault(Self.ec + #","use":"enc""#).contains("no key for"))
        #expect(fault().contains("no key for"))
    }

    @Test func aPointThatIsNotOnTheCurveIsRefused() {
        let wrong = Self.ec.replacing(Self.y, with: Self.x)
        #expect(fault(wrong).contains("make no public key"))
    }

    @Test(arguments: [
        (#""kty":"oct","k":"c2hvcnQ""#, "HS256 needs at least 32"),
        (#""kty":"oct""#, "\"k\" is missing"),
        (ec.replacing(x, with: x + "="), "\"x\" is missing or is no base64url"),
        (ec.replacing(x, with: "AAAA"), "must have 32 bytes"),
        (ed.replacing("11qYAYKx", with: "11qY"), "32 bytes"),
        (ec + #","d":"AAAA""#, "private key"),
        (ec + #","kid":"a","kid":"b""#, "there twice"),
        (#""kty":"RSA","n":"AQAB","e":"AQAB""#, "bits"),
        (#""kty":"RSA","n":"\#(String(repeating: "x", count: 341))w","e":"AQABAQABAQABAQAB""#, "exponent"),
    ])
    func aKeyThatCanNotBeUsedIsAnErrorThatSaysWhy(_ key: String, _ reason: String) {
        let fault = fault(Self.ed, key)
        #expect(fault.contains(reason), "\(fault)")
        #expect(fault.hasPrefix("key 1 of the JWK set"))
    }

    @Test func rsaKeysOfAWeakLengthAreRefused() throws {
        // 1,024 bits, and one of 2,048 from the other test.
        let weak = Base64.encodeURL([0xC1] + [UInt8](repeating: 0x35, count: 127))
        #expect(fault("\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"\(weak)\"").contains("has 1024 bits"))
        let jwk = TokenVectorTests.examples[1].jwk
        #expect(try VerificationKeys(jwks: "{\"keys\":[\(jwk)]}").all.first?.algorithm == .rs256)
    }

    @Test func aNameMayStandThereOnce() {
        #expect(fault(Self.ed + #","kid":"a""#, Self.ed + #","kid":"a""#).contains("kid is there twice"))
        #expect(fault(Self.ed + #","kid":"a""#, Self.ec + #","kid":"b""#) == "taken: 2")
    }

    @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[1]}"#, "{\"keys\":[", "-----BEGIN"])
    func whatIsNoSetIsRefused(_ text: String) {
        #expect(throws: SecurityFailure.self) { try VerificationKeys(jwks: text) }
    }

    @Test func aSetHasABound() {
        let many = (0...VerificationKeys.countMax).map { Self.ed + ",\"kid\":\"\($0)\"" }
        let text = "{\"keys\":[" + many.map { "{\($0)}" }.joined(separator: ",") + "]}"
        #expect(throws: SecurityFailure.self) { try VerificationKeys(jwks: text) }
    }

    @Test func pemFilesHoldOnePublicKey() throws {
        let key = try ES256PrivateKey.generate()
        #expect(try VerificationKey(publicPEM: key.publicKey().handle.publicPEM()).algorithm == .es256)
        #expect(throws: SecurityFailure.self) { try VerificationKey(publicPEM: try key.pem()) }
        #expect(throws: SecurityFailure.self) { try VerificationKey(publicPEM: "nothing") }
        // secp256k1 has the size of P-256.
        let other = """
            -----BEGIN PUBLIC KEY-----
            MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEPZWebqzLpcyW+kK0AYrxGfGxbkS9z+oF
            994nMvy4bAxxWKOaSswQdK7Kd/RNVKu/q5mkw2pDlqaj4rVum7/ENg==
            -----END PUBLIC KEY-----
            """
        #expect(throws: SecurityFailure.self) { try VerificationKey(publicPEM: other) }
        let failure = #expect(throws: SecurityFailure.self) { try VerificationKey(publicPEM: try key.pem()) }
        #expect(failure?.message.contains("private key") == true)
    }
}
