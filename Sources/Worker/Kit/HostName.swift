internal import Glibc

/// This process's name among its neighbours.
enum HostName {
    /// The host's name and the process id, such as `worker-6f7c/17`.
    static var current: String {
        var text = [CChar](repeating: 0, count: 256)
        let result = unsafe text.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe gethostname(start, buffer.count - 1)
        }
        let name =
            result == 0
            ? String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            : "localhost"
        return "\(name)/\(getpid())"
    }
}
