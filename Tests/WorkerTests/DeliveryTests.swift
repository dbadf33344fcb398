import Core
import Foundation
import Registry
import SimulatorKit
import Testing

@testable import WorkerKit

@Suite(.serialized) struct DeliveryTests {
    @Test func aJobReachesEveryDeviceOfItsRecipientAndCountsOnce() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2))
        try rig.publish(
            #"{"id":"01J9ZK3V8Q7M4X2C6B5N1A0D9F","app":"shop","to":{"recipient":"anna"},"title":"Hi","body":"There","unread":1,"data":{"peal_job":"j1"}}"#,
            key: "shop/anna")
        #expect(rig.wait { rig.simulator.record.count >= 2 })
        let requests = rig.simulator.record.requests(job: "j1")
        #expect(requests.map(\.status) == [200, 200])
        #expect(Set(requests.map(\.token)) == [Tokens.apns(1), Tokens.fcm(2)])
        #expect(requests.allSatisfy { $0.badge == 1 })
        #expect(try rig.unread(of: "anna") == 1)
        #expect(rig.wait { rig.accepted == 2 })
        let outcomes = try rig.read("peal.outcomes")
        #expect(outcomes.count == 2)
        #expect(outcomes.allSatisfy { $0.key == "shop/anna" })
    }
}
