internal import Core
internal import EventLoop
internal import Security

/// One API key as the keys file holds it: what it may do, and the digest that tells it, never the key itself.
package struct APIKey: Sendable, Equatable {
    /// What it is called in logs, metrics and Redis keys; unique in the file.
    package let name: String
    /// SHA-256 of the key's text.
    package let digest: [UInt8]
    /// The apps that it may be used for; nil for all.
    package let apps: Set<String>?
    /// What it may be used for.
    package let scopes: Set<Scope>

    package init(name: String, digest: [UInt8], apps: Set<String>?, scopes: Set<Scope>) {
        self.name = name
        self.digest = digest
        self.apps = apps
        self.scopes = scopes
    }

    /// Whether it may be used for the app; an empty app stands for none in particular.
    package func allows(app: String) -> Bool { app.isEmpty || apps?.contains(app) ?? true }

    /// Whether it has the scope; `admin` includes `read`.
    package func allows(_ scope: Scope) -> Bool {
        scopes.contains(scope) || scope == .read && scopes.contains(.admin)
    }

    /// The line for the keys file.
    package var line: String {
        let apps = self.apps.map { $0.sorted().joined(separator: ",") } ?? "*"
        let scopes = Scope.allCases.filter { self.scopes.contains($0) }.map(\.rawValue)
        return "\(name):\(Hex.encode(digest)):\(apps):\(scopes.joined(separator: ","))"
    }

    /// The digest of a key's text.
    package static func digest(of text: String) -> [UInt8] { SHA256.hash(text: text) }

    /// A key that nobody can guess: 256 random bits.
    package static func makeText() -> String { "peal_" + Base64.encodeURL(RandomSource.bytes(32)) }

    /// Whether the text can be a name of a key or an app: 1 to 64 letters, digits, dots, underscores or
    /// hyphens.
    package static func isName(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

/// The keys of a file, to be asked by a key's text.
package struct KeyTable: Sendable {
    /// The most keys that a file may hold.
    package static let keysMax = 10_000
    /// The longest text that is looked at as a key, in bytes.
    package static let textMax = 512

    /// What is wrong with a file: never holds anything of its content.
    package struct Fault: Error, Equatable, CustomStringConvertible {
        /// From 1; 0 for the whole file.
        package let line: Int
        package let sentence: String
        package var description: String { line > 0 ? "line \(line): \(sentence)" : sentence }
    }

    private let keys: [APIKey]
    // By the first bytes of the digest, which say nothing about the key.
    private let places: [UInt64: [Int]]

    /// A table of keys; of two with the same name the first counts.
    package init(_ keys: [APIKey] = []) {
        self.keys = keys
        var places: [UInt64: [Int]] = [:]
        for (index, key) in keys.enumerated() { places[Self.prefix(key.digest), default: []].append(index) }
        self.places = places
    }

    /// Reads a keys file: `name:sha256:apps:scopes` a line; empty lines and those that begin with `#` are
    /// left out.
    package init(parsing text: String) throws(Fault) {
        var keys: [APIKey] = []
        var names: Set<String> = []
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        for (index, line) in lines.enumerated() {
            let content = Self.trimmed(line)
            if content.isEmpty || content.first == "#" { continue }
            let key = try Self.key(content, line: index + 1)
            guard names.insert(key.name).inserted else {
                throw Fault(line: index + 1, sentence: "the name \(key.name) stands twice")
            }
            keys.append(key)
            guard keys.count <= Self.keysMax else {
                throw Fault(line: 0, sentence: "the file holds more than \(Self.keysMax) keys")
            }
        }
        self.init(keys)
    }

    private static func trimmed(_ line: Substring) -> Substring {
        var line = line.drop { $0 == " " || $0 == "\t" }
        while let last = line.last, last == " " || last == "\t" { line.removeLast() }
        return line
    }

    private static func key(_ text: Substring, line: Int) throws(Fault) -> APIKey {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 4 else {
            throw Fault(line: line, sentence: "write name:sha256:apps:scopes, as peal-producer key new does")
        }
        guard APIKey.isName(parts[0]) else {
            throw Fault(
                line: line, sentence: "the name needs 1 to 64 letters, digits, dots, underscores, hyphens")
        }
        guard let digest = Hex.decode(parts[1].utf8), digest.count == 32 else {
            throw Fault(
                line: line, sentence: "the second part is the key's SHA-256 in 64 hexadecimal digits")
        }
        var apps: Set<String>?
        if parts[2] != "*" {
            let names = parts[2].split(separator: ",", omittingEmptySubsequences: false)
            guard names.allSatisfy({ APIKey.isName($0) }) else {
                throw Fault(line: line, sentence: "the third part is * or names of apps with commas")
            }
            apps = Set(names.map(String.init))
        }
        var scopes: Set<Scope> = []
        for name in parts[3].split(separator: ",", omittingEmptySubsequences: false) {
            guard let scope = Scope(rawValue: String(name)) else {
                let known = Scope.allCases.map(\.rawValue).joined(separator: ", ")
                throw Fault(line: line, sentence: "the fourth part is one or more of \(known)")
            }
            scopes.insert(scope)
        }
        return APIKey(name: String(parts[0]), digest: digest, apps: apps, scopes: scopes)
    }

    /// Every key, in the file's order.
    package var all: [APIKey] { keys }

    /// How many keys there are.
    package var count: Int { keys.count }

    /// The key whose text this is; nil when there is none. Digests are compared in constant time.
    package func key(text: String) -> APIKey? {
        guard text.utf8.count <= Self.textMax else { return nil }
        let digest = APIKey.digest(of: text)
        var found: APIKey?
        for index in places[Self.prefix(digest)] ?? [] where Self.isSame(keys[index].digest, digest) {
            found = keys[index]
        }
        return found
    }

    /// The key of this name.
    package func key(named name: String) -> APIKey? { keys.first { $0.name == name } }

    private static func prefix(_ digest: [UInt8]) -> UInt64 {
        digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func isSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for index in a.indices { difference |= a[index] ^ b[index] }
        return difference == 0
    }
}
