import Core
import EventLoop
import Foundation
import HTTPClient
import Registry
import Security
import SimulatorKit
import Testing

@testable import GatewayKit

/// Each contract from a registration through a send to what the phone gets, against separate processes.
@Suite(.serialized, WithGatewayStack()) struct EndToEndTests {
    private let stack: GatewayStack

    init() throws { stack = try #require(GatewayStack.current) }

    private static func apple(_ digit: Character) -> String { String(repeating: digit, count: 64) }

    private func expect(_ payload: JSONValue, is text: String) throws {
        let wanted = try JSONValue.parse(text: text)
        #expect(sameJSON(payload, wanted), "\(payload.text) instead of \(wanted.text)")
    }

    /// The message of an FCM request without what says how it travels.
    private func message(_ payload: JSONValue) -> JSONValue {
        .object((payload["message"]?.members ?? []).filter { ["notification", "data"].contains($0.name) })
    }

    // MARK: Wallet alerts

    private func wallet(_ verb: String, _ body: String) throws -> Int {
        try stack.call(
            "POST", "/v2/push/\(verb)", body,
            headers: [
                "authorization": "Bearer \(GatewayStack.token("W1", "moonlight"))",
                "x-dialect-client-key": GatewayStack.clientKey,
            ]
        ).status
    }

    private func alert(_ body: String, sender: String = "moonlight") throws -> Int {
        try stack.call(
            "POST", "/v2/\(sender)/send", body, headers: ["x-dialect-api-key": GatewayStack.key]
        ).status
    }

    @Test func walletAlerts() throws {
        #expect(try wallet("subscribe", #"{"fcmToken":"fcm-w1","deviceId":"d1"}"#) == 200)
        #expect(
            try wallet("subscribe", #"{"fcmToken":"fcm-w2","deviceId":"d2","appId":"moonlight"}"#) == 200)
        let one = #""recipient":{"type":"subscriber","walletAddress":"W1"}"#
        #expect(
            try alert(
                #"{\#(one),"channels":["PUSH","IN_APP"],"message":{"title":"Trade Executed! 📈","#
                    + #""body":"Bought 10 SOL","image":"https://example.com/n.png"},"#
                    + #""push":{"playNotificationSound":true,"showNotification":true},"#
                    + #""data":{"action":"open_trade","tradeId":"123","notificationId":"n-1"}}"#) == 202)
        let wanted =
            #"{"notification":{"title":"Trade Executed! 📈","body":"Bought 10 SOL","#
            + #""image":"https://example.com/n.png"},"data":{"action":"open_trade","tradeId":"123","#
            + #""appId":"moonlight","notificationId":"n-1"}}"#
        try expect(message(try stack.payload("fcm-w1")), is: wanted)
        try expect(message(try stack.payload("fcm-w2")), is: wanted)
        // Another app's alert reaches the device that takes all apps, and says whose it is. One that names no
        // PUSH reaches nobody; that it doesn't shows when the later one is there.
        let text = #""message":{"title":"T","body":"B"}"#
        #expect(try alert(#"{\#(one),"channels":["IN_APP"],\#(text)}"#) == 202)
        #expect(try alert(#"{\#(one),"channels":["PUSH"],"topicId":"votes",\#(text)}"#) == 202)
        #expect(try alert(#"{\#(one),"channels":["PUSH"],\#(text)}"#, sender: "dapp-1") == 202)
        let second = message(try stack.payload("fcm-w1", count: 2))
        #expect(second["data"]?["appId"]?.string == "dapp-1")
        #expect(second["data"]?["notificationId"]?.string?.isEmpty == false)
        // Who follows the topic gets it.
        let topic = "/v1/apps/moonlight/recipients/W1/topics/votes"
        #expect(try stack.call("PUT", topic).status == 200)
        #expect(try alert(#"{\#(one),"channels":["PUSH"],"topicId":"votes",\#(text)}"#) == 202)
        _ = try stack.payload("fcm-w1", count: 3)
        _ = try stack.payload("fcm-w2", count: 2)
        #expect(stack.pushes("fcm-w2").count == 2)
        #expect(try wallet("unsubscribe", #"{"fcmToken":"fcm-w1","deviceId":"d1"}"#) == 200)
        #expect(try alert(#"{\#(one),"channels":["PUSH"],\#(text)}"#) == 202)
        _ = try stack.payload("fcm-w2", count: 3)
        #expect(stack.pushes("fcm-w1").count == 3)
    }

    // MARK: Support chat

    @Test func supportChat() throws {
        let customer = "/v1/apps/helpdesk/customers/c-7"
        let token = Self.apple("a")
        #expect(
            try stack.call(
                "POST", customer + "/push-tokens",
                #"{"token":"\#(token)","platform":"ios","device":"phone"}"#,
                headers: ["authorization": "Bearer \(GatewayStack.token("c-7", "helpdesk"))"]
            ).status == 200)
        // Another customer's token opens nothing.
        #expect(
            try stack.call(
                "POST", customer + "/push-tokens", #"{"token":"x","platform":"android"}"#,
                headers: ["authorization": "Bearer \(GatewayStack.token("c-8", "helpdesk"))"]
            ).status == 403)
        #expect(
            try stack.call(
                "POST", customer + "/push-tokens", #"{"token":"fcm-c7","platform":"android"}"#
            ).status == 200)
        let messages = customer + "/conversations/cnv_1/messages"
        let first = #"{"messageId":"msg_1","teamMember":"Kirill","preview":"Fixed in 2.4"}"#
        #expect(try stack.call("POST", messages, first).status == 202)
        try expect(
            try stack.payload(token),
            is: #"{"aps":{"alert":{"title":"Kirill","body":"Fixed in 2.4"},"badge":1,"thread-id":"cnv_1"},"#
                + #""concierge":{"source":"concierge","conversationId":"cnv_1","messageId":"msg_1","unread":1}}"#
        )
        try expect(
            message(try stack.payload("fcm-c7")),
            is: #"{"notification":{"title":"Kirill","body":"Fixed in 2.4"},"data":{"source":"concierge","#
                + #""conversationId":"cnv_1","messageId":"msg_1","unread":"1","title":"Kirill","#
                + #""body":"Fixed in 2.4"}}"#)
        // A repeated message is one push; the next one counts on.
        #expect(try stack.call("POST", messages, first).status == 202)
        #expect(
            try stack.call("POST", messages, #"{"messageId":"msg_2","preview":"And 2.5"}"#).status == 202)
        let second = try stack.payload(token, count: 2)
        #expect(second["aps"]?["badge"]?.integer == 2)
        #expect(second["aps"]?["alert"]?["title"]?.string == "Helpdesk")
        // A read tells the other device.
        let read = try stack.call(
            "POST", customer + "/conversations/cnv_1/read", #"{"device":"phone"}"#)
        #expect(read.body["unread"]?.integer == 0)
        let silent = try stack.payload("fcm-c7", count: 3)
        #expect(silent["message"]?["data"]?["unread"]?.string == "0")
        #expect(stack.pushes(token).count == 2)
    }

    @Test func aTokenOfTheOtherEnvironmentIsFoundOutAndADeadOneIsCleared() throws {
        let path = "/v1/apps/helpdesk/customers/c-9"
        let sandbox = "fa11fa11400000" + String(repeating: "0", count: 50)
        // The simulator says BadDeviceToken for this one in both environments, so it is cleared.
        #expect(
            try stack.call("POST", path + "/push-tokens", #"{"token":"\#(sandbox)","platform":"ios"}"#).status
                == 200)
        #expect(
            try stack.call(
                "POST", path + "/conversations/c/messages", #"{"messageId":"m","preview":"x"}"#
            ).status == 202)
        let cleared = stack.wait {
            let list = try? self.stack.call("GET", "/v1/apps/helpdesk/recipients/c-9/devices").body
            return list?["devices"]?.array?.isEmpty == true
        }
        #expect(cleared)
        #expect(Set(stack.simulator.record.requests(token: sandbox).map(\.environment.name)).count == 2)
    }

    // MARK: Creators

    @Test func creatorDeepLinks() throws {
        let token = Self.apple("b")
        let user = ["authorization": "Bearer \(GatewayStack.token("u-9", "studio"))"]
        #expect(
            try stack.call(
                "POST", "/api/creator/device_tokens", #"{"token":"\#(token)","platform":"ios"}"#,
                headers: user
            ).status == 200)
        let path = "/v1/apps/studio/creators/u-9/notifications"
        let body =
            #"{"title":"Ana","body":"Free on Friday?","kind":"chat_message","#
            + #""target_url":"/community/chat/ch_1","dedup_key":"msg-55","channel_id":"ch_1","#
            + #""sender":{"name":"Ana","avatar":"https://example.com/ana.jpg"}}"#
        #expect(try stack.call("POST", path, body).status == 202)
        try expect(
            try stack.payload(token),
            is: #"{"aps":{"alert":{"title":"Ana","body":"Free on Friday?"},"thread-id":"ch_1","#
                + #""mutable-content":1},"target_url":"/community/chat/ch_1","kind":"chat_message","#
                + #""dedup_key":"msg-55","channel_id":"ch_1","sender_name":"Ana","#
                + #""sender_avatar":"https://example.com/ana.jpg"}"#)
        #expect(try stack.call("POST", path, body).status == 202)
        #expect(
            try stack.call("POST", path, #"{"kind":"k","body":"x","target_url":"https://evil.example/"}"#)
                .status == 400)
        #expect(
            try stack.call(
                "POST", path,
                #"{"kind":"creative_approved","body":"Yes","target_url":"https://studio.example.com/c/1"}"#
            ).status == 202)
        // The repeated one stood before this in the recipient's order, so it did not go out.
        let next = try stack.payload(token, count: 2)
        #expect(next["target_url"]?.string == "https://studio.example.com/c/1")
        #expect(stack.pushes(token).count == 2)
        #expect(
            try stack.call(
                "DELETE", "/api/creator/device_tokens", #"{"token":"\#(token)"}"#, headers: user
            ).body["removed"]?.bool == true)
    }

    // MARK: Wallet requests

    @Test func encryptedWalletRequests() throws {
        let token = Self.apple("c")
        // The client is named by its own key and signs its token itself, as wallets do.
        let key = try Ed25519PrivateKey.generate()
        let client = try #require(DIDKey(publicKey: key.publicBytes)?.identifier)
        let expiry = Clock.wallMs / 1000 + 3600
        let jwt = try JWT.sign(
            header: #"{"alg":"EdDSA","typ":"JWT"}"#,
            claims: #"{"iss":"did:key:\#(client)","sub":"nonce","aud":"vault","exp":\#(expiry)}"#, key: key)
        let own = ["authorization": "Bearer \(jwt)"]
        #expect(
            try stack.call(
                "POST", "/vault/clients", #"{"client_id":"z6Mkother","type":"fcm","token":"t"}"#, headers: own
            ).status == 403)
        #expect(
            try stack.call(
                "POST", "/vault/clients",
                #"{"client_id":"did:key:\#(client)","type":"apns-sandbox","token":"\#(token)","#
                    + #""always_raw":true}"#, headers: own
            ).status == 200)
        let sealed = "AGx7c2VhbGVkfQ=="
        let push = try stack.call(
            "POST", "/vault/clients/\(client)", #"{"message":"\#(sealed)","topic":"7f2a90c1","tag":1108}"#)
        #expect(push.status == 202)
        #expect(push.body["status"]?.string == "SUCCESS")
        try expect(
            try stack.payload(token),
            is: #"{"aps":{"content-available":1,"mutable-content":1},"message":"\#(sealed)","#
                + #""topic":"7f2a90c1","tag":1108}"#)
        #expect(stack.pushes(token).first?.environment.name == "sandbox")
        for name in ["peal-producer", "peal-worker", "peal-retry"] {
            #expect(!stack.log(name).contains(sealed))
            #expect(!stack.log(name).contains(token))
        }
        #expect(try stack.call("DELETE", "/vault/clients/\(client)", headers: own).status == 200)
    }

    // MARK: Broadcasts

    @Test func aBroadcastReachesWhoFollowsTheTopic() throws {
        for name in ["b1", "b2", "b3"] {
            let recipient = "/v1/apps/shop/recipients/\(name)"
            #expect(
                try stack.call(
                    "PUT", recipient + "/devices/phone", #"{"platform":"android","token":"fcm-\#(name)"}"#
                ).status == 200)
            if name != "b3" { #expect(try stack.call("PUT", recipient + "/topics/news").status == 200) }
        }
        let sent = try stack.call(
            "POST", "/v1/apps/shop/broadcasts", #"{"to":{"topic":"news"},"title":"News","body":"For all"}"#)
        #expect(sent.status == 202)
        let id = try #require(sent.body["id"]?.string)
        for token in ["fcm-b1", "fcm-b2"] {
            #expect(try stack.payload(token)["message"]?["notification"]?["title"]?.string == "News")
        }
        let path = "/v1/apps/shop/broadcasts/\(id)"
        let isDone = stack.wait {
            (try? self.stack.call("GET", path).body["state"]?.string) == "done"
        }
        #expect(isDone)
        let status = try stack.call("GET", path).body
        #expect(status["recipients"]?.integer == 2)
        #expect(status["audience"]?.string == "topic:news")
        #expect(stack.pushes("fcm-b3").isEmpty)
        // Another app's key learns nothing of it.
        #expect(try stack.call("GET", "/v1/apps/helpdesk/broadcasts/\(id)").status == 404)
    }
}
