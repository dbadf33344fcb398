import Glibc

/// A numeric IPv4 or IPv6 address and port in the form the kernel takes.
struct SocketAddress {
    private enum Form { case ipv4(sockaddr_in), ipv6(sockaddr_in6) }
    private var form: Form

    /// Reads numeric text; nil when it is neither form.
    init?(host: String, port: UInt16) {
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = port.bigEndian
        var six = sockaddr_in6()
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = port.bigEndian
        if unsafe inet_pton(AF_INET, host, &four.sin_addr) == 1 {
            form = .ipv4(four)
        } else if unsafe inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
            form = .ipv6(six)
        } else {
            return nil
        }
    }

    /// Lends the address and whether it is IPv6.
    func withPointer<R>(_ body: (UnsafePointer<sockaddr>, Bool) -> R) -> R {
        switch form {
        case .ipv4(var value):
            unsafe withUnsafePointer(to: &value) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, false) }
            }
        case .ipv6(var value):
            unsafe withUnsafePointer(to: &value) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, true) }
            }
        }
    }
}
