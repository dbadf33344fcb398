/// Where a Redis server is and how to log in.
package struct RedisEndpoint: Sendable, Equatable, CustomStringConvertible {
    /// A socket address.
    package enum Address: Sendable, Equatable {
        /// A name or a numeric address, and a port.
        case tcp(host: String, port: UInt16)
        /// A Unix domain socket.
        case unix(path: String)
    }

    /// The socket address.
    package var address: Address
    /// The ACL user; nil logs in as `default`.
    package var user: String?
    /// The password; nil doesn't log in.
    package var password: String?
    /// The database to select.
    package var database: Int
    /// Whether to speak TLS (`rediss://`).
    package var isEncrypted: Bool

    /// Makes an endpoint.
    package init(
        address: Address, user: String? = nil, password: String? = nil, database: Int = 0,
        isEncrypted: Bool = false
    ) {
        self.address = address
        self.user = user
        self.password = password
        self.database = database
        self.isEncrypted = isEncrypted
    }

    /// Reads `redis://[[user]:password@]host[:port][/database]`, `rediss://...` or
    /// `unix:///path[?db=number]`; `unix:/path` means the same.
    /// - Throws: `.refused` with the part that is wrong; never with the password.
    package init(url: String) throws(RedisFailure) {
        if let rest = url.dropPrefix("unix://") ?? url.dropPrefix("unix:") {
            self = try Self.unix(rest)
        } else if let rest = url.dropPrefix("redis://") {
            self = try Self.tcp(rest, isEncrypted: false)
        } else if let rest = url.dropPrefix("rediss://") {
            self = try Self.tcp(rest, isEncrypted: true)
        } else {
            throw RedisFailure(.refused, "a Redis URL begins with redis://, rediss:// or unix://")
        }
    }

    /// Reads a URL that may name several nodes of a cluster:
    /// `redis://[[user]:password@]host[:port],host[:port]`, also with `rediss://`. A Unix socket or a single
    /// host gives one endpoint.
    /// - Throws: `.refused` with the part that is wrong; never with the password.
    package static func list(url: String) throws(RedisFailure) -> [Self] {
        guard let scheme = ["redis://", "rediss://"].first(where: { url.hasPrefix($0) }),
            let rest = url.dropPrefix(scheme)
        else { return [try Self(url: url)] }
        let hostsStart = rest.lastIndex(of: "@").map { rest.index(after: $0) } ?? rest.startIndex
        let hosts = rest[hostsStart...].prefix { $0 != "/" }
        let database = rest[hosts.endIndex...]
        var found: [Self] = []
        for host in hosts.split(separator: ",", omittingEmptySubsequences: false) {
            found.append(try Self(url: "\(scheme)\(rest[..<hostsStart])\(host)\(database)"))
        }
        return found
    }

    private static func unix(_ rest: Substring) throws(RedisFailure) -> Self {
        let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, path.hasPrefix("/"), path.utf8.count < 108 else {
            throw RedisFailure(.refused, "a unix:// Redis URL needs an absolute path of at most 107 bytes")
        }
        var database = 0
        if parts.count == 2 {
            guard let text = String(parts[1]).dropPrefix("db="), let number = Int(text), number >= 0 else {
                throw RedisFailure(.refused, "a unix:// Redis URL may end in ?db=<number>, nothing else")
            }
            database = number
        }
        return Self(address: .unix(path: String(path)), database: database)
    }

    private static func tcp(_ rest: Substring, isEncrypted: Bool) throws(RedisFailure) -> Self {
        var rest = rest
        var user: String?
        var password: String?
        if let at = rest.lastIndex(of: "@") {
            let login = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard login.count == 2 else {
                throw RedisFailure(
                    .refused, "the login of a Redis URL is written user:password@ or :password@")
            }
            user = login[0].isEmpty ? nil : String(login[0])
            password = percentDecoded(login[1])
            rest = rest[rest.index(after: at)...]
        }
        var database = 0
        if let slash = rest.firstIndex(of: "/") {
            let text = rest[rest.index(after: slash)...]
            guard text.isEmpty || Int(text).map({ $0 >= 0 }) == true else {
                throw RedisFailure(.refused, "the database of a Redis URL is a number, not \(text)")
            }
            database = Int(text) ?? 0
            rest = rest[..<slash]
        }
        var port: UInt16 = 6379
        var host = rest
        let closing = rest.lastIndex(of: "]") ?? rest.startIndex
        if let colon = rest[closing...].lastIndex(of: ":") {
            guard let number = UInt16(rest[rest.index(after: colon)...]), number > 0 else {
                throw RedisFailure(.refused, "the port of a Redis URL is a number from 1 to 65535")
            }
            port = number
            host = rest[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw RedisFailure(.refused, "a Redis URL needs a host") }
        return Self(
            address: .tcp(host: String(host), port: port), user: user, password: password, database: database,
            isEncrypted: isEncrypted)
    }

    private static func percentDecoded(_ text: Substring) -> String {
        var out: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                out.append(value)
                rest = rest.dropFirst(2)
            } else {
                out.append(byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The address without the login, for logs.
    package var description: String {
        switch address {
        case .tcp(let host, let port): "\(host):\(port)"
        case .unix(let path): path
        }
    }
}

extension String {
    fileprivate func dropPrefix(_ prefix: String) -> Substring? {
        hasPrefix(prefix) ? self[utf8.index(startIndex, offsetBy: prefix.utf8.count)...] : nil
    }
}
