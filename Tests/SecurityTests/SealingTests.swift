import Core
import Testing

@testable import Security

@Suite struct SealingTests {
    private let text = Array("a provider token".utf8)

    @Test func theDerivationIsThatOfRFC5869() {
        // Test case 3 of RFC 5869 has no salt and no info; the first 32 bytes of its output.
        let material = [UInt8](repeating: 0x0B, count: 22)
        #expect(
            Hex.encode(SealingKey.derive(material, ""))
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
    }

    @Test func whatIsSealedOpensWithTheSameKeyOnly() throws {
        let key = try ES256PrivateKey.generate()
        let one = try SealingKey(key, purpose: "test")
        let same = try SealingKey(try ES256PrivateKey(pem: key.pem()), purpose: "test")
        let sealed = try one.seal(text, context: [1])
        #expect(same.open(sealed, context: [1]) == text)
        #expect(try SealingKey(key, purpose: "other").open(sealed, context: [1]) == nil)
        #expect(try SealingKey(ES256PrivateKey.generate(), purpose: "test").open(sealed, context: [1]) == nil)
        #expect(try SealingKey(RS256PrivateKey.generate(), purpose: "test").open(sealed, context: [1]) == nil)
        #expect(same.open(sealed, context: [2]) == nil)
        #expect(same.open(sealed, context: []) == nil)
    }

    @Test func everyChangedOrMissingByteIsNoticed() throws {
        let key = try SealingKey(ES256PrivateKey.generate(), purpose: "test")
        let sealed = try key.seal(text, context: [])
        for at in sealed.indices {
            var changed = sealed
            changed[at] ^= 1
            #expect(key.open(changed, context: []) == nil)
            #expect(key.open(Array(sealed.prefix(at)), context: []) == nil)
        }
        #expect(key.open(sealed, context: []) == text)
    }

    @Test func theSameTextIsNeverSealedAlikeAndAnEmptyOneIsSealedToo() throws {
        let key = try SealingKey(ES256PrivateKey.generate(), purpose: "test")
        #expect(try key.seal(text, context: []) != key.seal(text, context: []))
        #expect(key.open(try key.seal([], context: []), context: []) == [])
    }
}
