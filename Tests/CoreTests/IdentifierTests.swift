import Testing

@testable import Core

@Suite("Identifiers")
struct IdentifierTests {
    @Test("A ULID's text is the specification's")
    func ulidText() {
        let zero = ULID(timestampMs: 0, randomHigh: 0, randomLow: 0)
        #expect(zero.text == "00000000000000000000000000")
        let highest = ULID(timestampMs: .max, randomHigh: .max, randomLow: .max)
        #expect(highest.text == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
        let known = ULID(timestampMs: 1_469_922_850_259, randomHigh: 0, randomLow: 1)
        #expect(known.text == "01ARZ3NDEK0000000000000001".replacingTime(with: "01ARZ3NDEK"))
        let alphabet = Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        #expect(
            ULID(timestampMs: 1 << 47, randomHigh: 0xABCD, randomLow: 0x0123_4567_89AB_CDEF).text.allSatisfy {
                alphabet.contains($0)
            })
    }

    @Test("Every bit of a ULID shows in its text")
    func ulidBits() {
        var seen: Set<String> = []
        for bit in 0..<48 {
            seen.insert(ULID(timestampMs: 1 << UInt64(bit), randomHigh: 0, randomLow: 0).text)
        }
        for bit in 0..<16 {
            seen.insert(ULID(timestampMs: 0, randomHigh: 1 << UInt16(bit), randomLow: 0).text)
        }
        for bit in 0..<64 {
            seen.insert(ULID(timestampMs: 0, randomHigh: 0, randomLow: 1 << UInt64(bit)).text)
        }
        #expect(seen.count == 128)
    }

    @Test("The time comes back out of the text, in either case")
    func ulidTime() {
        for time: UInt64 in [0, 1, 1_790_000_000_123, 0xFFFF_FFFF_FFFF] {
            let text = ULID(timestampMs: time, randomHigh: 0x1234, randomLow: 0x5678).text
            #expect(ULID.timestampMs(of: Array(text.utf8)) == time)
            #expect(ULID.timestampMs(of: Array(text.lowercased().utf8)) == time)
        }
    }

    @Test(
        "What isn't a ULID has no time",
        arguments: [
            "", "01ARZ3NDEK000000000000000", "01ARZ3NDEK00000000000000000", "01ARZ3NDEI0000000000000001",
            "01ARZ3NDEL0000000000000001", "01ARZ3NDEO0000000000000001", "01ARZ3NDEU0000000000000001",
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "01ARZ3NDEK-000000000000001", "01ARZ3NDEK00000000000000é",
        ])
    func ulidFaults(_ text: String) {
        #expect(ULID.timestampMs(of: Array(text.utf8)) == nil)
    }

    @Test("Generated ids increase within a millisecond, over a step back and from one to the next")
    func ulidOrder() {
        var generator = ULIDGenerator(seed: 42)
        var last = ""
        for index in 0..<50_000 {
            let now: UInt64 = index < 20_000 ? 1000 : index < 30_000 ? 500 : UInt64(index)
            let text = generator.next(nowMs: now).text
            #expect(text > last)
            last = text
        }
    }

    @Test("Different seeds make different ids")
    func ulidSeeds() {
        var seen: Set<ULID> = []
        for seed in 0..<1000 {
            var generator = ULIDGenerator(seed: UInt64(seed))
            seen.insert(generator.next(nowMs: 1000))
        }
        #expect(seen.count == 1000)
    }

    private func derived(_ job: String, _ device: String) -> DerivedUUID {
        Array(job.utf8).withUnsafeBytes { job in
            Array(device.utf8).withUnsafeBytes { DerivedUUID(job: job, device: $0) }
        }
    }

    @Test("A derived id is a version 8 UUID in lower case")
    func derivedFormat() {
        for index in 0..<1000 {
            let text = Array(derived("job-\(index)", "phone").text)
            #expect(text.count == 36)
            for dash in [8, 13, 18, 23] { #expect(text[dash] == "-") }
            #expect(text[14] == "8")
            #expect("89ab".contains(text[19]))
            let digits = text.filter { $0 != "-" }
            #expect(digits.count == 32)
            #expect(digits.allSatisfy { "0123456789abcdef".contains($0) })
        }
    }

    /// A retry must carry the `apns-id` that an older version of the program gave the first attempt.
    @Test("A derived id is the same in every version")
    func derivedStability() {
        #expect(derived("01J9ZK3V8Q7M4X2C6B5N1A0D9F", "phone").text == HashVectors.derived)
    }

    @Test("Job and device both matter, also when they are exchanged or moved between")
    func derivedDistinct() {
        var seen: Set<DerivedUUID> = []
        for job in 0..<200 {
            for device in 0..<50 { seen.insert(derived("job-\(job)", "device-\(device)")) }
        }
        #expect(seen.count == 10_000)
        #expect(derived("a", "b") != derived("b", "a"))
        #expect(derived("ab", "c") != derived("a", "bc"))
        #expect(derived("", "") != derived("a", ""))
    }
}

extension String {
    fileprivate func replacingTime(with prefix: String) -> String { prefix + dropFirst(prefix.count) }
}
