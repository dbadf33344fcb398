internal import EventLoop
internal import Glibc
package import Redis

/// A real Redis Cluster on loopback for one test; it ends with the object.
///
/// Each node is a `PrivateRedisServer` of its own process. Slots are dealt out evenly, and a node that is
/// away leaves the others serving theirs (`cluster-require-full-coverage no`).
package final class RedisClusterServers {
    /// The masters that slots were dealt to, then the further nodes.
    package private(set) var nodes: [RedisServer] = []
    private let masters: Int
    private let settings: (Int) -> [String]
    private let persistence: PrivateRedisServer.Persistence

    /// Starts the nodes and waits until they agree; `settings` gives the further settings of each node.
    package init(
        masters: Int = 3, persistence: PrivateRedisServer.Persistence = .none,
        settings: @escaping (Int) -> [String] = { _ in [] }
    ) throws {
        self.masters = masters
        self.settings = settings
        self.persistence = persistence
        for _ in 0..<masters { _ = try startNode() }
        for (index, node) in nodes.enumerated() {
            let session = try node.session()
            try session.command("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
            let slots = slots(of: index)
            try session.command("CLUSTER", "ADDSLOTSRANGE", "\(slots.lowerBound)", "\(slots.upperBound)")
            if index > 0 { try meet(node) }
        }
        try waitUntilAgreed()
    }

    /// The slots that were dealt to a master.
    package func slots(of master: Int) -> ClosedRange<Int> {
        16_384 * master / masters...16_384 * (master + 1) / masters - 1
    }

    /// Adds an empty node to the cluster and waits until the others know it.
    package func addNode() throws -> RedisServer {
        let node = try startNode()
        try meet(node)
        try waitUntilAgreed()
        return node
    }

    /// Makes a node with slots' copy that takes over when it is gone.
    package func addReplica(of master: RedisServer) throws -> RedisServer {
        let replica = try addNode()
        let identity = try id(of: master)
        try replica.session().command("CLUSTER", "REPLICATE", identity)
        try waitUntil {
            try replica.session().command("INFO", "replication").text ?? ""
        } holds: {
            $0.contains("master_link_status:up")
        }
        return replica
    }

    /// The options of a client that is told of the first node alone.
    package var options: RedisClientOptions {
        var options = RedisClientOptions(endpoint: nodes[0].tcpEndpoint)
        options.clusterSeeds = [nodes[0].tcpEndpoint]
        options.backoffFirstMs = 5
        options.backoffLastMs = 40
        return options
    }

    /// A node's name in the cluster.
    package func id(of node: RedisServer) throws -> String {
        try node.session().command("CLUSTER", "MYID").text ?? ""
    }

    /// The name of a node, which may hang, as another one knows it.
    package func id(of node: RedisServer, askedOf other: RedisServer) throws -> String {
        let lines = try other.session().command("CLUSTER", "NODES").text?.split(separator: "\n") ?? []
        let line = lines.first { $0.contains("127.0.0.1:\(node.port)@") }
        return line?.split(separator: " ").first.map { String($0) } ?? ""
    }

    /// Waits until all nodes that run say that all is well and know each other.
    package func waitUntilAgreed() throws {
        let running = nodes.filter { $0.processID != nil }
        for node in running {
            let session = try node.session()
            try waitUntil {
                try session.command("CLUSTER", "INFO").text ?? ""
            } holds: {
                $0.contains("cluster_state:ok") && $0.contains("cluster_slots_assigned:16384")
                    && $0.contains("cluster_known_nodes:\(self.nodes.count)")
            }
        }
    }

    /// Whether every node says that `owner` has the slot. Two moves of a slot that some node hasn't heard of
    /// yet may get the same epoch, and then the nodes settle it as they like.
    package func agree(thatSlot slot: Int, isOf owner: RedisServer) throws -> Bool {
        try nodes.allSatisfy { node in
            try node.session().command("CLUSTER", "SLOTS").array.contains { entry in
                let range = entry.array
                guard range.count > 2, let first = range[0].integer, let last = range[1].integer else {
                    return false
                }
                return first <= Int64(slot) && Int64(slot) <= last
                    && range[2].array.dropFirst().first?.integer == Int64(owner.port)
            }
        }
    }

    private func waitUntil(_ ask: () throws -> String, holds: (String) -> Bool) throws {
        let deadline = Clock.monotonicMs + 60_000
        while true {
            let text = try ask()
            if holds(text) { return }
            guard Clock.monotonicMs < deadline else {
                throw RedisFailure(.timedOut, "the cluster's nodes don't agree: \(text)")
            }
            usleep(20_000)
        }
    }

    private func meet(_ node: RedisServer) throws {
        try node.session().command(
            "CLUSTER", "MEET", "127.0.0.1", "\(nodes[0].port)", "\(busPorts[0])")
    }

    private var busPorts: [UInt16] = []

    private func startNode() throws -> RedisServer {
        // The bus port is free when it is chosen; if somebody takes it first, another is tried.
        for _ in 0..<4 {
            let bus = try Socket.freePort()
            let own = [
                "--cluster-enabled", "yes", "--cluster-port", "\(bus)", "--cluster-node-timeout", "2000",
                "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0",
            ]
            guard
                let node = try? RedisServer(
                    persistence: persistence, settings: own + settings(nodes.count))
            else { continue }
            nodes.append(node)
            busPorts.append(bus)
            return node
        }
        throw RedisFailure(.unavailable, "no cluster node starts")
    }
}

/// The stages of a slot's way from one node to another.
package struct SlotMove {
    private let slot: Int
    private let source: RedisSession
    private let target: RedisSession
    private let targetPort: UInt16
    private let sourceID: String
    private let targetID: String

    /// Begins to move a slot: keys that the source doesn't have are asked of the target from now on.
    package init(_ slot: Int, from source: RedisServer, to target: RedisServer) throws {
        self.slot = slot
        self.source = try source.session()
        self.target = try target.session()
        targetPort = target.port
        sourceID = try self.source.command("CLUSTER", "MYID").text ?? ""
        targetID = try self.target.command("CLUSTER", "MYID").text ?? ""
        try self.target.command("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", sourceID)
        try self.source.command("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", targetID)
    }

    /// Moves one key; false when there is none left.
    package func moveOneKey() throws -> Bool {
        guard let key = try source.command("CLUSTER", "GETKEYSINSLOT", "\(slot)", "1").array.first?.text
        else {
            return false
        }
        try source.command("MIGRATE", "127.0.0.1", "\(targetPort)", key, "0", "5000")
        return true
    }

    /// Gives the slot to the target.
    package func finish() throws {
        while try moveOneKey() {}
        try target.command("CLUSTER", "SETSLOT", "\(slot)", "NODE", targetID)
        try source.command("CLUSTER", "SETSLOT", "\(slot)", "NODE", targetID)
    }
}
