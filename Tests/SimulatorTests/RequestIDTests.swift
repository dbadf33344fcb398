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
