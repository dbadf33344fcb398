import CMicrohttpd
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

    /// The numeric text of an address; an IPv4 one that came over an IPv6 socket is written as IPv4. Empty
    /// when it is neither.
    static func text(of address: UnsafePointer<sockaddr>) -> String {
        var room = [CChar](repeating: 0, count: 64)
        let raw = unsafe UnsafeRawPointer(address)
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            var four = unsafe raw.loadUnaligned(as: sockaddr_in.self).sin_addr
            unsafe inet_ntop(AF_INET, &four, &room, 64)
        case AF_INET6:
            var six = unsafe raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            unsafe inet_ntop(AF_INET6, &six, &room, 64)
        default: return ""
        }
        let text = String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let mapped = "::ffff:"
        return text.hasPrefix(mapped) && text.contains(".") ? String(text.dropFirst(mapped.count)) : text
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
