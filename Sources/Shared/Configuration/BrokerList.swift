/// Kafka's bootstrap servers as people write them: `host:port,host:port`.
package enum BrokerList {
    /// What is wrong with the list, as the end of a sentence; nil when nothing is.
    ///
    /// librdkafka only logs an entry that it can't read, and then waits for brokers that never come.
    package static func fault(_ text: String) -> String? {
        let entries = text.split { $0 == "," || $0 == " " }
        guard !entries.isEmpty else { return "names no broker; write host:port" }
        for entry in entries {
            guard isUsable(entry) else {
                return "has \"\(entry)\"; write host:port with a port from 1 to 65535"
            }
        }
        return nil
    }

    private static func isUsable(_ entry: Substring) -> Bool {
        var rest = entry
        // librdkafka takes `SSL://host:port` too.
        if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...] }
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]"), rest.index(after: rest.startIndex) < end else {
                return false
            }
            let port = rest[rest.index(after: end)...]
            return port.isEmpty || port.first == ":" && isPort(port.dropFirst())
        }
        guard let colon = rest.firstIndex(of: ":") else { return !rest.isEmpty }
        return colon > rest.startIndex && isPort(rest[rest.index(after: colon)...])
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && (1...65_535).contains(Int(text) ?? 0)
    }
}
