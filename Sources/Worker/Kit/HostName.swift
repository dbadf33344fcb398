internal import Glibc

/// This process's name among its neighbours.
enum HostName {
    /// The host's name and the process id, such as `worker-6f7c/17`.
    static var current: String { "\(host)/\(getpid())" }

    /// The host's name, such as `worker-6f7c`; a pod keeps it over a restart of its container.
    static var host: String {
        var text = [CChar](repeating: 0, count: 256)
        let result = unsafe text.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe gethostname(start, buffer.count - 1)
        }
        return result == 0
            ? String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            : "localhost"
    }
}
