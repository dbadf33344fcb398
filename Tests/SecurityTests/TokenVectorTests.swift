import Core
import Testing

@testable import Security

/// The examples of the standards, checked end to end.
@Suite struct TokenVectorTests {
    private static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    /// Ten minutes before the examples expire.
    private static let beforeMs: Int64 = (1_300_819_380 - 600) * 1000

    /// RFC 7515 appendices A.1, A.2 and A.3.
    static let examples: [(jwk: String, token: String)] = [
        (
            #"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#,
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(payload).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        ),
        (
            #"{"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}"#,
            "eyJhbGciOiJSUzI1NiJ9.\(payload).cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
        ),
        (
            #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
            "eyJhbGciOiJFUzI1NiJ9.\(payload).DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        ),
    ]

    private func refusal(_ jwk: String, _ token: String, atMs: Int64) throws -> TokenRefusal.Code? {
        let keys = try VerificationKeys(jwks: "{\"keys\":[\(jwk)]}")
        let verifier = TokenVerifier(keys: keys, rules: TokenRules(audiences: ["peal"]))
        do throws(TokenRefusal) {
            _ = try verifier.verify(token, nowMs: atMs)
            return nil
        } catch {
            return error.code
        }
    }

    /// They have no audience, which is looked at after signature and times.
    @Test(arguments: [0, 1, 2])
    func theSignaturesOfRFC7515AreRight(_ example: Int) throws {
        let (jwk, token) = Self.examples[example]
        #expect(try refusal(jwk, token, atMs: Self.beforeMs) == .audience)
        #expect(try refusal(jwk, token, atMs: Self.beforeMs + 660_000) == .expired)
        for (other, (key, _)) in Self.examples.enumerated() where other != example {
            #expect(try refusal(key, token, atMs: Self.beforeMs) == .unknownKey)
        }
    }

    /// RFC 8037 appendices A.1, A.2, A.4 and A.5. What is signed there is no JSON.
    @Test func theSignatureOfRFC8037IsRight() throws {
        let seed = try #require(Base64.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A".utf8))
        let jwk = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        let input = Array("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".utf8)
        let signature = try #require(
            Base64.decode(
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg".utf8
            ))
        let key = try #require(try VerificationKeys(jwks: "{\"keys\":[\(jwk)]}").all.first)
        #expect(key.algorithm == .edDSA)
        #expect(key.verify(signature: signature, message: input))
        #expect(!key.verify(signature: signature, message: input + [0]))
        #expect(try Ed25519PrivateKey(seed: seed).sign(input) == signature)
    }

    /// The did:key method's own example: the key of the seed of zeros.
    @Test func theNameOfAnEd25519KeyIsThatOfTheMethod() throws {
        let name = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"
        let key = try Ed25519PrivateKey(seed: [UInt8](repeating: 0, count: 32))
        #expect(DIDKey(publicKey: key.publicBytes)?.text == name)
        #expect(DIDKey(name)?.publicKey == key.publicBytes)
        #expect(DIDKey(name)?.identifier == "z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp")
    }

    /// Another method, another multibase, another kind of key (P-256), too long, changed.
    @Test(arguments: [
        "", "did:key:", "did:key:z", "did:web:example.com",
        "did:key:f6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp",
        "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169",
        "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooW",
        "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWpp",
        "did:key:z16MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp",
        "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDoo0p",
        "did:key:z" + String(repeating: "1", count: 300),
    ])
    func otherNamesAreNone(_ text: String) { #expect(DIDKey(text) == nil) }
}
