/// Whether a link may be sent to a client: an absolute path, or https to a host that the app has listed.
///
/// A pure value. What comes after the host is the client's business; what may lead elsewhere is refused:
/// other schemes, `//host`, users, ports, backslashes, blanks and control characters.
package struct LinkRule: Sendable, Equatable {
    /// The longest link, in bytes.
    package static let bytesMax = 2048

    /// Host names in lower case.
    package let hosts: [String]

    /// Makes a rule.
    package init(hosts: [String]) { self.hosts = hosts }

    /// What is wrong with the link, as a sentence; nil when it may be sent.
    package func fault(in link: String) -> String? {
        guard !link.isEmpty, link.utf8.count <= Self.bytesMax else {
            return "The link must have 1 to \(Self.bytesMax) bytes."
        }
        guard link.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            return "The link must be printable ASCII without blanks and backslashes; percent-encode the rest."
        }
        if link.hasPrefix("/") {
            return link.hasPrefix("//")
                ? "The link begins with //, which leads to another host; write one slash." : nil
        }
        guard link.lowercased().hasPrefix("https://") else {
            return "The link must be an absolute path (/brands/1) or begin with https://."
        }
        let host = link.dropFirst("https://".count).prefix { !"/?#".contains($0) }.lowercased()
        guard hosts.contains(host) else {
            return "The link's host is none of the app's link_hosts; users and ports are not allowed."
        }
        return nil
    }
}
