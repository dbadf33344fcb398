import Core
import Decisions
import Testing

@testable import WorkerKit

@Suite struct HeaderTests {
    private func read(_ pairs: [(String, String)]) throws -> RetryHeaders {
        var packed = ByteBuffer()
        for (name, value) in pairs {
            Array(name.utf8).withUnsafeBytes { name in
                Array(value.utf8).withUnsafeBytes { RecordHeaders.pack(name, $0, into: &packed) }
            }
        }
        return try RetryHeaders.read(RecordHeaders(packed: packed.bytes))
    }

    @Test func aRecordWithoutHeadersIsAFirstOne() throws {
        let headers = try read([])
        #expect(headers == RetryHeaders())
        #expect(!headers.hasOrigin)
        #expect(try read([("traceparent", "00-abc")]) == RetryHeaders())
    }

    @Test func everyNumberIsRead() throws {
        let headers = try read([
            ("peal-attempt", "5"), ("peal-waits", "2"), ("peal-first-ms", "1700000000000"),
            ("peal-failed-ms", "1700000000500"), ("peal-origin", "peal.jobs.normal/3/17"),
        ])
        #expect(headers.attempt == 5)
        #expect(headers.sends == 3)
        #expect(headers.firstMs == 1_700_000_000_000)
        #expect(headers.firstFailureMs == 1_700_000_000_500)
        #expect(headers.hasOrigin)
    }

    @Test(arguments: ["", "x", "-1", "1.5", "99999999999999999999", " 1", "1000001"])
    func aNumberThatIsNoneIsAFault(text: String) {
        #expect(throws: RetryHeaders.Fault.self) { try read([("peal-attempt", text)]) }
    }

    @Test(arguments: ["peal-first-ms", "peal-failed-ms"])
    func aTimeBeyondTheYear9999IsAFaultSinceSumsOfItWouldOverflow(name: String) throws {
        #expect(try read([(name, "253402300799999")]).hasOrigin == false)
        for text in ["253402300800000", "9223372036854775799"] {
            #expect(throws: RetryHeaders.Fault.self) { try read([(name, text)]) }
        }
    }

    @Test func waitsNeverExceedAttempts() throws {
        #expect(try read([("peal-attempt", "1"), ("peal-waits", "9")]).sends == 0)
    }

    @Test func brokenPackingEndsTheList() {
        var packed = ByteBuffer()
        for byte: UInt8 in [0, 4, 0, 200, 1, 2] { packed.append(byte: byte) }
        var seen = 0
        RecordHeaders(packed: packed.bytes).forEach { _, _ in seen += 1 }
        #expect(seen == 0)
    }

    @Test func owedDevicesAreFoundWhateverTheirIDs() {
        let ids = ["phone", "a,b", "100%", "", "tab\tlet", "ünï"]
        var list = ByteBuffer()
        for id in ids { Array(id.utf8).withUnsafeBytes { OwedDevices.append($0, to: &list) } }
        for (index, id) in ids.enumerated() where !id.isEmpty {
            let found = Array(id.utf8).withUnsafeBytes { OwedDevices.position(of: $0, in: list.bytes) }
            #expect(found == index)
        }
        for other in ["pho", "phones", "b", "100", "a%2cb"] {
            #expect(Array(other.utf8).withUnsafeBytes { OwedDevices.position(of: $0, in: list.bytes) } == nil)
        }
        Array("1,0,12".utf8).withUnsafeBytes { history in
            #expect(OwedDevices.history(at: 0, in: history) == .refreshed)
            #expect(OwedDevices.history(at: 1, in: history) == [])
            #expect(OwedDevices.history(at: 2, in: history) == [.keptToken, .shutdown])
            #expect(OwedDevices.history(at: 3, in: history) == [])
        }
        #expect(OwedDevices.history(at: 0, in: nil) == [])
    }

    @Test func owedDevicesAreListedAsTheyWereWritten() {
        let ids = ["phone", "a,b", "100%", "ünï", "x%2cy"]
        var list = ByteBuffer()
        for id in ids { Array(id.utf8).withUnsafeBytes { OwedDevices.append($0, to: &list) } }
        var seen: [String] = []
        OwedDevices.forEach(in: list.bytes) { seen.append(String(decoding: $0, as: UTF8.self)) }
        #expect(seen == ids)
        seen = []
        Array("a,%zz,%".utf8).withUnsafeBytes { broken in
            OwedDevices.forEach(in: broken) { seen.append(String(decoding: $0, as: UTF8.self)) }
        }
        #expect(seen == ["a", "%zz", "%"])
    }

    @Test func anOriginIsTakenApartFromItsEnd() throws {
        let bytes = Array("peal.jobs.normal/3/17".utf8)
        let origin = try #require(bytes.withUnsafeBytes { OriginHeader($0) })
        #expect(origin.partition == 3)
        #expect(origin.offset == 17)
        for broken in ["", "a/b", "t/x/1", "t/1/y", "1/2"] {
            #expect(Array(broken.utf8).withUnsafeBytes { OriginHeader($0) } == nil)
        }
    }
}
