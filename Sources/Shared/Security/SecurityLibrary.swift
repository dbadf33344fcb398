internal import COpenSSL

/// The library that this target wraps.
package enum SecurityLibrary {
    /// The version of OpenSSL that the process runs with, such as `1.2.3` (OpenSSL_version(3)); empty when it
    /// doesn't say.
    package static var version: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION_STRING) else { return "" }
        return unsafe String(cString: text)
    }
}
