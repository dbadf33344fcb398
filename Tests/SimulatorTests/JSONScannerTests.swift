import Core
import Testing

@testable import SimulatorKit

@Suite("JSON scanner")
struct JSONScannerTests {
    private func isValid(_ document: [UInt8]) -> Bool {
        document.withUnsafeBytes { raw in
            var scanner = JSONScanner(Bytes(raw))
            scanner.skip()
            return scanner.finish()
        }
    }

    @Test(
        "Valid documents",
        arguments: [
            "{}", "[]", " [1, -2.5e+3, 0.1, true, false, null] ", "\"\"", "{\"a\":{\"b\":[{}]}}",
            "\"\\u00e4\\n\\\"\"",
            "\"\\ud83d\\ude00\"", "\"äöü € 😀\"", "0", "-0", "1E5", "{\"a\":1,\"a\":2}", "\t\r\n1",
        ])
    func valid(_ text: String) { #expect(isValid(Array(text.utf8))) }

    @Test(
        "Invalid documents",
        arguments: [
            "", "{", "}", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "[,1]", "01", "1.", ".5", "-",
            "1e", "+1",
            "tru", "nul", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"", "\"a\nb\"", "1 2",
            "{a:1}", "'a'",
            "[1 2]", "{\"a\" 1}", "\u{FEFF}1",
        ])
    func invalid(_ text: String) { #expect(!isValid(Array(text.utf8))) }

    @Test(
        "Malformed UTF-8 is refused",
        arguments: [
            [0xC0, 0x80], [0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5],
            [0xE2, 0x82],
            [0xC3], [0xFF],
        ] as [[UInt8]])
    func badUTF8(_ bytes: [UInt8]) { #expect(!isValid([0x22] + bytes + [0x22])) }

    @Test("Nesting is bounded") func depth() {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        }
        #expect(isValid(nested(64)))
        #expect(!isValid(nested(65)))
        #expect(!isValid(nested(100_000)))
    }

    @Test("Agrees with the tree parser on mutated documents") func agrees() {
        let seed = Array(
            "{\"aps\":{\"alert\":{\"title\":\"Grüße 😀\\n\",\"n\":-1.5e3},\"badge\":12},\"list\":[true,null,\"\\u20ac\"]}"
                .utf8)
        var random = SplitMix(seed: 42)
        let alphabet = Array("{}[]\",:\\ue0189.-+tfn ä".utf8)
        var accepted = 0
        for _ in 0..<20_000 {
            var document = seed
            for _ in 0..<(1 + random.next() % 3) {
                let at = Int(random.next() % UInt64(document.count))
                switch random.next() % 3 {
                case 0: document[at] = alphabet[Int(random.next() % UInt64(alphabet.count))]
                case 1: document.remove(at: at)
                default: document.insert(alphabet[Int(random.next() % UInt64(alphabet.count))], at: at)
                }
            }
            let tree = document.withUnsafeBytes { (try? JSONValue.parse($0)) != nil }
            if tree { accepted += 1 }
            #expect(isValid(document) == tree, "\(String(decoding: document, as: UTF8.self))")
        }
        #expect(accepted > 100)
    }

    @Test("Finds marker, badge and thread of an APNs payload") func payload() {
        let text =
            "{\"aps\":{\"badge\":7,\"thread-id\":\"cnv_1\",\"alert\":{}},\"shop\":{\"peal_job\":\"J1\"},\"x\":[1]}"
        bytes(text) { body in
            let payload = APNsPayload.scan(body, markers: .standard)
            #expect(payload.isObject && payload.hasAPS && payload.hasAlert && payload.hasBadge)
            #expect(payload.badge == 7)
            let scanner = JSONScanner(body)
            #expect(scanner.bytes(of: payload.job).text == "J1")
            #expect(scanner.bytes(of: payload.thread).text == "cnv_1")
        }
    }

    @Test("Markers can be renamed") func markers() {
        bytes("{\"aps\":{},\"peal_job\":\"a\",\"jobId\":\"b\"}") { body in
            let payload = APNsPayload.scan(body, markers: PayloadMarkers(["jobId"]))
            #expect(JSONScanner(body).bytes(of: payload.job).text == "b")
        }
    }

    @Test("Field names match in both spellings of proto3 JSON")
    func names() {
        func matches(_ key: String) -> Bool {
            bytes(key) { FCMMessage.isName($0, "restricted_package_name") }
        }
        #expect(matches("restricted_package_name"))
        #expect(matches("restrictedPackageName"))
        for wrong in [
            "restrictedpackagename", "restricted_packageName_", "r", "", "restrictedPackageNam",
            "RestrictedPackageName",
        ] {
            #expect(!matches(wrong))
        }
    }

    @Test("Truncated documents never trap") func truncated() {
        let whole = Array(
            "{\"message\":{\"token\":\"t\",\"data\":{\"k\":\"\\u00e4ä\"},\"android\":{\"ttl\":\"1s\"},\"apns\":{\"payload\":{\"aps\":{\"badge\":1}}}}}"
                .utf8)
        for length in 0..<whole.count {
            let part = Array(whole[..<length])
            part.withUnsafeBytes {
                #expect(!FCMMessage.scan(Bytes($0), markers: .standard).isObject)
                #expect(!APNsPayload.scan(Bytes($0), markers: .standard).isObject)
            }
        }
        whole.withUnsafeBytes { #expect(FCMMessage.scan(Bytes($0), markers: .standard).isObject) }
    }
}
