import Core
import Testing

@testable import Security

@Suite struct SealingRingTests {
    private let plain = Array("a private key".utf8)

    @Test func aFormerKeyOpensWhatItSealed() throws {
        let (one, two) = (try SealingRing.generate(), try SealingRing.generate())
        let before = try SealingRing(current: one)
        let sealed = try before.seal(plain, context: [1])
        let after = try SealingRing(current: two, former: [one])
        #expect(after.currentID != before.currentID)
        #expect(after.open(sealed, keyID: before.currentID, context: [1]) == plain)
        #expect(after.open(sealed, keyID: after.currentID, context: [1]) == nil)
        #expect(after.open(sealed, keyID: before.currentID, context: [2]) == nil)
        #expect(try SealingRing(current: two).open(sealed, keyID: before.currentID, context: [1]) == nil)
        #expect(after.ids == [after.currentID, before.currentID])
    }

    @Test func hexadecimalAndBase64AreTheSameKey() throws {
        let hex = try SealingRing.generate()
        #expect(hex.utf8.count == 64)
        let bytes = try #require(Hex.decode(hex.utf8))
        #expect(
            try SealingRing(current: Base64.encode(bytes) + "\n").currentID
                == SealingRing(current: hex).currentID)
        #expect(
            try SealingRing(current: " \(hex.uppercased())\n").currentID
                == SealingRing(current: hex).currentID)
    }

    @Test func theNameOfAKeyIsNoPartOfIt() throws {
        let hex = try SealingRing.generate()
        #expect(!hex.contains(try SealingRing(current: hex).currentID))
    }

    @Test(arguments: [
        "", "abc", String(repeating: "0", count: 64), String(repeating: "a1", count: 31),
        String(repeating: "a1", count: 33), String(repeating: "g", count: 64), "c2hvcnQ=",
    ])
    func otherTextsAreRefusedAndNotRepeated(_ text: String) {
        let failure = #expect(throws: SecurityFailure.self) { try SealingRing(current: text) }
        #expect(text.isEmpty || failure?.message.contains(text) == false)
    }
}

@Suite struct ClientIdentityTests {
    @Test func aCertificateGoesWithItsOwnKeyOnly() throws {
        let one = try ThrowAwayIdentity.make(hosts: ["localhost"])
        let other = try ThrowAwayIdentity.make(hosts: ["localhost"])
        let good = ClientIdentity(certificatePEM: one.certificatePEM + one.caPEM, keyPEM: one.keyPEM)
        #expect(try good.check().upperBound == CertificateFile.expiryS(pem: one.certificatePEM))
        _ = try TLSContext.client(TLSClientOptions(identity: good))
        let mixed = ClientIdentity(certificatePEM: one.certificatePEM, keyPEM: other.keyPEM)
        #expect(throws: SecurityFailure.self) { try mixed.check() }
        #expect(throws: SecurityFailure.self) { try TLSContext.client(TLSClientOptions(identity: mixed)) }
        for broken in [
            ClientIdentity(certificatePEM: "", keyPEM: one.keyPEM),
            ClientIdentity(certificatePEM: one.certificatePEM, keyPEM: "-----BEGIN PRIVATE KEY-----\nAAAA"),
        ] {
            #expect(throws: SecurityFailure.self) { try broken.check() }
        }
    }
}
