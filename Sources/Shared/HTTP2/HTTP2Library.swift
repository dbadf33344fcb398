internal import CNghttp2

/// The library that this target wraps.
package enum HTTP2Library {
    /// The version of nghttp2 that the process runs with, such as `1.2.3` (nghttp2_version(3)); empty when it
    /// doesn't say.
    package static var version: String {
        guard let info = unsafe nghttp2_version(0) else { return "" }
        return unsafe String(cString: info.pointee.version_str)
    }
}
