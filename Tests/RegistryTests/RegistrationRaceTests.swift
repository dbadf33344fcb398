import Core
import EventLoop
import Redis
import Registry
import TestSupport
import Testing

/// Registrations of one token at the same moment: whoever is the last has it, and nobody else.
@Suite struct RegistrationRaceTests {
    @Test(arguments: [false, true])
    func aTokenEndsUpWithOneRecipient(hasDevicesOfItsOwn: Bool) throws {
        let redis = try RedisServer()
        let endpoint = redis.endpoint
        let directory = DeviceDirectory(session: try redis.session(scripts: RegistryScripts.all), app: "shop")
        for round in 0..<5 {
            let token = "token-\(round)"
            let failures = Locked(0)
            let threads = (0..<12).map { number in
                WorkerThread.start(name: "register-\(number)") {
                    do {
                        let session = try RedisSession.patient(endpoint, scripts: RegistryScripts.all)
                        defer { session.close() }
                        let mine = DeviceDirectory(session: session, app: "shop")
                        for _ in 0..<4 {
                            try mine.register(
                                recipient: "user-\(number % 2)-\(round)",
                                device: hasDevicesOfItsOwn ? "d\(number)" : "phone",
                                DeviceRecord(platform: .web, token: token, registeredAtMs: Clock.wallMs))
                        }
                    } catch {
                        failures.withLock { $0 += 1 }
                    }
                }
            }
            for thread in threads { thread.join() }
            #expect(failures.withLock { $0 } == 0)
            let owner = try #require(try directory.owner(of: token, .web))
            for name in ["user-0-\(round)", "user-1-\(round)"] {
                let tokens = try directory.devices(of: name).map(\.record.token)
                #expect(tokens == (name == owner ? [token] : []), "\(name), \(owner) has it")
            }
        }
    }

    @Test func aLockWhoseOwnerIsGoneEndsByItselfAndAnotherOnesIsLeftAlone() throws {
        let redis = try RedisServer()
        let session = try redis.session(scripts: RegistryScripts.all)
        let first = RegistryLock(session: session, app: "shop", name: "x")
        try first.take()
        let life = try #require(try session.command("PTTL", "peal:lock:{shop:x}").integer)
        #expect(life > 0 && life <= Int64(RegistryLock.lifeMs))
        try session.command("SET", "peal:lock:{shop:x}", "another")
        first.release()
        #expect(try session.command("GET", "peal:lock:{shop:x}").text == "another")
        try session.command("DEL", "peal:lock:{shop:x}")
        try first.take()
        first.release()
        #expect(try session.command("EXISTS", "peal:lock:{shop:x}").integer == 0)
    }
}
