extension Settings {
    /// An HTTP proxy that opens tunnels by CONNECT, for networks without a direct way out.
    package struct Proxy: Equatable, Sendable {
        package var host: String
        package var port: Int
        /// A file whose first line is `user:password`; nil without authentication.
        package var credentialsFile: String?

        package init(host: String, port: Int, credentialsFile: String? = nil) {
            self.host = host
            self.port = port
            self.credentialsFile = credentialsFile
        }

        /// The address without credentials, such as `http://proxy:3128`.
        package var url: String { host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)" }

        /// Reads a section; without a `url` the fallback holds, and `url: none` stands for no proxy.
        static func read(_ section: SectionReader, _ fallback: Proxy?) -> Proxy? {
            let found = section.find("url")
            let file = section.file("credentials_file")
            section.finish()
            guard let found, !found.text.isEmpty else {
                guard let file, var inherited = fallback else {
                    if file != nil {
                        section.context.report(
                            .conflict, at: section.place,
                            "\(section.name("credentials_file")) needs \(section.name("url"))")
                    }
                    return fallback
                }
                inherited.credentialsFile = file
                return inherited
            }
            if found.text == "none" { return nil }
            guard let (host, port) = split(found.text) else {
                section.report(
                    .badValue, found, "url",
                    "it must be http://host:port, without user and password (they go into "
                        + "credentials_file), or none")
                return fallback
            }
            return Proxy(host: host, port: port, credentialsFile: file)
        }

        private static func split(_ text: String) -> (host: String, port: Int)? {
            guard text.hasPrefix("http://") else { return nil }
            var rest = text.dropFirst(7)
            if rest.hasSuffix("/") { rest = rest.dropLast() }
            let isClean = rest.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: "/")
            }
            guard isClean, let address = ListenAddress(String(rest)), address.port > 0, !rest.hasPrefix(":")
            else { return nil }
            return (address.host, address.port)
        }

        /// `user:password` from the file; empty without one.
        /// - Throws: when the file can't be read or its line is something else. The content is never named.
        package func credentials() throws(ConfigurationFailure) -> String {
            guard let file = credentialsFile else { return "" }
            let line = try SecretFile.readLine(file)
            let isValid =
                line.utf8.contains(UInt8(ascii: ":")) && line.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            guard isValid else {
                throw ConfigurationFailure([
                    .init(
                        code: .unreadable, place: file,
                        message: "the file must hold one line, user:password")
                ])
            }
            return line
        }
    }
}
