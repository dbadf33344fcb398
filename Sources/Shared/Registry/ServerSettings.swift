package import Redis

/// Checks how a Redis server is set up, at start and in `peal check`.
package enum ServerSettings {
    /// What should be changed, one sentence each with the command that does it; empty when all is well.
    ///
    /// A managed Redis that forbids CONFIG can't be asked, which is one of the sentences.
    /// The nodes of a cluster are asked one by one; one that is away is passed over.
    /// - Throws: when the server, or every node of a cluster, can't be reached.
    package static func complaints(_ session: RedisSession) throws(RedisFailure) -> [String] {
        let nodes = try session.nodes()
        if nodes.isEmpty { return try complaintsOfServer(session) }
        var found: [String] = []
        for node in nodes {
            do throws(RedisFailure) {
                let own = try RedisSession(options: node)
                defer { own.close() }
                let complaints = try complaintsOfServer(own) + complaintsOfNode(own)
                found += complaints.map { "\(node.endpoint): \($0)" }
            } catch {
                continue
            }
        }
        return found
    }

    private static func complaintsOfNode(_ session: RedisSession) throws(RedisFailure) -> [String] {
        // Who may not ask has been told so already.
        guard (try? setting("cluster-require-full-coverage", session)) == "yes" else { return [] }
        return [
            "the loss of one node stops the whole Redis Cluster: CONFIG SET cluster-require-full-coverage no"
        ]
    }

    private static func complaintsOfServer(_ session: RedisSession) throws(RedisFailure) -> [String] {
        var found: [String] = []
        do throws(RedisFailure) {
            let policy = try setting("maxmemory-policy", session)
            if policy != "noeviction" {
                found.append(
                    "Redis may evict keys (maxmemory-policy \(policy)), which loses devices and badges: "
                        + "CONFIG SET maxmemory-policy noeviction")
            }
            for (name, least, best) in [
                ("hash-max-listpack-value", 512, 4096), ("hash-max-listpack-entries", 128, 512),
            ] {
                let value = Int(try setting(name, session)) ?? 0
                if value < least {
                    found.append(
                        "Redis stores device records wastefully (\(name) \(value)): "
                            + "CONFIG SET \(name) \(best)")
                }
            }
        } catch {
            guard error.code == .notPermitted || error.code == .refused else { throw error }
            found.append(
                "Redis doesn't tell its settings (\(error.message)): make sure of maxmemory-policy "
                    + "noeviction and hash-max-listpack-value 4096")
        }
        return found
    }

    private static func setting(_ name: String, _ session: RedisSession) throws(RedisFailure) -> String {
        try session.command("CONFIG", "GET", name).array.last?.text ?? ""
    }
}
