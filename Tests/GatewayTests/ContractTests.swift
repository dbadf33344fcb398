import Core
import Foundation
import Redis
import Registry
import Security
import Testing

@testable import GatewayKit

@Suite struct SupportChatTests {
    private let rig: HandlerRig
    private let customer = "/v1/apps/chat/customers/c%3A7"

    init() throws { rig = try HandlerRig() }

    @Test func aTokenIsUploadedAndTakenBack() throws {
        let token = String(repeating: "0A", count: 32)
        let made = try rig.call(
            "POST", customer + "/push-tokens", #"{"token":"\#(token)","platform":"ios","sdk":"1.2"}"#)
        #expect(made.status == 200)
        let id = try #require(made.body["device"]?.string)
        #expect(try rig.devices(of: "c:7", app: "chat")[id]?.token == token.lowercased())
        // The same token again is the same device.
        _ = try rig.call("POST", customer + "/push-tokens", #"{"token":"\#(token)","platform":"ios"}"#)
        let named = try rig.call(
            "POST", customer + "/push-tokens",
            #"{"token":"fcm-1","platform":"android","device":"my phone"}"#)
        #expect(named.body["device"]?.string?.hasPrefix("d-") == true)
        #expect(try rig.devices(of: "c:7", app: "chat").count == 2)
        let gone = try rig.call("DELETE", customer + "/push-tokens", #"{"token":"\#(token)"}"#)
        #expect(gone.body["removed"]?.bool == true)
        let none = try rig.call("DELETE", customer + "/push-tokens", #"{"token":"\#(token)"}"#)
        #expect(none.body["removed"]?.bool == false)
        #expect(try rig.devices(of: "c:7", app: "chat").count == 1)
    }

    @Test func aMessageBecomesAJob() throws {
        let sent = try rig.call(
            "POST", customer + "/conversations/cnv_1/messages",
            #"{"messageId":"msg_1","teamMember":"Kirill","preview":"Fixed in 2.4"}"#)
        #expect(sent.status == 202)
        let expected = try JSONValue.parse(
            text: #"{"app":"chat","to":{"recipient":"c:7"},"title":"Kirill","body":"Fixed in 2.4","#
                + #""thread":"cnv_1","data":{"messageId":"msg_1"},"unread":1,"dedup":"msg:msg_1"}"#)
        #expect(sent.jobs == [expected])
        #expect(sent.body["id"]?.string == "made-0")
    }

    @Test(arguments: [
        ("{}", "messageId"), (#"{"messageId":"m"}"#, "preview"),
        (#"{"messageId":"m","preview":""}"#, "preview"),
        (#"{"messageId":"m","preview":"x","title":"y"}"#, "title"),
        (#"{"messageId":"m","preview":"x","ttl":-1}"#, "ttl"),
    ])
    func aBadMessageIsRefused(body: String, field: String) throws {
        let outcome = try rig.call("POST", customer + "/conversations/cnv_1/messages", body)
        #expect(outcome.status == 400)
        #expect(outcome.field == field)
    }

    @Test func anotherAppHasNoSuchPath() throws {
        let path = "/v1/apps/shop/customers/c/push-tokens"
        let outcome = try rig.call("POST", path, #"{"token":"t","platform":"android"}"#)
        #expect(outcome.status == 404)
        #expect(outcome.detail.contains("support_chat"))
    }
}

@Suite struct CreatorTests {
    private let rig: HandlerRig
    private let user = ["authorization": "Bearer user.u-9.creator"]

    init() throws { rig = try HandlerRig() }

    @Test func theAuthenticatedUsersTokenIsRegistered() throws {
        let token = String(repeating: "0a", count: 32)
        let body = #"{"token":"\#(token)","platform":"ios"}"#
        let made = try rig.call("POST", "/api/creator/device_tokens", body, headers: user)
        #expect(made.status == 200)
        #expect(try rig.devices(of: "u-9", app: "creator").values.map(\.token) == [token])
        // Another user of the phone takes the token over.
        let other = ["authorization": "Bearer user.u-10.creator"]
        _ = try rig.call("POST", "/api/creator/device_tokens", body, headers: other)
        #expect(try rig.devices(of: "u-9", app: "creator").isEmpty)
        #expect(try rig.devices(of: "u-10", app: "creator").count == 1)
        let gone = try rig.call(
            "DELETE", "/api/creator/device_tokens", #"{"token":"\#(token)"}"#, headers: other)
        #expect(gone.body["removed"]?.bool == true)
    }

    @Test(arguments: [
        [:], ["authorization": "Basic dTpw"], ["authorization": "Bearer nonsense"],
        ["authorization": "Bearer user.u.shop"], ["authorization": "Bearer"],
    ])
    func withoutAUsersTokenNothingIsRegistered(headers: [String: String]) throws {
        let outcome = try rig.call(
            "POST", "/api/creator/device_tokens", #"{"token":"t","platform":"android"}"#, headers: headers)
        #expect(outcome.status == 401)
    }

    private func notify(_ body: String) throws -> HandlerRig.Outcome {
        try rig.call("POST", "/v1/apps/creator/creators/u-9/notifications", body)
    }

    @Test func aNotificationBecomesAJob() throws {
        let sent = try notify(
            #"{"title":"Ana","body":"Free on Friday?","kind":"chat_message","target_url":"/community/chat/ch_1","#
                + #""dedup_key":"msg-55","channel_id":"ch_1","image":"https://example.com/i.jpg","#
                + #""sender":{"id":"u-2","name":"Ana","avatar":"https://example.com/ana.jpg"},"data":{"n":1}}"#
        )
        #expect(sent.status == 202)
        let expected = try JSONValue.parse(
            text: #"{"app":"creator","to":{"recipient":"u-9"},"title":"Ana","body":"Free on Friday?","#
                + #""kind":"chat_message","url":"/community/chat/ch_1","dedup":"msg-55","#
                + #""image":"https://example.com/i.jpg","thread":"ch_1","data":{"n":1,"sender_id":"u-2","#
                + #""sender_name":"Ana","sender_avatar":"https://example.com/ana.jpg"}}"#)
        // The id is the gateway's, and the answer tells it.
        let job = try #require(sent.jobs.first?.members)
        #expect(sent.jobs.count == 1)
        #expect(JSONValue.object(job.filter { $0.name != "id" }) == expected)
        #expect(sent.body["id"] == sent.jobs.first?["id"])
    }

    @Test func aRepeatedNotificationIsAnsweredAsTheFirst() throws {
        func notify(_ user: String) throws -> HandlerRig.Outcome {
            try rig.call(
                "POST", "/v1/apps/creator/creators/\(user)/notifications", #"{"kind":"k","title":"T"}"#,
                headers: ["idempotency-key": "k"])
        }
        let first = try notify("u-9")
        #expect(first.status == 202 && first.jobs.count == 1)
        let again = try notify("u-9")
        #expect(again.status == 202 && again.body == first.body && again.jobs.isEmpty)
        // The same key and body for somebody else is another request.
        #expect(try notify("u-10").status == 422)
    }

    @Test(arguments: [
        (#"{"title":"x"}"#, "kind"), (#"{"kind":"k","target_url":"//evil.example"}"#, "target_url"),
        (#"{"kind":"k","target_url":"javascript:alert(1)"}"#, "target_url"),
        (#"{"kind":"k","image":"http://example.com/i.jpg"}"#, "image"),
        (#"{"kind":"k","sender":{}}"#, "sender.name"),
        (#"{"kind":"k","sender":{"name":"a"},"data":{"sender_name":"b"}}"#, "data"),
        (#"{"kind":"k","url":"/x"}"#, "url"), (#"{"kind":"k","dedup_key":""}"#, "dedup_key"),
    ])
    func aBadNotificationIsRefused(body: String, field: String) throws {
        let outcome = try notify(body)
        #expect(outcome.status == 400)
        #expect(outcome.field == field)
    }
}

@Suite struct WalletRequestsTests {
    private let rig: HandlerRig
    private let clients = "/sealed/clients"
    private let program = ["x-api-key": "key:sealed"]

    init() throws { rig = try HandlerRig() }

    private func register(
        _ body: String, headers: [String: String], query: [(name: String, value: String)] = []
    ) throws -> HandlerRig.Outcome {
        try rig.call("POST", clients, body, headers: headers, query: query, principal: .anyone)
    }

    @Test func aClientIsRegisteredByItself() throws {
        let body = #"{"client_id":"did:key:z6Mk","type":"fcm","token":"t-1","always_raw":true,"v":2}"#
        let own = ["authorization": "Bearer user.did:key:z6Mk.sealed"]
        let made = try register(body, headers: own)
        #expect(made.status == 200)
        #expect(made.body["status"]?.string == "SUCCESS")
        #expect(try rig.devices(of: "z6Mk", app: "sealed")["client"]?.token == "t-1")
        #expect(try rig.session.command("HGET", "peal:note:{sealed:z6Mk}", "client").text == "always_raw")
        // A token in the query is as good as one in the header.
        #expect(try register(body, headers: [:], query: [("auth", "user.z6Mk.sealed")]).status == 200)
        // An API key isn't: addresses are written down in logs.
        let key = try register(body, headers: [:], query: [("auth", "key:sealed")])
        #expect(key.status == 401 && key.detail.contains("X-Api-Key"))
        #expect(
            try register(body, headers: ["x-api-key": "key:sealed"], query: [("auth", "x")]).status == 200)
        #expect(try register(body, headers: ["authorization": "Bearer user.z6Mother.sealed"]).status == 403)
        #expect(try register(body, headers: [:]).status == 401)
        #expect(try register(body, headers: ["x-api-key": "key:shop"]).status == 403)
        let path = "\(clients)/did%3Akey%3Az6Mk"
        #expect(
            try rig.call(
                "DELETE", path, headers: ["authorization": "Bearer user.z6Mother.sealed"], principal: .anyone
            ).status == 403)
        let query = [(name: "auth", value: "key:sealed")]
        #expect(try rig.call("DELETE", path, query: query, principal: .anyone).status == 401)
        #expect(try rig.call("DELETE", path, headers: own, principal: .anyone).status == 200)
        #expect(try rig.devices(of: "z6Mk", app: "sealed").isEmpty)
        #expect(try rig.call("DELETE", path, headers: own, principal: .anyone).status == 200)
    }

    @Test func theTypeSaysPlatformAndEnvironment() throws {
        let token = String(repeating: "0a", count: 32)
        for (type, platform, isSandbox) in [
            ("apns", DevicePlatform.ios, false), ("apns-sandbox", .ios, true), ("fcm", .android, false),
        ] {
            _ = try register(
                #"{"client_id":"c","type":"\#(type)","token":"\#(token)","always_raw":null}"#,
                headers: program)
            let record = try #require(try rig.devices(of: "c", app: "sealed")["client"])
            #expect(record.platform == platform)
            #expect(record.isSandbox == isSandbox)
        }
    }

    @Test(arguments: [
        (#"{"type":"fcm","token":"t"}"#, "client_id"), (#"{"client_id":"c","token":"t"}"#, "type"),
        (#"{"client_id":"c","type":"noop","token":"t"}"#, "type"),
        (#"{"client_id":"c","type":"fcm"}"#, "token"),
        (#"{"client_id":"c","type":"fcm","token":""}"#, "token"),
        (#"{"client_id":"c","type":"apns","token":"xyz"}"#, "token"),
        (#"{"client_id":"c","type":"fcm","token":"t","always_raw":"yes"}"#, "always_raw"),
    ])
    func aBadRegistrationIsRefused(body: String, field: String) throws {
        let outcome = try register(body, headers: program)
        #expect(outcome.status == 400)
        #expect(outcome.field == field)
    }

    private func push(_ body: String, headers: [String: String]? = nil) throws -> HandlerRig.Outcome {
        try rig.call("POST", clients + "/z6Mk", body, headers: headers ?? program, principal: .anyone)
    }

    @Test func aMessageTakesAnIdempotencyKeyOfItsSender() throws {
        let body = #"{"message":"AGx7","topic":"t","tag":1}"#
        let headers = program.merging(["idempotency-key": "k"]) { first, _ in first }
        let first = try push(body, headers: headers)
        #expect(first.status == 202 && first.jobs.count == 1)
        let again = try push(body, headers: headers)
        #expect(again.status == 202 && again.body == first.body && again.jobs.isEmpty)
        #expect(try push(#"{"message":"AGx8","topic":"t","tag":1}"#, headers: headers).status == 422)
        // The same key of another client's message is another request.
        let other = try rig.call(
            "POST", clients + "/z6Mother", body, headers: headers, principal: .anyone)
        #expect(other.status == 422)
    }

    @Test func aSealedMessageBecomesAJobAsItStands() throws {
        let sent = try push(
            #"{"message":"AGx7+/c2VhbGVkfQ==","topic":"7f2a90c1","tag":1108,"id":"1","payload":{"flags":1}}"#)
        #expect(sent.status == 202)
        #expect(sent.body["status"]?.string == "SUCCESS")
        let job = try #require(sent.jobs.first)
        #expect(job["type"]?.string == "encrypted")
        #expect(job["message"]?.string == "AGx7+/c2VhbGVkfQ==")
        #expect(job["topic"]?.string == "7f2a90c1")
        #expect(job["tag"] == .number("1108"))
        #expect(job["to"]?["recipient"]?.string == "z6Mk")
        // The same message again has the same key, another one another.
        let key = job["dedup"]?.string
        let again = try push(#"{"message":"AGx7+/c2VhbGVkfQ==","topic":"7f2a90c1","tag":"1108"}"#)
        #expect(again.jobs.first?["dedup"]?.string == key)
        let other = try push(#"{"message":"AGx8","topic":"7f2a90c1","tag":1108}"#)
        #expect(other.jobs.first?["dedup"]?.string != key)
    }

    @Test(arguments: [
        (#"{"topic":"t","tag":1}"#, "message"), (#"{"message":"SECRET","tag":1}"#, "topic"),
        (#"{"message":"SECRET","topic":"t"}"#, "tag"), (#"{"message":"SECRET","topic":"t","tag":-1}"#, "tag"),
        (#"{"message":"SECRET","topic":"t","tag":4294967296}"#, "tag"),
        (#"{"message":"SECRET","topic":"t","tag":[]}"#, "tag"),
        (#"{"message":"","topic":"t","tag":1}"#, "message"),
        (#"{"message":"SECRET","topic":"t","tag":1.5}"#, "tag"),
    ])
    func aBadMessageIsRefusedAndNotRepeated(body: String, field: String) throws {
        let outcome = try push(body)
        #expect(outcome.status == 400)
        #expect(outcome.field == field)
        #expect(!outcome.body.text.contains("SECRET"))
    }

    @Test func onlyAKeyOfTheProjectMayPush() throws {
        let body = #"{"message":"m","topic":"t","tag":1}"#
        #expect(try push(body, headers: [:]).status == 401)
        #expect(try push(body, headers: ["x-api-key": "key:shop"]).status == 403)
        #expect(try push(body, headers: ["authorization": "Bearer user.z6Mk.sealed"]).status == 401)
        #expect(try push(body, headers: ["authorization": "Bearer key:sealed"]).status == 202)
        #expect(
            try rig.call("POST", "/shop/clients/z6Mk", body, headers: ["x-api-key": "key:shop"]).status
                == 404)
    }

    @Test func theRelayPushesByItsSignature() throws {
        let body = #"{"message":"m","topic":"t","tag":1}"#
        let relay = try #require(HandlerRig.relayKey)
        func headers(_ stamp: String, _ signed: String) throws -> [String: String] {
            let signature = try relay.sign(Array("\(stamp).\(signed.utf8.count).\(signed)".utf8))
            return ["x-ed25519-timestamp": stamp, "x-ed25519-signature": Hex.encode(signature)]
        }
        let now = HandlerRig.nowMs
        for stamp in ["\(now)", "\(now / 1000)", "\(now - 299_000)", "\(now + 299_000)"] {
            #expect(try push(body, headers: headers(stamp, body)).status == 202)
        }
        for stamp in ["\(now - 301_000)", "\(now + 301_000)", "0", "-1", "now", "9223372036854775807"] {
            #expect(try push(body, headers: headers(stamp, body)).status == 401)
        }
        #expect(try push(body, headers: headers("\(now)", body + " ")).status == 401)
        var half = try headers("\(now)", body)
        half["x-ed25519-timestamp"] = nil
        #expect(try push(body, headers: half).status == 401)
        half = ["x-ed25519-timestamp": "\(now)", "x-ed25519-signature": "zz"]
        #expect(try push(body, headers: half).status == 401)
    }
}
