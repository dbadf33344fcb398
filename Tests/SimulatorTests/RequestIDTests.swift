import Testing

@testable import SimulatorKit

@Suite("Request ids")
struct RequestIDTests {
    @Test(
        "A canonical id survives the round trip through 16 bytes",
        arguments: [
            "01234567-89ab-cdef-0123-456789abcdef", "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ])
    func roundTrip(_ text: String) {
        let id = bytes(text) { RequestID($0) }
        #expect(id.isPresent)
        var out = ""
        id.withBytes { out = String(decoding: $0, as: UTF8.self) }
        #expect(out == text)
    }

    @Test("Anything else is no id", arguments: ["", "x", "01234567-89AB-cdef-0123-456789abcdef"])
    func absent(_ text: String) { #expect(!bytes(text) { RequestID($0) }.isPresent) }
}

@Suite("HTTP dates")
struct HTTPDateTests {
    @Test(
        "Known instants",
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (1_709_164_800_000, "Thu, 29 Feb 2024 00:00:00 GMT"), (-5, "Thu, 01 Jan 1970 00:00:00 GMT"),
        ] as [(Int64, String)])
    func known(_ ms: Int64, _ text: String) { #expect(HTTPDate.text(ms: ms) == text) }
}

@Suite("Hostile requests")
struct HostileRequestTests {
    @Test("Random and mutated requests are answered and never trap") func fuzz() throws {
        let fixture = try RuleFixture()
        fixture.judge.install(
            try FaultScriptReader.read(
                text: "{\"rules\":[{\"token_prefix\":\"ff\",\"answer\":{\"status\":500}}]}"),
            nowMs: 0)
        let apns = try fixture.draft()
        let fcm = try fixture.message(
            "{\"token\":\"t~UNAVAILABLE*2@9\",\"data\":{\"peal_job\":\"J\"},\"android\":{\"ttl\":\"3.5s\"}}")
        var random = SplitMix(seed: 99)
        func mangle(_ text: String) -> String {
            var bytes = Array(text.utf8)
            for _ in 0..<Int(random.next() % 4) {
                let at = bytes.isEmpty ? 0 : Int(random.next() % UInt64(bytes.count))
                switch random.next() % 4 {
                case 0 where !bytes.isEmpty: bytes[at] = UInt8(truncatingIfNeeded: random.next())
                case 1 where !bytes.isEmpty: bytes.removeSubrange(at...)
                case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next() % 128), at: at)
                default: bytes.insert(contentsOf: Array("{\"~*@99999999999999999999:[/".utf8), at: at)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        for round in 0..<4000 {
            var draft = round % 2 == 0 ? apns : fcm
            draft.method = round % 7 == 0 ? mangle(draft.method) : draft.method
            draft.path = mangle(draft.path)
            draft.apnsID = mangle(draft.apnsID)
            draft.topic = mangle(draft.topic)
            draft.pushType = mangle(draft.pushType)
            draft.priority = mangle(draft.priority)
            draft.expiration = mangle("1800000000")
            draft.collapseID = mangle("c")
            draft.body = mangle(draft.body)
            let answer = fixture.answer(draft, on: round % 2 == 0 ? fixture.apns : fixture.fcm)
            #expect(answer.action != .respond || (200..<600).contains(answer.status))
        }
    }
}
