import Glibc

/// Reads a secret from a file, so that it stands neither in the configuration nor in the environment.
package enum SecretFile {
    /// The largest secret, in bytes: a service account is about 3 KiB.
    package static let bytesMax = 256 << 10

    /// The file's bytes. Fails with a sentence that names the path and never the content.
    package static func read(_ path: String) throws(ConfigurationFailure) -> [UInt8] {
        switch FileBytes.read(path, max: bytesMax) {
        case .success(let bytes) where bytes.isEmpty:
            throw ConfigurationFailure([.init(code: .unreadable, place: path, message: "the file is empty")])
        case .success(let bytes): return bytes
        case .failure(let problem):
            throw ConfigurationFailure([.init(code: .unreadable, place: path, message: problem.message)])
        }
    }

    /// A password or key of one line, without the line end that editors add.
    package static func readLine(_ path: String) throws(ConfigurationFailure) -> String {
        var bytes = try read(path)
        while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationFailure([
                .init(code: .unreadable, place: path, message: "the file holds no text")
            ])
        }
        return text
    }
}

/// Reads whole files with a bound.
enum FileBytes {
    struct Problem: Error { let message: String }

    static func read(_ path: String, max bytesMax: Int) -> Result<[UInt8], Problem> {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .failure(Problem(message: reason(errno, path))) }
        defer { _ = close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes {
                unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0 {
                if errno == EINTR { continue }
                return .failure(Problem(message: reason(errno, path)))
            }
            if count == 0 { return .success(bytes) }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= bytesMax else {
                return .failure(
                    Problem(message: "the file is larger than \(bytesMax) bytes; is it the right one?"))
            }
        }
    }

    private static func reason(_ code: Int32, _ path: String) -> String {
        switch code {
        case ENOENT: "there is no such file"
        case EACCES: "no permission to read it; let the process's user read it"
        case EISDIR: "it is a directory, not a file"
        default: "it can't be read: \(unsafe String(cString: strerror(code)))"
        }
    }
}
