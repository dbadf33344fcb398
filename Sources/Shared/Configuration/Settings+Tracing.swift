extension Settings {
    /// Where spans are exported to (OTLP over HTTP); nothing is traced without an endpoint.
    package struct OTLP: Equatable, Sendable {
        /// An address that ends in `/v1/traces`; nil for no tracing.
        package var endpoint: String?
        /// A file with headers, one `Name: value` a line; nil for none.
        package var headersFile: String?
        /// The receiver's authorities; nil for the system's.
        package var caFile: String?
        /// Which share of the jobs is traced whose sender didn't decide, 0...1.
        package var sampleRatio = 0.01
        /// `service.name` is this, a dash and the service.
        package var serviceName = "peal"
        /// The deadline of one request, in ms.
        package var timeoutMs: Int64 = 10_000
        /// Spans that wait at most.
        package var queueMax = 8_192

        package init() {}

        init(_ section: SectionReader) {
            if let found = section.find("endpoint"), !found.text.isEmpty {
                endpoint = Self.address(found.text)
                if endpoint == nil {
                    section.report(
                        .badValue, found, "endpoint",
                        "it must be http://host:port or https://host:port, without user and password (they "
                            + "go into headers_file)")
                }
            }
            headersFile = section.file("headers_file")
            caFile = section.file("ca_file")
            sampleRatio = section.number("sample_ratio", sampleRatio, in: 0...1)
            serviceName = section.text("service_name", serviceName)
            timeoutMs = section.duration("timeout", timeoutMs, in: 100...60_000)
            queueMax = section.integer("queue_max", queueMax, in: 512...1_000_000)
            section.finish()
        }

        /// The address with OTLP's path behind it; nil when it is none.
        static func address(_ text: String) -> String? {
            guard text.hasPrefix("http://") || text.hasPrefix("https://") else { return nil }
            let rest = text.drop { $0 != "/" }.dropFirst(2)
            let isClean = rest.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: "#")
                    && $0 != UInt8(ascii: "?")
            }
            guard isClean, let first = rest.first, first != "/", first != ":" else { return nil }
            var address = text
            while address.hasSuffix("/") { address.removeLast() }
            return address.hasSuffix("/v1/traces") ? address : address + "/v1/traces"
        }

        /// The headers that the file holds.
        /// - Throws: when it can't be read, or a line is no header. The content is never named.
        package func headers() throws(ConfigurationFailure) -> [(name: String, value: String)] {
            guard let file = headersFile else { return [] }
            let text = String(decoding: try SecretFile.read(file), as: UTF8.self)
            var headers: [(name: String, value: String)] = []
            for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                let clean = SectionReader.trimmed(String(line))
                if clean.isEmpty { continue }
                let parts = clean.split(separator: ":", maxSplits: 1).map {
                    SectionReader.trimmed(String($0))
                }
                guard parts.count == 2, Self.isName(parts[0]),
                    parts[1].utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
                else {
                    throw ConfigurationFailure([
                        .init(
                            code: .unreadable, place: "\(file):\(number + 1)",
                            message: "the line is no header; write it as Name: value")
                    ])
                }
                headers.append((name: parts[0], value: parts[1]))
            }
            return headers
        }

        private static func isName(_ text: String) -> Bool {
            !text.isEmpty
                && text.utf8.allSatisfy { byte in
                    byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                        || (byte < 0x80
                            && (Character(Unicode.Scalar(byte)).isLetter
                                || Character(Unicode.Scalar(byte)).isNumber))
                }
        }
    }
}
