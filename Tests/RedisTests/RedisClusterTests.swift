import Core
import EventLoop
import Testing

@testable import Redis
@testable import TestSupport

@Suite struct RedisClusterTests {
    /// A key of each slot's first key among `key0`, `key1`, ... that lies on the master.
    private func key(on master: Int, of cluster: RedisClusterServers, number: Int = 0) -> String {
        var left = number
        for candidate in 0... {
            let key = "key\(candidate)"
            let slot = Array(key.utf8).withUnsafeBytes { Int(KeySlot.of($0)) }
            guard cluster.slots(of: master).contains(slot) else { continue }
            if left == 0 { return key }
            left -= 1
        }
        return ""
    }

    private func slot(of key: String) -> Int { Array(key.utf8).withUnsafeBytes { Int(KeySlot.of($0)) } }

    private func readyRig(_ cluster: RedisClusterServers) throws -> ClientRig {
        let rig = try ClientRig(cluster.options)
        rig.ready()
        return rig
    }

    @Test func findsEveryNodeAndSpreadsTheCommandsByTheirSlots() throws {
        let cluster = try RedisClusterServers()
        let rig = try readyRig(cluster)
        for value in 0..<3_000 { #expect(rig.issue("SET", "k:{\(value)}", "\(value)") == nil) }
        rig.answers(3_000)
        #expect(rig.recorder.answers.allSatisfy { $0.code == nil })
        #expect(rig.client.statistics.moved == 0)
        let sizes = try cluster.nodes.map { try $0.session().command("DBSIZE").integer ?? 0 }
        #expect(sizes.allSatisfy { $0 > 500 })
        #expect(sizes.reduce(0, +) == 3_000)
        #expect(rig.client.inFlight == 0)
        #expect(rig.client.bufferedBytes == 0)
        #expect(rig.client.trouble == nil)
    }

    @Test func aSessionWaitsForTheClusterAndKeepsTheOrderOfAPipeline() throws {
        let cluster = try RedisClusterServers()
        var options = cluster.options
        let nowhere = RedisEndpoint(address: .tcp(host: "127.0.0.1", port: 1))
        options.clusterSeeds = [nowhere, nowhere, cluster.nodes[2].tcpEndpoint]
        let session = try RedisSession(options: options)
        try session.command("SET", "a", "1")
        #expect(try session.command("GET", "a").text == "1")
        #expect(try session.command("PING").text == "PONG")
        let replies = try session.pipeline((0..<500).map { ["INCRBY", "n\($0)", "\($0)"] })
        #expect(replies.compactMap(\.integer) == (0..<500).map { Int64($0) })
    }

    /// The heart of it: a slot goes round the cluster key by key while commands on it are in flight.
    @Test func aSlotThatMovesUnderTrafficLosesAndReordersNothing() throws {
        let cluster = try RedisClusterServers()
        var options = cluster.options
        // Nodes that nobody told of the move hear of it by gossip, which takes a second or more.
        options.timeoutMs = 20_000
        let rig = try ClientRig(options)
        rig.ready()
        let home = slot(of: "{tag}")
        let first = try #require((0..<3).first { cluster.slots(of: $0).contains(home) })
        let keys = (0..<8).map { "list:{tag}:\($0)" }
        var issued = 0
        func traffic() {
            for _ in 0..<12 {
                let key = keys[issued % keys.count]
                #expect(rig.issue("RPUSH", key, "\(issued)", value: UInt64(issued)) == nil)
                issued += 1
            }
            rig.loop.runOnce(maxWaitMs: 0)
        }
        for _ in 0..<20 { traffic() }
        for hop in 0..<6 {
            let source = cluster.nodes[(first + hop) % 3]
            let target = cluster.nodes[(first + hop + 1) % 3]
            let move = try SlotMove(home, from: source, to: target)
            repeat { traffic() } while try move.moveOneKey()
            for _ in 0..<5 { traffic() }
            try move.finish()
            for _ in 0..<5 { traffic() }
            #expect(
                rig.loop.runUntil(withinMs: 60_000) {
                    (try? cluster.agree(thatSlot: home, isOf: target)) == true
                })
        }
        rig.answers(issued)
        #expect(rig.recorder.answers.allSatisfy { $0.code == nil })
        #expect(rig.client.statistics.moved > 0)
        #expect(rig.client.statistics.asked > 0)
        let session = try RedisSession(options: options)
        for (index, key) in keys.enumerated() {
            let found = try session.command("LRANGE", key, "0", "-1").array.compactMap(\.integer)
            #expect(found == stride(from: index, to: issued, by: keys.count).map { Int64($0) })
        }
        // The replies on one key came in the order of its commands, too.
        for index in keys.indices {
            let tags = rig.recorder.answers.map(\.tag.value).filter { Int($0) % keys.count == index }
            #expect(tags == tags.sorted())
        }
        #expect(rig.client.bufferedBytes == 0)
    }

    /// Another node says that it has the slot while the former owner, which hangs, still owes answers: what
    /// is issued now must not be executed before what was issued then.
    @Test func whatIsInFlightAtAFormerOwnerHoldsLaterCommandsBack() throws {
        let servers = try RedisClusterServers()
        let loop = try EventLoop()
        let recorder = RedisRecorder()
        var options = servers.options
        options.timeoutMs = 60_000
        let cluster = RedisCluster(loop: loop, options: options, handler: recorder)
        cluster.start()
        defer { cluster.close() }
        let moved = key(on: 0, of: servers)
        func issue(_ value: UInt64) -> RedisFailure.Code? {
            cluster.issue(RedisTag(kind: 0, value: value)) { $0.append(["RPUSH", moved, "\(value)"]) }
        }
        #expect(loop.runUntil { issue(0) == nil })
        #expect(loop.runUntil { recorder.answers.count == 1 })
        servers.nodes[0].suspend()
        for value in 1...5 { #expect(issue(UInt64(value)) == nil) }
        let owner = try servers.nodes[1].session()
        let identity = try owner.command("CLUSTER", "MYID").text ?? ""
        let former = try servers.id(of: servers.nodes[0], askedOf: servers.nodes[1])
        let slot = "\(slot(of: moved))"
        try owner.command("CLUSTER", "SETSLOT", slot, "IMPORTING", former)
        try owner.command("CLUSTER", "SETSLOT", slot, "NODE", identity)
        let port = servers.nodes[1].port
        cluster.nextNode = try #require(cluster.nodes.firstIndex { $0?.address.port == port })
        cluster.wantsMap = true
        let maps = cluster.statistics.slotMaps
        #expect(loop.runUntil { cluster.statistics.slotMaps > maps })
        for value in 6...10 { #expect(issue(UInt64(value)) == nil) }
        for _ in 0..<30 { loop.runOnce(maxWaitMs: 5) }
        #expect(recorder.answers.count == 1)
        #expect(try owner.command("LLEN", moved).integer == 0)
        servers.nodes[0].resume()
        #expect(loop.runUntil { recorder.answers.count == 11 })
        #expect(recorder.answers.map(\.tag.value) == Array(0...10))
        #expect(recorder.answers.allSatisfy { $0.code == nil })
        #expect(cluster.inFlight == 0)
    }

    @Test func aNodeThatIsKilledHoldsUpOnlyItsOwnSlots() throws {
        let cluster = try RedisClusterServers(persistence: .appendOnly)
        let rig = try readyRig(cluster)
        let dead = key(on: 1, of: cluster)
        #expect(rig.loop.runUntil { rig.issue("SET", dead, "kept") == nil })
        rig.answers(1)
        cluster.nodes[1].kill()
        #expect(rig.loop.runUntil { rig.client.trouble != nil })
        #expect(rig.client.isReady)
        #expect(rig.client.trouble?.contains("\(cluster.nodes[1].port)") == true)
        for number in 0..<100 {
            #expect(rig.issue("GET", dead) == .unavailable)
            let before = rig.recorder.answers.count
            #expect(rig.issue("SET", key(on: number % 2 * 2, of: cluster, number: number / 2), "v") == nil)
            rig.answers(before + 1)
            #expect(rig.recorder.answers.last?.code == nil)
        }
        try cluster.nodes[1].start()
        rig.insist("GET", dead)
        #expect(rig.recorder.answers.last?.value.text == "kept")
        #expect(rig.loop.runUntil { rig.client.trouble == nil })
    }

    @Test func aClusterThatWasAwayAsAWholeIsFoundAgain() throws {
        let cluster = try RedisClusterServers(persistence: .appendOnly)
        let rig = try readyRig(cluster)
        rig.insist("SET", "k", "kept")
        for node in cluster.nodes { node.kill() }
        #expect(rig.loop.runUntil { !rig.client.isReady })
        #expect(rig.issue("GET", "k") == .unavailable)
        #expect(rig.issue("PING") == .unavailable)
        #expect(rig.client.inFlight == 0)
        for node in cluster.nodes { try node.start() }
        #expect(rig.loop.runUntil(withinMs: 30_000) { rig.client.isReady })
        rig.insist("GET", "k")
        #expect(rig.recorder.answers.last?.value.text == "kept")
    }

    @Test func holdsTheCommandsOfANodeUntilItIsConnectedAgain() throws {
        let cluster = try RedisClusterServers()
        var options = cluster.options
        options.whenDisconnected = .hold
        options.timeoutMs = 20_000
        options.backoffFirstMs = 300
        options.backoffLastMs = 300
        let rig = try ClientRig(options)
        let held = key(on: 1, of: cluster)
        // Before anything is known of the cluster.
        #expect(rig.issue("RPUSH", held, "0") == nil)
        #expect(rig.issue("PING", value: 9) == nil)
        rig.answers(2)
        try cluster.nodes[1].session().command("CLIENT", "KILL", "TYPE", "normal")
        #expect(rig.loop.runUntil { !rig.recorder.disconnects.isEmpty })
        for value in 1...20 { #expect(rig.issue("RPUSH", held, "\(value)", value: UInt64(value)) == nil) }
        #expect(rig.client.inFlight == 20)
        rig.answers(22)
        #expect(rig.recorder.answers.allSatisfy { $0.code == nil })
        #expect(rig.recorder.answers.dropFirst(2).map(\.tag.value) == Array(1...20))
        #expect(rig.client.bufferedBytes == 0)
    }

    @Test func aHungNodeFailsOnlyWhatItOwes() throws {
        let cluster = try RedisClusterServers()
        var options = cluster.options
        options.timeoutMs = 400
        let rig = try ClientRig(options)
        rig.ready()
        let hung = key(on: 0, of: cluster)
        let fine = key(on: 1, of: cluster)
        #expect(rig.loop.runUntil { rig.issue("GET", hung) == nil })
        #expect(rig.loop.runUntil { rig.issue("GET", fine) == nil })
        rig.answers(2)
        cluster.nodes[0].suspend()
        for _ in 0..<50 {
            #expect(rig.issue("GET", hung, value: 1) == nil)
            #expect(rig.issue("GET", fine, value: 2) == nil)
        }
        rig.answers(102)
        for answer in rig.recorder.answers.dropFirst(2) {
            #expect(answer.code == (answer.tag.value == 1 ? .timedOut : nil))
        }
        cluster.nodes[0].resume()
        rig.insist("GET", hung)
    }

    @Test func aReplicaThatTakesOverIsFound() throws {
        let cluster = try RedisClusterServers()
        let replica = try cluster.addReplica(of: cluster.nodes[2])
        let rig = try readyRig(cluster)
        let moved = key(on: 2, of: cluster)
        rig.insist("SET", moved, "v")
        try cluster.nodes[2].session().command("WAIT", "1", "5000")
        cluster.nodes[2].kill()
        #expect(rig.loop.runUntil { rig.client.trouble != nil })
        rig.insist("GET", moved)
        #expect(rig.recorder.answers.last?.value.text == "v")
        #expect(try replica.session().command("ROLE").array.first?.text == "master")
        #expect(rig.loop.runUntil { rig.client.trouble == nil })
    }

    @Test func aScriptOnKeysThatAreOnTheirWayIsAnOutageUntilTheyArrive() throws {
        let cluster = try RedisClusterServers()
        var options = cluster.options
        let script = RedisScript(name: "both", source: "return redis.call('GET',KEYS[1])")
        options.scripts = [script]
        let rig = try ClientRig(options)
        rig.ready()
        let home = slot(of: "{tag}")
        let first = try #require((0..<3).first { cluster.slots(of: $0).contains(home) })
        rig.insist("SET", "a:{tag}", "1")
        let move = try SlotMove(home, from: cluster.nodes[first], to: cluster.nodes[(first + 1) % 3])
        var before = rig.recorder.answers.count
        // One key is there and the other doesn't exist: no node can tell which of them has both.
        #expect(rig.call(script, keys: ["a:{tag}", "b:{tag}"]) == nil)
        rig.answers(before + 1)
        #expect(rig.recorder.answers.last?.code == .cluster)
        #expect(RedisFailure.Code.cluster.isOutage)
        try move.finish()
        before = rig.recorder.answers.count
        #expect(rig.call(script, keys: ["a:{tag}", "b:{tag}"]) == nil)
        rig.answers(before + 1)
        #expect(rig.recorder.answers.last?.value.text == "1")
    }

    @Test func aFullNodeIsAskedForScriptsNowAndThenWhileTheOthersGoOn() throws {
        let cluster = try RedisClusterServers()
        var options = cluster.options
        let script = RedisScript(name: "count", source: "return redis.call('INCR',KEYS[1])")
        options.scripts = [script]
        let rig = try ClientRig(options)
        rig.ready()
        let full = key(on: 0, of: cluster)
        let fine = key(on: 1, of: cluster)
        rig.insist("GET", full)
        rig.insist("GET", fine)
        let session = try cluster.nodes[0].session()
        try session.command("CONFIG", "SET", "maxmemory", "1")
        let start = rig.recorder.answers.count
        #expect(rig.call(script, keys: [full]) == nil)
        rig.answers(start + 1)
        #expect(rig.recorder.answers.last?.code == .outOfMemory)
        #expect(rig.client.trouble?.contains("refuses") == true)
        var asked = 0
        for _ in 0..<1_000 where rig.call(script, keys: [full], value: 1) == nil { asked += 1 }
        #expect(asked <= 1)
        for _ in 0..<100 { #expect(rig.call(script, keys: [fine], value: 2) == nil) }
        rig.answers(start + 1 + asked + 100)
        #expect(rig.recorder.answers.filter { $0.tag.value == 2 }.allSatisfy { $0.code == nil })
        try session.command("CONFIG", "SET", "maxmemory", "0")
        #expect(
            rig.loop.runUntil {
                _ = rig.call(script, keys: [full], value: 3)
                return rig.recorder.answers.contains { $0.tag.value == 3 && $0.code == nil }
            })
        #expect(rig.client.trouble == nil)
    }

    @Test func nodesThatSendACommandToOneAnotherWithoutEndAreAnOutage() throws {
        let cluster = try RedisClusterServers(masters: 2)
        let rig = try readyRig(cluster)
        let lost = key(on: 0, of: cluster)
        rig.insist("GET", lost)
        let session = try cluster.nodes[0].session()
        let number = "\(slot(of: lost))"
        // Each of the two now says that the other has it.
        try session.command("CLUSTER", "SETSLOT", number, "NODE", try cluster.id(of: cluster.nodes[1]))
        let before = rig.recorder.answers.count
        #expect(rig.issue("GET", lost) == nil)
        rig.answers(before + 1)
        #expect(rig.recorder.answers.last?.code == .cluster)
        #expect(rig.client.inFlight == 0)
        // A question for the map may be under way; nothing of the command stays.
        #expect(rig.loop.runUntil { rig.client.bufferedBytes == 0 })
        try session.command("CLUSTER", "SETSLOT", number, "NODE", try cluster.id(of: cluster.nodes[0]))
        rig.insist("GET", lost)
    }

    @Test func aClusterWithoutSlotsIsWaitedFor() throws {
        let cluster = try RedisClusterServers(masters: 1)
        let session = try cluster.nodes[0].session()
        try session.command("CLUSTER", "FLUSHSLOTS")
        let plain = try ClientRig(cluster.nodes[0].tcpEndpoint)
        plain.ready()
        #expect(plain.issue("SET", "k", "v") == nil)
        plain.answers(1)
        #expect(plain.recorder.answers.first?.code == .cluster)
        #expect(plain.recorder.answers.first?.code?.isOutage == true)
        let rig = try ClientRig(cluster.options)
        #expect(rig.loop.runUntil { rig.client.lastFailure != nil })
        #expect(rig.client.lastFailure?.message.contains("slots") == true)
        #expect(!rig.client.isReady)
        #expect(rig.issue("SET", "k", "v") == .unavailable)
        try session.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        rig.ready()
        rig.insist("SET", "k", "v")
    }

    @Test func saysWhichOfTheTwoWasExpected() throws {
        let cluster = try RedisClusterServers()
        let plain = try ClientRig(cluster.nodes[0].tcpEndpoint)
        plain.ready()
        #expect(plain.issue("GET", key(on: 2, of: cluster)) == nil)
        plain.answers(1)
        guard case .error(let failure) = plain.recorder.answers[0].value else {
            Issue.record("a key of another node was read")
            return
        }
        #expect(failure.code == .cluster)
        #expect(failure.message.contains("set redis.cluster to true"))
        let single = try RedisServer()
        let rig = try ClientRig(single.tcpEndpoint) { $0.clusterSeeds = [single.tcpEndpoint] }
        #expect(rig.loop.runUntil { rig.client.lastFailure != nil })
        #expect(rig.client.lastFailure?.message.contains("set redis.cluster to false") == true)
    }

    @Test func keepsItsBoundsAndAnswersEverythingWhenClosed() throws {
        let cluster = try RedisClusterServers()
        var options = cluster.options
        options.maximumInFlight = 30
        let rig = try ClientRig(options)
        rig.ready()
        #expect(
            rig.loop.runUntil { (0..<3).allSatisfy { rig.issue("GET", key(on: $0, of: cluster)) == nil } })
        #expect(rig.loop.runUntil { rig.client.inFlight == 0 })
        let before = rig.recorder.answers.count
        cluster.nodes[0].suspend()
        for _ in 0..<30 { #expect(rig.issue("GET", key(on: 0, of: cluster)) == nil) }
        #expect(rig.issue("GET", key(on: 1, of: cluster)) == .tooManyInFlight)
        rig.client.close()
        #expect(rig.recorder.answers.count == before + 30)
        #expect(rig.recorder.answers.dropFirst(before).allSatisfy { $0.code == .closed })
        #expect(rig.issue("PING") == .closed)
        cluster.nodes[0].resume()
    }

    @Test func aClusterThatSpeaksTLSIsReachedOverTLSAtEveryNode() throws {
        let tls = try RedisTLS()
        let ports = try (0..<2).map { _ in try RedisTLS.freePort() }
        let cluster = try RedisClusterServers(masters: 2) {
            tls.settings(port: ports[$0 % 2]) + ["--tls-cluster", "yes"]
        }
        var options = RedisClientOptions(endpoint: tls.endpoint(port: ports[0]))
        options.clusterSeeds = [options.endpoint]
        options.tls = tls.context
        let rig = try ClientRig(options)
        rig.ready()
        rig.insist("SET", key(on: 0, of: cluster), "a")
        rig.insist("SET", key(on: 1, of: cluster), "b")
        let lists = try cluster.nodes.map { try $0.session().command("CLIENT", "LIST").text ?? "" }
        #expect(lists.allSatisfy { $0.contains("name=peal ") })
        // Without trust in its authority there is no connection and no map.
        options.tls = nil
        let stranger = try ClientRig(options)
        #expect(stranger.loop.runUntil { stranger.client.lastFailure != nil })
        #expect(!stranger.client.isReady)
    }
}
