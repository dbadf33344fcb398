import Core
import Redis
import TestSupport
import Testing

@testable import Registry

@Suite struct EnvironmentCorrectionTests {
    private static let token = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
    private static let registeredMs: Int64 = 1_790_000_000_123

    private func record(isSandbox: Bool = false, isSilenced: Bool = true) -> DeviceRecord {
        DeviceRecord(
            platform: .ios, token: Self.token, registeredAtMs: Self.registeredMs, isSandbox: isSandbox,
            kind: .voip, isSilenced: isSilenced, locale: "de-DE", timeZone: "Europe/Berlin", appVersion: "7")
    }

    private func correct(
        _ shelf: Shelf, token: String = token, registeredMs: Int64 = registeredMs, isSandbox: Bool
    ) throws -> Int64? {
        let stored = StoredToken(text: token, .ios).bytes
        return try RecipientReference.with(app: "shop", recipient: "a") { recipient in
            try stored.withUnsafeBytes { stored in
                try Array("d1".utf8).withUnsafeBytes { id in
                    try shelf.session.run {
                        RegistryCommands.correctEnvironment(
                            of: recipient, id: id, storedToken: stored, registeredAtMs: registeredMs,
                            isSandbox: isSandbox, into: &$0)
                    }
                }
            }
        }.integer
    }

    @Test func onlyTheEnvironmentChanges() throws {
        let shelf = try Shelf()
        try shelf.directory.register(recipient: "a", device: "d1", record())
        #expect(try correct(shelf, isSandbox: true) == 1)
        #expect(try shelf.directory.devices(of: "a").first?.record == record(isSandbox: true))
        #expect(try correct(shelf, isSandbox: true) == 0)
        #expect(try correct(shelf, isSandbox: false) == 1)
        #expect(try shelf.directory.devices(of: "a").first?.record == record())
    }

    @Test func aDeviceThatIsGoneHasAnotherTokenOrRegisteredSinceIsLeftAlone() throws {
        let shelf = try Shelf()
        #expect(try correct(shelf, isSandbox: true) == 0)
        #expect(try shelf.directory.devices(of: "a").isEmpty)
        try shelf.directory.register(recipient: "a", device: "d1", record())
        #expect(try correct(shelf, token: String(repeating: "ff", count: 32), isSandbox: true) == 0)
        #expect(try correct(shelf, registeredMs: Self.registeredMs - 1, isSandbox: true) == 0)
        #expect(try correct(shelf, registeredMs: Self.registeredMs + 1, isSandbox: true) == 0)
        #expect(try shelf.directory.devices(of: "a").first?.record == record())
    }
}
