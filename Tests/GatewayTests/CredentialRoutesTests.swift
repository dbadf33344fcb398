import Configuration
import Core
import HTTPServer
import Logging
import Redis
import Registry
import Security
import Testing
import TestSupport

@testable import GatewayKit

@Suite(.serialized) struct CredentialRoutesTests {
    /// A server of the test's own and the routes over it.
    private final class Setting {
        let server: PrivateRedisServer
        let session: RedisSession
        let table: RouteTable

        init(_ configuration: String, hasRing: Bool = true) throws {
            server = try PrivateRedisServer()
            try server.start()
            var options = RedisClientOptions(endpoint: server.endpoint)
            options.scripts = RegistryScripts.all
            session = try RedisSession(options: options)
            let settings = try Configuration.parse(Array(configuration.utf8), file: "peal.yaml")
            let ring = hasRing ? try SealingRing(current: try SealingRing.generate()) : nil
            table = RouteTable(CredentialRoutes.routes(settings, ring: ring, logger: .silent))
        }

        deinit {
            session.close()
            server.stop()
        }

        /// The status and the body of the answer or of the problem.
        func call(_ method: String, app: String = "shop", kind: String? = nil, _ body: String = "") throws
            -> (
                status: Int, text: String
            )
        {
            let segments = ["v1", "apps", app, "credentials"] + (kind.map { [$0] } ?? [])
            guard case .route(let route, let parameters) = table.match(method: method, segments: segments)
            else {
                return (405, "")
            }
            #expect(route.access == .key(.admin))
            guard case .registry(let work) = route.work else { return (500, "") }
            let request = HTTPRequest(
                method: method, path: "/" + segments.joined(separator: "/"), body: Array(body.utf8))
            let call = GatewayCall(
                request: request, parameters: parameters, app: app, principal: .key("ops"), requestID: "r",
                nowMs: 1_800_000_000_000)
            do {
                guard case .answer(let response) = try work(call, session) else { return (500, "") }
                return (response.status, String(decoding: response.body, as: UTF8.self))
            } catch let problem as Problem {
                return (problem.status, problem.detail + " [" + problem.field + "]")
            }
        }
    }

    private static let configuration = """
        credentials: {master_key_file: master.key}
        apps:
          shop: {}
          files: {fcm: {service_account_file: a.json}}
          printed: {provider: log}
        """

    private func upload(_ pem: String, keyID: String = "KEY0000001", topic: String = "com.example.shop")
        -> String
    {
        JSONValue.object(
            [("key", pem), ("key_id", keyID), ("team_id", "TEAM000001"), ("topic", topic)].map {
                .init(name: $0.0, value: .string($0.1))
            }
        ).text
    }

    @Test func anUploadIsListedWithoutItsSecretAndRemoved() throws {
        let setting = try Setting(Self.configuration)
        let pem = try ES256PrivateKey.generate().pem()
        #expect(
            try setting.call("GET").text == #"{"app":"shop","source":"uploaded","credentials":[]}"# + "\n")
        let put = try setting.call("PUT", kind: "apns", upload(pem))
        #expect(put.status == 200)
        #expect(put.text.contains(#""key_id":"KEY0000001""#) && put.text.contains(#""by":"ops""#))
        let list = try setting.call("GET")
        #expect(list.status == 200 && list.text.contains(#""uploaded_ms":1800000000000"#))
        let piece = String(pem.split(separator: "\n")[1].prefix(24))
        for text in [put.text, list.text] {
            #expect(!text.contains(piece) && !text.contains("PRIVATE") && !text.contains("sealed"))
        }
        let replaced = try setting.call("PUT", kind: "apns", upload(pem, keyID: "KEY0000002"))
        #expect(replaced.status == 200)
        #expect(try setting.call("GET").text.contains("KEY0000002"))
        #expect(try setting.call("DELETE", kind: "apns").status == 204)
        #expect(try setting.call("DELETE", kind: "apns").status == 404)
        #expect(try !setting.call("GET").text.contains("KEY000000"))
    }

    @Test func noPieceOfAKeyIsAnywhereInRedis() throws {
        let setting = try Setting(Self.configuration)
        let pem = try ES256PrivateKey.generate().pem()
        #expect(try setting.call("PUT", kind: "apns", upload(pem)).status == 200)
        let lines = pem.split(separator: "\n").dropFirst().dropLast().map(String.init)
        #expect(lines.count >= 3)
        var seen = 0
        for key in try setting.session.command("KEYS", "*").array.compactMap(\.text) {
            let raw = try setting.session.command("HGETALL", key).array.compactMap(\.text)
            for value in raw {
                seen += 1
                #expect(!value.contains("PRIVATE KEY"))
                // In clear, and as base64 of the PEM text at each of the three alignments.
                for line in lines {
                    #expect(!value.contains(line.prefix(16)))
                    for offset in 0..<3 {
                        let piece = Base64.encodeURL(Array(line.utf8.dropFirst(offset).prefix(24)))
                        #expect(!value.contains(piece.dropLast(2)))
                    }
                }
            }
        }
        #expect(seen == 4)
    }

    @Test func theConfigurationWins() throws {
        let setting = try Setting(Self.configuration)
        let body = upload(try ES256PrivateKey.generate().pem())
        let files = try setting.call("PUT", app: "files", kind: "apns", body)
        #expect(files.status == 409 && files.text.contains("credential files"))
        #expect(try setting.call("GET", app: "files").text.contains(#""source":"files""#))
        let printed = try setting.call("PUT", app: "printed", kind: "apns", body)
        #expect(printed.status == 409 && printed.text.contains("provider: log"))
        #expect(try setting.call("PUT", app: "nowhere", kind: "apns", body).status == 404)
        #expect(try setting.session.command("KEYS", "*").array.isEmpty)
    }

    @Test func mistakesAreNamed() throws {
        let setting = try Setting(Self.configuration)
        let pem = try ES256PrivateKey.generate().pem()
        #expect(try setting.call("PUT", kind: "gcm", upload(pem)).text.contains("apns, apns-sandbox, fcm"))
        let bad = try setting.call("PUT", kind: "apns", upload("no key"))
        #expect(bad.status == 400 && bad.text.hasSuffix("[key]"))
        #expect(try setting.call("PUT", kind: "fcm", upload(pem)).status == 400)
        #expect(try setting.call("PUT", kind: "apns", upload(pem)).status == 200)
        let other = try setting.call("PUT", kind: "apns-sandbox", upload(pem, topic: "com.example.other"))
        #expect(other.status == 409 && other.text.contains("another topic"))
        #expect(try setting.call("PUT", kind: "apns-sandbox", upload(pem)).status == 200)
    }

    @Test func withoutAMasterKeyNothingIsTaken() throws {
        let setting = try Setting("apps: {shop: {}}", hasRing: false)
        let refused = try setting.call("PUT", kind: "apns", upload(try ES256PrivateKey.generate().pem()))
        #expect(refused.status == 409 && refused.text.contains("master_key_file"))
    }
}
