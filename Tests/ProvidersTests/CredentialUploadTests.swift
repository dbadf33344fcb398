import Core
import Registry
import Security
import SimulatorKit
import Testing

@testable import Providers

@Suite struct CredentialUploadTests {
    private static let nowMs: Int64 = 1_000

    private func body(_ members: [(String, String)]) -> [UInt8] {
        Array(JSONValue.object(members.map { .init(name: $0.0, value: .string($0.1)) }).text.utf8)
    }

    private func refusal(
        _ body: [UInt8], _ slot: StoredCredential.Slot = .apns, topic: String = "", nowMs: Int64 = nowMs
    ) -> UploadRefusal? {
        do throws(UploadRefusal) {
            _ = try CredentialUpload.read(body, slot: slot, topic: topic, nowMs: nowMs)
            return nil
        } catch {
            return error
        }
    }

    private func keyBody(
        _ pem: String, _ changes: [String: String?] = [:], more: [(String, String)] = []
    ) -> [UInt8] {
        var members = [
            ("key", pem), ("key_id", "KEY0000001"), ("team_id", "TEAM000001"), ("topic", "com.example.shop"),
        ]
        for (name, value) in changes {
            members.removeAll { $0.0 == name }
            if let value { members.append((name, value)) }
        }
        return body(members + more)
    }

    @Test func anAPNsKeyIsRead() throws {
        let pem = try ES256PrivateKey.generate().pem()
        let read = try CredentialUpload.read(
            keyBody(pem, more: [("environment", "both")]), slot: .apns, topic: "", nowMs: Self.nowMs)
        #expect(read.form == .key && read.slot == .apns && read.environment == .both)
        #expect(read.keyID == "KEY0000001" && read.teamID == "TEAM000001" && read.topic == "com.example.shop")
        #expect(read.secret == pem)
        #expect(read.fingerprint.utf8.count == 16)
        let plain = try CredentialUpload.read(
            keyBody(pem, ["topic": nil]), slot: .apns, topic: "com.example.shop", nowMs: Self.nowMs)
        #expect(plain.environment == .production && plain.topic.isEmpty)
        let sandbox = try CredentialUpload.read(
            keyBody(pem), slot: .apnsSandbox, topic: "", nowMs: Self.nowMs)
        #expect(sandbox.environment == .sandbox)
    }

    @Test func eachMistakeInAnAPNsKeyIsNamed() throws {
        let pem = try ES256PrivateKey.generate().pem()
        let rsa = try RS256PrivateKey.generate().pem()
        let cases: [([String: String?], String)] = [
            (["key": nil], "key"), (["key": ""], "key"), (["key": "not a key"], "key"), (["key": rsa], "key"),
            // Nobody is asked for a passphrase, least of all on the gateway's terminal.
            (["key": OddKeys.encrypted], "key"), (["key": OddKeys.otherCurve], "key"),
            (["key": String(pem.dropLast(60))], "key"), (["key_id": nil], "key_id"),
            (["key_id": "SHORT"], "key_id"), (["key_id": "KEY000000\n"], "key_id"),
            (["team_id": nil], "team_id"), (["team_id": "TEAM0000012"], "team_id"), (["topic": nil], "topic"),
            (["topic": "com.example\r\nx: y"], "topic"),
            (["topic": String(repeating: "a", count: 129)], "topic"),
            (["environment": "staging"], "environment"), (["keyid": "x"], "keyid"),
            (["certificate": "x"], "key"),
        ]
        for (change, field) in cases {
            let found = refusal(keyBody(pem, change))
            #expect(found?.field == field, "\(change.keys): \(String(describing: found))")
        }
        #expect(refusal(keyBody(pem, ["environment": "production"]), .apnsSandbox)?.field == "environment")
    }

    @Test func aCertificateGoesWithItsKey() throws {
        let identity = try ThrowAwayIdentity.make(hosts: ["push"])
        let other = try ThrowAwayIdentity.make(hosts: ["push"])
        let expiry = try CertificateFile.expiryS(pem: identity.certificatePEM) * 1000
        func members(_ certificate: String, _ key: String) -> [UInt8] {
            body([("certificate", certificate), ("private_key", key), ("topic", "com.example.shop")])
        }
        let good = members(identity.certificatePEM + identity.caPEM, identity.keyPEM)
        let read = try CredentialUpload.read(good, slot: .apns, topic: "", nowMs: expiry - 1)
        #expect(read.form == .certificate && read.expiryMs == expiry)
        #expect(refusal(good, nowMs: expiry)?.sentence.contains("expired") == true)
        #expect(refusal(members(identity.certificatePEM, other.keyPEM))?.field == "private_key")
        #expect(refusal(members("x", identity.keyPEM))?.field == "certificate")
        #expect(
            refusal(members(identity.certificatePEM + identity.keyPEM, identity.keyPEM))?.field
                == "certificate")
        #expect(
            refusal(body([("certificate", identity.certificatePEM), ("topic", "a")]))?.field == "private_key")
        let mixed = body([
            ("certificate", identity.certificatePEM), ("private_key", identity.keyPEM), ("topic", "a"),
            ("key_id", "KEY0000001"),
        ])
        #expect(refusal(mixed)?.field == "key_id")
    }

    private func account(_ changes: [String: String?] = [:]) throws -> String {
        var members = [
            "type": "service_account", "project_id": "shop-1", "private_key_id": "ab12",
            "client_email": "push@shop-1.example", "private_key": try RS256PrivateKey.generate().pem(),
            "token_uri": "https://evil.example/token",
        ]
        for (name, value) in changes { members[name] = value }
        return JSONValue.object(members.map { .init(name: $0.key, value: .string($0.value)) }).text
    }

    @Test func aServiceAccountIsReadInEachForm() throws {
        let json = try account()
        for text in [
            json, "{\"service_account\":\(json)}",
            JSONValue.object([.init(name: "service_account", value: .string(json))]).text,
        ] {
            let read = try CredentialUpload.read(Array(text.utf8), slot: .fcm, topic: "", nowMs: Self.nowMs)
            #expect(read.form == .serviceAccount && read.project == "shop-1" && read.keyID == "ab12")
        }
        let named = "{\"project_id\":\"other\",\"service_account\":\(json)}"
        #expect(
            try CredentialUpload.read(Array(named.utf8), slot: .fcm, topic: "", nowMs: Self.nowMs).project
                == "other")
    }

    @Test func aServiceAccountThatCanNotSendIsRefused() throws {
        for change: [String: String?] in [
            ["client_email": nil], ["private_key": nil], ["private_key": "x"],
            ["private_key": OddKeys.shortRSA],
            ["private_key": try ES256PrivateKey.generate().pem()], ["project_id": nil],
            ["client_email": "a b"],
        ] {
            #expect(refusal(Array(try account(change).utf8), .fcm)?.field == "service_account")
        }
        let path = "{\"project_id\":\"a/../b\",\"service_account\":\(try account())}"
        #expect(refusal(Array(path.utf8), .fcm)?.field == "project_id")
        #expect(refusal(Array(#"{"service_account":"{"}"#.utf8), .fcm)?.field == "service_account")
        #expect(refusal(Array(#"{"service_account":{},"x":1}"#.utf8), .fcm)?.field == "x")
    }

    @Test(arguments: ["", "[]", "null", "{", "{\"key\":1}", "{\"key\":\"a\",\"key\":\"b\"}", "\u{FFFD}"])
    func whatIsNoUploadIsRefused(_ text: String) { #expect(refusal(Array(text.utf8)) != nil) }

    @Test func bodiesHaveABoundAndMustBeText() {
        #expect(refusal([UInt8](repeating: 0x20, count: CredentialUpload.bytesMax + 1)) != nil)
        #expect(refusal([0xFF, 0xFE])?.sentence.contains("UTF-8") == true)
    }

    @Test func aRefusalRepeatsNoSecret() throws {
        let pem = try RS256PrivateKey.generate().pem()
        let piece = String(pem.dropFirst(60).prefix(30))
        for text in [
            keyBody(pem), body([("key", pem)]), Array("{\"key\":\"\(piece)".utf8),
            body([("private_key", pem), ("certificate", pem)]),
        ] {
            let sentence = try #require(refusal(text)).sentence
            #expect(!sentence.contains(piece) && !sentence.contains("MII"))
        }
    }
}
