import Core
import EventLoop
import Registry
import SimulatorKit
import TestSupport
import Testing

@testable import WorkerKit

@Suite(.serialized) struct ProxyDeliveryTests {
    @Test func everythingGoesToTheProvidersThroughTheProxy() throws {
        let proxy = try ConnectProxy(.tunnel(credentials: "peal:word"))
        defer { proxy.stop() }
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-proxied-")
        defer { Files.removeTree(folder) }
        try Files.write(path: folder + "/proxy.txt", text: "peal:word\n", mode: 0o600)
        let rig = try Rig(
            providers:
                "  proxy: {url: \"http://127.0.0.1:\(proxy.port)\", credentials_file: \(folder)/proxy.txt}")
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2))
        try rig.publish(#"{"app":"shop","to":{"recipient":"anna"},"title":"x"}"#, key: "shop/anna")
        #expect(rig.wait { rig.accepted == 2 })
        let targets = Set(proxy.requests.compactMap { $0.split(separator: " ").dropFirst().first })
        let apns = "localhost:\(rig.simulator.endpoints.apns ?? 0)"
        let fcm = "localhost:\(rig.simulator.endpoints.fcm ?? 0)"
        #expect(targets == [Substring(apns), Substring(fcm)])
        // Once for the access token and once for the notification.
        #expect(proxy.requests.count { $0.hasPrefix("CONNECT \(fcm) ") } >= 2)
        #expect(proxy.requests.allSatisfy { $0.contains("Proxy-Authorization: Basic ") })
    }
}
