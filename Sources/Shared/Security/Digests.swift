internal import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The 32-byte digest.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        _ = unsafe EVP_Digest(bytes.baseAddress, bytes.count, &out, nil, EVP_sha256(), nil)
        return out
    }

    /// The 32-byte digest of the text's UTF-8.
    package static func hash(text: String) -> [UInt8] {
        unsafe Array(text.utf8).withUnsafeBytes { unsafe hash($0) }
    }
}

/// SHA-1, for Redis script names only.
package enum SHA1 {
    /// The 20-byte digest of the text's UTF-8.
    package static func hash(text: String) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 20)
        let bytes = Array(text.utf8)
        _ = unsafe EVP_Digest(bytes, bytes.count, &out, nil, EVP_sha1(), nil)
        return out
    }
}
