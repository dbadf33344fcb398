internal import CLinux
internal import Glibc

/// Whole files, read and written with plain system calls.
package enum Files {
    /// The file's bytes; more than `maxBytes` is an error.
    package static func read(path: String, maxBytes: Int = 16 << 20) throws(SystemFailure) -> [UInt8] {
        let descriptor = unsafe path.withCString { unsafe open($0, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw SystemFailure(errno: errno, doing: "read \(path)") }
        defer { close(descriptor) }
        var out: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes {
                unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                throw SystemFailure(errno: code, doing: "read \(path)")
            }
            if count == 0 { return out }
            guard out.count + count <= maxBytes else {
                throw SystemFailure(errno: EFBIG, doing: "read \(path) (more than \(maxBytes) bytes)")
            }
            out.append(contentsOf: chunk[..<count])
        }
    }

    /// The file's text; invalid UTF-8 is repaired.
    package static func readText(path: String, maxBytes: Int = 16 << 20) throws(SystemFailure) -> String {
        String(decoding: try read(path: path, maxBytes: maxBytes), as: UTF8.self)
    }

    /// Creates or replaces the file. `mode` holds the permission bits of a new file; 0o600 suits secrets.
    package static func write(path: String, bytes: [UInt8], mode: UInt32 = 0o644) throws(SystemFailure) {
        let descriptor = unsafe path.withCString {
            unsafe open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode_t(mode))
        }
        guard descriptor >= 0 else { throw SystemFailure(errno: errno, doing: "write \(path)") }
        defer { close(descriptor) }
        var at = 0
        while at < bytes.count {
            let count = unsafe bytes[at...].withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                throw SystemFailure(errno: code, doing: "write \(path)")
            }
            at += count
        }
    }

    /// Creates or replaces the file with text.
    package static func write(path: String, text: String, mode: UInt32 = 0o644) throws(SystemFailure) {
        try write(path: path, bytes: Array(text.utf8), mode: mode)
    }

    /// Whether something is at the path.
    package static func exists(_ path: String) -> Bool {
        unsafe path.withCString { unsafe access($0, F_OK) } == 0
    }

    /// Makes a fresh directory below the system's temporary folder, readable by its owner alone.
    package static func makeTemporaryDirectory(prefix: String) throws(SystemFailure) -> String {
        let base = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/\(prefix).XXXXXX".utf8CString)
        let made = unsafe template.withUnsafeMutableBufferPointer { text in
            guard let start = text.baseAddress else { return false }
            return unsafe mkdtemp(start) != nil
        }
        guard made else { throw SystemFailure(errno: errno, doing: "make a directory below \(base)") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes a directory and everything below it, as far as it can.
    package static func removeTree(_ path: String) {
        _ = unsafe path.withCString { unsafe peal_remove_tree($0) }
    }
}
