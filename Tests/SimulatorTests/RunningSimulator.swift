import Core
import EventLoop
import HTTP2
import Security
import Testing

@testable import SimulatorKit

/// A simulator on real sockets with clients that hold its credentials.
final class RunningSimulator {
    let simulator: Simulator
    let directory: String
    let providerToken: String

    init(_ change: (inout SimulatorSettings) -> Void = { _ in }) throws {
        directory = try Files.makeTemporaryDirectory(prefix: "simulator")
        var settings = SimulatorSettings()
        settings.certificateDirectory = directory
        settings.recordBytesMax = 64 << 20
        change(&settings)
        simulator = try Simulator.start(settings)
        providerToken = try JWT.appleProviderToken(
            keyID: simulator.credentials.keyID, teamID: simulator.credentials.teamID,
            issuedAtS: Clock.wallMs / 1000, key: try ES256PrivateKey(pem: simulator.credentials.apnsKeyPEM))
    }

    deinit {
        simulator.stop()
        Files.removeTree(directory)
    }

    var caFile: String { "\(directory)/\(ThrowAwayCredentials.fileNames.ca)" }

    /// A client of APNs.
    func apns(sandbox: Bool = false, token: String? = nil, limits: PoolLimits = PushClient.limits) throws
        -> PushClient
    {
        let port = try #require(sandbox ? simulator.endpoints.sandbox : simulator.endpoints.apns)
        return try PushClient(
            port: port, caFile: caFile,
            fields: [
                HeaderTemplate.Field("authorization", "bearer " + (token ?? providerToken)),
                HeaderTemplate.Field("apns-topic", "com.example.app"),
                HeaderTemplate.Field("apns-push-type", "alert"), HeaderTemplate.Field("apns-priority", "10"),
            ], limits: limits)
    }

    /// A client of FCM with an access token bought at the token endpoint.
    func fcm() throws -> PushClient {
        let port = try #require(simulator.endpoints.fcm)
        let account = try JSONValue.parse(text: simulator.credentials.serviceAccountJSON)
        func text(_ name: String) throws -> String { try #require(account[name]?.string) }
        let now = Clock.wallMs / 1000
        let assertion = try JWT.googleAssertion(
            email: try text("client_email"), keyID: try text("private_key_id"),
            audience: try text("token_uri"),
            scope: "https://www.googleapis.com/auth/firebase.messaging", issuedAtS: now,
            key: try RS256PrivateKey(pem: try text("private_key")))
        let buyer = try PushClient(
            port: port, caFile: caFile,
            fields: [HeaderTemplate.Field("content-type", "application/x-www-form-urlencoded")])
        let bought = buyer.send(
            path: "/token",
            body: "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + assertion)
        let token = try #require(bought.json?["access_token"]?.string)
        return try PushClient(
            port: port, caFile: caFile,
            fields: [
                HeaderTemplate.Field("authorization", "Bearer " + token),
                HeaderTemplate.Field("content-type", "application/json"),
            ])
    }

    static let body = "{\"aps\":{\"alert\":\"hi\",\"badge\":3},\"peal_job\":\"J1\"}"

    /// A device path whose token is this number.
    static func path(_ number: Int) -> String {
        let text = String(number, radix: 16)
        return "/3/device/" + String(repeating: "0", count: 16 - text.count) + text
    }

    static func id(_ number: Int) -> String {
        let text = String(number, radix: 16)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - text.count) + text
    }

    func message(_ token: String) -> String {
        "{\"message\":{\"token\":\"\(token)\",\"data\":{\"peal_job\":\"J2\",\"unread\":\"4\"}}}"
    }

    var sendPath: String { "/v1/projects/\(simulator.credentials.projectID)/messages:send" }
}
