import Core
import EventLoop
import Foundation
import Redis
import TestSupport
import Registry
import Security
import Testing

@testable import GatewayKit

@Suite struct WalletAlertsTests {
    private let rig: HandlerRig

    init() throws { rig = try HandlerRig() }

    private func subscription(
        _ verb: String, _ wallet: String, _ body: String, key: String? = HandlerRig.clientKey
    ) throws -> HandlerRig.Outcome {
        var headers = ["authorization": "Bearer user.\(wallet).wallet"]
        if let key { headers["x-dialect-client-key"] = key }
        return try rig.call("POST", "/v2/push/\(verb)", body, headers: headers, principal: .anyone)
    }

    private func send(_ body: String, sender: String = "wallet", key: String? = nil) throws
        -> HandlerRig.Outcome
    {
        try rig.call(
            "POST", "/v2/\(sender)/send", body, headers: ["x-dialect-api-key": key ?? "key:\(sender)"],
            principal: .anyone)
    }

    /// Every operation of this contract that publishes takes a key, and a repeat publishes nothing.
    @Test(arguments: [
        ("send", #"{"type":"subscribers","walletAddresses":["W1","W2"]}"#, 2),
        ("send", #"{"type":"all"}"#, 2), ("send-batch", "", 2),
    ])
    func aRepeatedSendPublishesNothing(operation: String, recipient: String, count: Int) throws {
        let body =
            operation == "send"
            ? alert(recipient) : #"{"alerts":[\#(alert(one("W1"))),\#(alert(one("W1")))]}"#
        func send(_ key: String, _ body: String) throws -> HandlerRig.Outcome {
            try rig.call(
                "POST", "/v2/wallet/\(operation)", body,
                headers: ["x-dialect-api-key": "key:wallet", "idempotency-key": key], principal: .anyone)
        }
        let first = try send("k-1", body)
        #expect(first.status == 202 && first.body == .object([]) && first.jobs.count == count)
        let ids = first.jobs.compactMap { $0["id"]?.string }
        #expect(Set(ids).count == count && ids.allSatisfy { $0.utf8.count == 32 })
        let again = try send("k-1", body)
        #expect(again.status == 202 && again.body == .object([]) && again.jobs.isEmpty)
        #expect(try send("k-1", body + " ").status == 422)
        // Another key is another send, with ids of its own.
        let other = try send("k-2", body)
        let others = Set(other.jobs.map { $0["id"]?.string ?? "" })
        #expect(others.isDisjoint(with: ids))
        #expect(try send("", body).status == 400)
    }

    /// What nothing came of is sent again, under the same ids, which nobody has kept.
    @Test func aSendThatGotNowhereHasTheSameIDsWhenItIsRepeated() throws {
        let body = alert(#"{"type":"subscribers","walletAddresses":["W1","W2","W1"]}"#)
        let headers = ["x-dialect-api-key": "key:wallet", "idempotency-key": "k-3"]
        rig.refusesJobs = true
        let first = try rig.call("POST", "/v2/wallet/send", body, headers: headers, principal: .anyone)
        rig.refusesJobs = false
        let next = try rig.call("POST", "/v2/wallet/send", body, headers: headers, principal: .anyone)
        let ids = next.jobs.compactMap { $0["id"]?.string }
        let before = first.jobs.map { $0["id"]?.string ?? "" }
        #expect(ids.count == next.jobs.count && ids == before)
        #expect(Set(ids).count == ids.count)
    }

    /// What is kept of a send doesn't grow with its recipients.
    @Test func aSendToManyKeepsLittle() throws {
        let wallets = (0..<2_000).map { "\"W\($0)\"" }.joined(separator: ",")
        let sent = try rig.call(
            "POST", "/v2/wallet/send", alert(#"{"type":"subscribers","walletAddresses":[\#(wallets)]}"#),
            headers: ["x-dialect-api-key": "key:wallet", "idempotency-key": "k-4"], principal: .anyone)
        #expect(sent.jobs.count == 2_000)
        let key = Hex.encode(SHA256.hash(text: "k-4"))
        let answer = try rig.session.command("HGET", "peal:idem:{backend:\(key)}", "a").text
        #expect(answer == #"{"jobs":[]}"# + "\n")
    }

    private func alert(_ recipient: String, _ more: String = "") -> String {
        #"{"recipient":\#(recipient),"channels":["PUSH","IN_APP"],"message":{"title":"T","body":"B"}\#(more)}"#
    }

    private func one(_ wallet: String) -> String { #"{"type":"subscriber","walletAddress":"\#(wallet)"}"# }

    // MARK: Subscriptions

    @Test func aDeviceIsSubscribedForAllAppsAndUnsubscribed() throws {
        let made = try subscription("subscribe", "W1", #"{"fcmToken":"t-1","deviceId":"phone","extra":1}"#)
        #expect(made.status == 200)
        #expect(made.body == .object([]))
        #expect(try rig.devices(of: "W1", app: "wallet")["phone"]?.token == "t-1")
        #expect(try rig.devices(of: "W1", app: "wallet")["phone"]?.platform == .android)
        let sent = try send(alert(one("W1")))
        #expect(sent.status == 202)
        #expect(sent.body == .object([]))
        #expect(sent.jobs.map { $0["to"] } == [.object([.init(name: "recipient", value: .string("W1"))])])
        let gone = try subscription("unsubscribe", "W1", #"{"fcmToken":"t-1","deviceId":"phone"}"#)
        #expect(gone.status == 200)
        #expect(try rig.devices(of: "W1", app: "wallet").isEmpty)
        #expect(try subscription("unsubscribe", "W1", #"{"fcmToken":"t-1"}"#).status == 200)
    }

    @Test func withoutADeviceIDTheTokenIsTheDevice() throws {
        _ = try subscription("subscribe", "W1", #"{"fcmToken":"t-1"}"#)
        _ = try subscription("subscribe", "W1", #"{"fcmToken":"t-1"}"#)
        _ = try subscription("subscribe", "W1", #"{"fcmToken":"t-2","deviceId":"id with: blanks"}"#)
        #expect(try rig.devices(of: "W1", app: "wallet").count == 2)
        // A client that forgot its device id is found by its token.
        _ = try subscription("unsubscribe", "W1", #"{"fcmToken":"t-2"}"#)
        #expect(try rig.devices(of: "W1", app: "wallet").values.map(\.token) == ["t-1"])
    }

    @Test(arguments: ["*", "@alerts/*", "@alerts/=dapp-1", "a\\nb"])
    func aSenderCannotNameTheGatewaysOwnTopics(topic: String) throws {
        let sent = try send(
            alert(#"{"type":"all-subscribers"}"#, #","topicId":"\#(topic)""#), sender: "dapp-1")
        #expect(sent.status == 400 && sent.jobs.isEmpty)
    }

    @Test func whatIsTooLargeForSoManyIsRefusedBeforeItIsCopied() throws {
        let wallets = (0..<2_000).map { "\"w\($0)\"" }.joined(separator: ",")
        let many = #"{"type":"subscribers","walletAddresses":[\#(wallets)]}"#
        func send(_ bytes: Int, to recipient: String) throws -> HandlerRig.Outcome {
            try self.send(alert(recipient, #","data":{"x":"\#(String(repeating: "a", count: bytes))"}"#))
        }
        let job = try send(70_000, to: one("W1"))
        #expect(job.status == 400 && job.detail.contains("65535"))
        let all = try send(60_000, to: many)
        #expect(all.status == 400 && all.detail.contains("fewer"))
        #expect(try send(20, to: many).jobs.count == 2_000)
    }

    @Test func aSubscriptionWaitsForAnotherOneOfTheWallet() throws {
        let endpoint = rig.redis.endpoint
        let isTaken = Locked(false)
        let hasEnded = Locked(false)
        let other = WorkerThread.start(name: "other") {
            guard let session = try? RedisSession.patient(endpoint, scripts: RegistryScripts.all) else {
                return
            }
            let lock = RegistryLock(session: session, app: "wallet", name: "alerts:W1")
            guard (try? lock.take()) != nil else { return }
            isTaken.withLock { $0 = true }
            usleep(200_000)
            hasEnded.withLock { $0 = true }
            lock.release()
        }
        let giveUp = Clock.monotonicMs + 60_000
        while !isTaken.withLock({ $0 }), Clock.monotonicMs < giveUp { usleep(1_000) }
        let made = try subscription("subscribe", "W1", #"{"fcmToken":"t-1","deviceId":"phone"}"#)
        #expect(made.status == 200)
        #expect(hasEnded.withLock { $0 })
        other.join()
    }

    @Test func aSendWithoutItsKeyIsToldWhichHeaderToUse() throws {
        let path = "/v2/wallet/send"
        let none = try rig.call("POST", path, alert(one("W1")), principal: .anyone)
        #expect(none.status == 401)
        #expect(none.detail == "Send an API key in the header x-dialect-api-key.")
        let unknown = try send(alert(one("W1")), key: "nobody's")
        #expect(unknown.status == 401 && unknown.detail.contains("x-dialect-api-key"))
        #expect(try send(alert(one("W1")), key: "key:alone").status == 403)
    }

    @Test func aDeviceTakesTheAlertsOfTheAppsThatItSubscribedTo() throws {
        _ = try subscription("subscribe", "W1", #"{"fcmToken":"a","deviceId":"all"}"#)
        _ = try subscription("subscribe", "W1", #"{"fcmToken":"b","deviceId":"one","appId":"dapp-1"}"#)
        func devices(_ sender: String) throws -> JSONValue? {
            try send(alert(one("W1")), sender: sender).jobs.first?["to"]?["devices"]
        }
        // Nobody has to be named where all devices take it.
        #expect(try devices("dapp-1") == nil)
        #expect(try devices("dapp-2") == .array([.string("all")]))
        _ = try subscription("subscribe", "W1", #"{"fcmToken":"b","deviceId":"one","appId":"dapp-2"}"#)
        #expect(try devices("dapp-2") == nil)
        // Of everything but one app.
        _ = try subscription("unsubscribe", "W1", #"{"fcmToken":"a","deviceId":"all","appId":"dapp-1"}"#)
        #expect(try devices("dapp-1") == .array([.string("one")]))
        #expect(try rig.devices(of: "W1", app: "wallet").count == 2)
        _ = try subscription("unsubscribe", "W1", #"{"fcmToken":"b","deviceId":"one","appId":"dapp-1"}"#)
        #expect(try send(alert(one("W1")), sender: "dapp-1").jobs.isEmpty)
        // The last app of a device takes the device along.
        _ = try subscription("unsubscribe", "W1", #"{"fcmToken":"b","deviceId":"one","appId":"dapp-2"}"#)
        #expect(try rig.devices(of: "W1", app: "wallet").keys.sorted() == ["all"])
        // A device that comes back knows nothing of what it took before.
        _ = try subscription("unsubscribe", "W1", #"{"fcmToken":"a","deviceId":"all"}"#)
        _ = try subscription("subscribe", "W1", #"{"fcmToken":"a","deviceId":"all"}"#)
        #expect(try send(alert(one("W1")), sender: "dapp-1").jobs.count == 1)
    }

    @Test func aLostDeviceLeavesNoOldScopeBehind() throws {
        _ = try subscription("subscribe", "W1", #"{"fcmToken":"a","deviceId":"p","appId":"dapp-1"}"#)
        // The token moves to another wallet, so the first one loses the device without a word to its note.
        _ = try subscription("subscribe", "W2", #"{"fcmToken":"a","deviceId":"p"}"#)
        #expect(try rig.devices(of: "W1", app: "wallet").isEmpty)
        _ = try subscription("subscribe", "W1", #"{"fcmToken":"b","deviceId":"p","appId":"dapp-2"}"#)
        #expect(try send(alert(one("W1")), sender: "dapp-1").jobs.isEmpty)
        #expect(try send(alert(one("W1")), sender: "dapp-2").jobs.count == 1)
    }

    @Test func whoMaySubscribe() throws {
        let body = #"{"fcmToken":"t"}"#
        #expect(try subscription("subscribe", "W1", body, key: nil).status == 401)
        #expect(try subscription("subscribe", "W1", body, key: "dk_other").status == 401)
        let foreign = try rig.call(
            "POST", "/v2/push/subscribe", body,
            headers: ["authorization": "Bearer user.W1.shop", "x-dialect-client-key": HandlerRig.clientKey])
        #expect(foreign.status == 401)
        let none = try rig.call(
            "POST", "/v2/push/subscribe", body, headers: ["x-dialect-client-key": HandlerRig.clientKey])
        #expect(none.status == 401)
        #expect(try subscription("subscribe", "W1", "{}").field == "fcmToken")
        #expect(try subscription("subscribe", "W1", #"{"fcmToken":"t","appId":"alone"}"#).field == "appId")
    }

    // MARK: Sends

    @Test func anAlertBecomesAJob() throws {
        let sent = try send(
            #"{"recipient":{"type":"subscriber","walletAddress":"W1"},"channels":["PUSH"],"#
                + #""message":{"title":"Custom","body":"Data","image":"https://example.com/i.png","#
                + #""actions":[{"type":"link","label":"Open","url":"https://example.com"}]},"#
                + #""push":{"playNotificationSound":false,"showNotification":true},"topicId":null,"#
                + #""data":{"action":"custom_action","n":"1"}}"#, sender: "dapp-1")
        let expected = try JSONValue.parse(
            text: #"{"app":"wallet","title":"Custom","body":"Data","image":"https://example.com/i.png","#
                + #""push":{"playNotificationSound":false,"showNotification":true},"#
                + #""data":{"action":"custom_action","n":"1","appId":"dapp-1"},"to":{"recipient":"W1"}}"#)
        #expect(sent.jobs == [expected])
    }

    @Test func withoutTheChannelPushNothingIsPushed() throws {
        let sent = try send(
            #"{"recipient":{"type":"all-subscribers"},"channels":["EMAIL","IN_APP","TELEGRAM"],"#
                + #""message":{"title":"T","body":"B"}}"#)
        #expect(sent.status == 202)
        #expect(sent.jobs.isEmpty)
    }

    @Test func aTopicReachesThoseWhoFollowIt() throws {
        let index = SubscriberIndex(session: rig.session, app: "wallet")
        try index.subscribe("W1", "governance")
        let topic = #","topicId":"governance""#
        let sent = try send(
            alert(#"{"type":"subscribers","walletAddresses":["W1","W2"]}"#, topic))
        #expect(sent.jobs.map { $0["to"]?["recipient"]?.string } == ["W1"])
        #expect(sent.jobs.first?["topic"]?.string == "governance")
        let all = try send(alert(#"{"type":"all-subscribers"}"#, topic))
        #expect(all.jobs.map { $0["to"]?["topic"]?.string } == ["governance"])
    }

    @Test func severalWalletsGetAJobEach() throws {
        let wallets = (0..<300).map { "\"W\($0)\"" }.joined(separator: ",")
        let sent = try send(alert(#"{"type":"subscribers","walletAddresses":[\#(wallets)]}"#))
        #expect(sent.jobs.count == 300)
        #expect(sent.jobs.last?["to"]?["recipient"]?.string == "W299")
    }

    @Test func aBroadcastReachesEveryDeviceThatTakesIt() throws {
        _ = try subscription("subscribe", "all", #"{"fcmToken":"1","deviceId":"p"}"#)
        _ = try subscription("subscribe", "one", #"{"fcmToken":"2","deviceId":"p","appId":"dapp-1"}"#)
        _ = try subscription("subscribe", "two", #"{"fcmToken":"3","deviceId":"p","appId":"dapp-2"}"#)
        _ = try subscription("subscribe", "mix", #"{"fcmToken":"4","deviceId":"p"}"#)
        _ = try subscription("subscribe", "mix", #"{"fcmToken":"5","deviceId":"q","appId":"dapp-2"}"#)
        let jobs = try send(alert(#"{"type":"all-subscribers"}"#), sender: "dapp-1").jobs
        let index = SubscriberIndex(session: rig.session, app: "wallet")
        var reached: [String] = []
        for job in jobs {
            if let topic = job["to"]?["topic"]?.string {
                for shard in try index.members(topic, shards: 0..<SubscriberIndex.shards) {
                    reached += shard.recipients.map { String(decoding: $0, as: UTF8.self) }
                }
            } else {
                #expect(job["to"]?["devices"] == .array([.string("p")]))
                reached.append(job["to"]?["recipient"]?.string ?? "")
            }
        }
        #expect(reached.sorted() == ["all", "mix", "one"])
        // Who leaves is found no more.
        _ = try subscription("unsubscribe", "one", #"{"fcmToken":"2","deviceId":"p"}"#)
        #expect(try index.topics(of: "one").isEmpty)
    }

    @Test func anAppWithoutOtherSendersBroadcastsToEverybody() throws {
        let sent = try send(alert(#"{"type":"all"}"#), sender: "alone")
        #expect(sent.jobs.map { $0["to"]?["all"]?.bool } == [true])
    }

    @Test func aBatchNamesItsFault() throws {
        func batch(_ alerts: String) throws -> HandlerRig.Outcome {
            try rig.call(
                "POST", "/v2/wallet/send-batch", #"{"alerts":[\#(alerts)]}"#,
                headers: ["x-dialect-api-key": "key:wallet"])
        }
        let good = try batch("\(alert(one("W1"))),\(alert(one("W2")))")
        #expect(good.jobs.map { $0["to"]?["recipient"]?.string } == ["W1", "W2"])
        let bad = try batch("\(alert(one("W1"))),\(alert(#"{"type":"all-subscribers"}"#))")
        #expect(bad.status == 400)
        #expect(bad.field == "recipient.type")
        #expect(bad.body["index"]?.integer == 1)
        #expect(try batch("").field == "alerts")
        #expect(try batch("1").body["index"]?.integer == 0)
    }

    @Test(arguments: [
        (#"{"channels":["PUSH"],"message":{"title":"T","body":"B"}}"#, "recipient"),
        (
            #"{"recipient":{"type":"nobody"},"channels":["PUSH"],"message":{"title":"T","body":"B"}}"#,
            "recipient.type"
        ),
        (
            #"{"recipient":{"type":"subscriber"},"channels":["PUSH"],"message":{"title":"T","body":"B"}}"#,
            "recipient.walletAddress"
        ),
        (
            #"{"recipient":{"type":"subscribers","walletAddresses":[]},"channels":["PUSH"],"message":{"title":"T","body":"B"}}"#,
            "recipient.walletAddresses"
        ),
        (#"{"recipient":{"type":"all"},"message":{"title":"T","body":"B"}}"#, "channels"),
        (#"{"recipient":{"type":"all"},"channels":[],"message":{"title":"T","body":"B"}}"#, "channels"),
        (
            #"{"recipient":{"type":"all"},"channels":["PUSHES"],"message":{"title":"T","body":"B"}}"#,
            "channels"
        ),
        (#"{"recipient":{"type":"all"},"channels":["PUSH"]}"#, "message"),
        (#"{"recipient":{"type":"all"},"channels":["PUSH"],"message":{"title":"T"}}"#, "message.body"),
        (
            #"{"recipient":{"type":"all"},"channels":["PUSH"],"message":{"title":"T","body":"B"},"data":[]}"#,
            "data"
        ),
        (
            #"{"recipient":{"type":"all"},"channels":["PUSH"],"message":{"title":"T","body":"B"},"push":{"showNotification":1}}"#,
            "push.showNotification"
        ),
    ])
    func aBadAlertIsRefused(body: String, field: String) throws {
        let outcome = try send(body)
        #expect(outcome.status == 400)
        #expect(outcome.field == field)
    }

    @Test func whoMaySend() throws {
        let body = alert(one("W1"))
        #expect(try rig.call("POST", "/v2/wallet/send", body).status == 401)
        #expect(try send(body, key: "nonsense").status == 401)
        #expect(try send(body, sender: "dapp-1", key: "key:dapp-2").status == 403)
        #expect(try send(body, sender: "shop").status == 404)
        #expect(try send(body, sender: "dapp-3").status == 404)
    }
}
