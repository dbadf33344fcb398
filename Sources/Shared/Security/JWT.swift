package import Core

/// JSON Web Tokens in compact form (RFC 7519, RFC 7515 section 7.1).
package enum JWT {
    /// Signs with ES256.
    package static func sign(header: String, claims: String, key: ES256PrivateKey) throws(SecurityFailure)
        -> String
    {
        let input = signingInput(header: header, claims: claims)
        return input + "." + Base64.encodeURL(try key.sign(Array(input.utf8)))
    }

    /// Signs with RS256.
    package static func sign(header: String, claims: String, key: RS256PrivateKey) throws(SecurityFailure)
        -> String
    {
        let input = signingInput(header: header, claims: claims)
        return input + "." + Base64.encodeURL(try key.sign(Array(input.utf8)))
    }

    /// Apple's provider token: `alg` ES256, `kid`; `iss` is the team and `iat` the minting time in seconds.
    package static func appleProviderToken(
        keyID: String, teamID: String, issuedAtS: Int64, key: ES256PrivateKey
    ) throws(SecurityFailure) -> String {
        try sign(
            header: "{\"alg\":\"ES256\",\"kid\":\(quoted(keyID))}",
            claims: "{\"iss\":\(quoted(teamID)),\"iat\":\(issuedAtS)}", key: key)
    }

    /// The assertion that Google's token endpoint trades for an access token (service-account flow).
    package static func googleAssertion(
        email: String, keyID: String, audience: String, scope: String, issuedAtS: Int64, key: RS256PrivateKey
    ) throws(SecurityFailure) -> String {
        try sign(
            header: "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\(quoted(keyID))}",
            claims: "{\"iss\":\(quoted(email)),\"scope\":\(quoted(scope)),\"aud\":\(quoted(audience)),"
                + "\"iat\":\(issuedAtS),\"exp\":\(issuedAtS + 3600)}", key: key)
    }

    /// The parts of a compact token.
    package struct Parts {
        package let header: JSONValue
        package let claims: JSONValue
        package let signature: [UInt8]
        /// What the signature covers.
        package let signingInput: [UInt8]
    }

    /// Splits and decodes a compact token without checking its signature; nil when it isn't one.
    package static func decode(_ token: some Collection<UInt8>) -> Parts? {
        guard token.count <= 16_384 else { return nil }
        let pieces = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard pieces.count == 3, let header = Base64.decode(pieces[0]), let claims = Base64.decode(pieces[1]),
            let signature = Base64.decode(pieces[2]),
            let headerValue = try? JSONValue.parse(text: String(decoding: header, as: UTF8.self)),
            let claimsValue = try? JSONValue.parse(text: String(decoding: claims, as: UTF8.self))
        else { return nil }
        return Parts(
            header: headerValue, claims: claimsValue, signature: signature,
            signingInput: Array(pieces[0]) + [UInt8(ascii: ".")] + Array(pieces[1]))
    }

    static func signingInput(header: String, claims: String) -> String {
        Base64.encodeURL(Array(header.utf8)) + "." + Base64.encodeURL(Array(claims.utf8))
    }

    private static func quoted(_ text: String) -> String {
        var buffer = ByteBuffer()
        buffer.append(jsonString: text)
        return buffer.text
    }
}
