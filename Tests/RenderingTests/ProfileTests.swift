import Core
import Jobs
import Testing

@testable import Rendering

/// The exact bytes that the clients of the four contracts get, and those of the plain profile.
@Suite struct ProfileTests {
    static let concierge = RenderSettings(profile: .concierge, appName: "Helpful", bundleID: "com.helpful")
    static let dialect = RenderSettings(profile: .dialect, bundleID: "to.dialect")
    static let creator = RenderSettings(profile: .creator, bundleID: "co.evo.dialed")
    static let wallet = RenderSettings(profile: .wallet, bundleID: "com.wallet")

    // MARK: concierge

    static let reply = job(
        #""title":"Kirill","body":"Fixed in 2.4, update when you can","thread":"cnv_1","unread":1,"#
            + #""data":{"messageId":"msg_1"}"#)

    @Test func `concierge on APNs is what its documentation shows`() throws {
        let out = try apns(Self.reply, Self.concierge, badge: 1)
        #expect(
            out.body
                == #"{"aps":{"alert":{"title":"Kirill","body":"Fixed in 2.4, update when you can"},"badge":1,"#
                + #""thread-id":"cnv_1"},"concierge":{"source":"concierge","conversationId":"cnv_1","#
                + #""messageId":"msg_1","unread":1}}"#)
        #expect(
            out.head
                == HeadCopy(
                    result: .ok, pushType: .alert, priority: 10, expiration: nil, collapseID: nil,
                    topic: "com.helpful"
                ))
    }

    @Test func `concierge on FCM is what its documentation shows`() throws {
        let out = try fcm(Self.reply, Self.concierge, badge: 1)
        #expect(
            out.body == #"{"message":{"token":"TOKEN","notification":{"title":"Kirill","#
                + #""body":"Fixed in 2.4, update when you can"},"data":{"source":"concierge","#
                + #""conversationId":"cnv_1","messageId":"msg_1","unread":"1","title":"Kirill","#
                + #""body":"Fixed in 2.4, update when you can"},"#
                + #""android":{"priority":"HIGH","notification":{"notification_count":1}}}}"#)
    }

    @Test func `concierge takes the conversation from data when there is no thread`() throws {
        let text = job(
            #""title":"K","body":"b","data":{"conversationId":"cnv_9","messageId":"m","unread":7,"extra":true}"#
        )
        #expect(
            try apns(text, Self.concierge).body
                == #"{"aps":{"alert":{"title":"K","body":"b"},"thread-id":"cnv_9"},"concierge":{"#
                + #""source":"concierge","conversationId":"cnv_9","messageId":"m","unread":7,"extra":true}}"#)
        #expect(
            try apns(text, Self.concierge, badge: 2).body
                == #"{"aps":{"alert":{"title":"K","body":"b"},"badge":2,"thread-id":"cnv_9"},"concierge":{"#
                + #""source":"concierge","conversationId":"cnv_9","messageId":"m","unread":2,"extra":true}}"#)
        #expect(
            try fcm(text, Self.concierge, badge: 2).body
                == #"{"message":{"token":"TOKEN","notification":{"title":"K","body":"b"},"data":{"#
                + #""source":"concierge","conversationId":"cnv_9","messageId":"m","unread":"2","title":"K","#
                + #""body":"b","extra":"true"},"android":{"priority":"HIGH","notification":{"notification_count":2}}}}"#
        )
    }

    @Test func `concierge shows the app's name when team names are off or missing`() throws {
        var settings = Self.concierge
        let unnamed = job(#""body":"b","thread":"c""#)
        #expect(try apns(unnamed, settings).body.contains(#""alert":{"title":"Helpful","body":"b"}"#))
        settings.showTeamNames = false
        #expect(try apns(Self.reply, settings).body.contains(#""alert":{"title":"Helpful","body":"Fixed"#))
        let android = try fcm(Self.reply, settings).body
        #expect(android.contains(#""notification":{"title":"Helpful","#))
        #expect(android.contains(#""messageId":"msg_1","title":"Helpful","#))
        #expect(!android.contains("Kirill"))
    }

    // MARK: dialect

    static let trade = #"""
        {"id":"notification-uuid","app":"your-app-id","to":{"recipient":"r"},"title":"Trade Executed! 📈","body":"Your buy order for 10 SOL has been executed at $142.50","image":"https://example.com/i.png","data":{"action":"open_trade","tradeId":"123","amount":10,"price":"142.50"}}
        """#

    @Test func `dialect on FCM is what its documentation shows`() throws {
        #expect(
            try fcm(Self.trade, Self.dialect).body
                == #"{"message":{"token":"TOKEN","notification":{"title":"Trade Executed! 📈","#
                + #""body":"Your buy order for 10 SOL has been executed at $142.50","#
                + #""image":"https://example.com/i.png"},"data":{"action":"open_trade","tradeId":"123","#
                + #""amount":"10","price":"142.50","appId":"your-app-id","notificationId":"notification-uuid"},"#
                + #""android":{"priority":"HIGH","notification":{"sound":"default"}}}}"#)
    }

    @Test func `dialect on APNs has its data at the top level and plays a sound`() throws {
        #expect(
            try apns(Self.trade, Self.dialect).body
                == #"{"aps":{"alert":{"title":"Trade Executed! 📈","#
                + #""body":"Your buy order for 10 SOL has been executed at $142.50"},"sound":"default","#
                + #""mutable-content":1},"action":"open_trade","tradeId":"123","amount":10,"price":"142.50","#
                + #""appId":"your-app-id","notificationId":"notification-uuid","#
                + #""fcm_options":{"image":"https://example.com/i.png"}}"#)
    }

    @Test func `dialect honours playNotificationSound`() throws {
        let text = job(#""body":"b","push":{"playNotificationSound":false,"showNotification":true}"#)
        #expect(try apns(text, Self.dialect).body == #"{"aps":{"alert":{"body":"b"}},"appId":"shop"}"#)
        #expect(
            try fcm(text, Self.dialect).body
                == #"{"message":{"token":"TOKEN","notification":{"body":"b"},"data":{"appId":"shop"},"#
                + #""android":{"priority":"HIGH"}}}"#)
        let loud = job(#""body":"b","push":{"playNotificationSound":true}"#)
        #expect(try apns(loud, RenderSettings()).body == #"{"aps":{"alert":{"body":"b"},"sound":"default"}}"#)
    }

    @Test func `dialect honours showNotification`() throws {
        let text = job(
            #""title":"t","body":"b","image":"https://e.com/i","data":{"action":"a"},"push":{"showNotification":false}"#
        )
        let out = try apns(text, Self.dialect, badge: 4)
        #expect(
            out.body == #"{"aps":{"content-available":1},"action":"a","appId":"shop","#
                + #""fcm_options":{"image":"https://e.com/i"},"title":"t","body":"b","image":"https://e.com/i"}"#
        )
        #expect(out.head.pushType == .background && out.head.priority == 5)
        #expect(
            try fcm(text, Self.dialect).body
                == #"{"message":{"token":"TOKEN","data":{"action":"a","appId":"shop","title":"t","body":"b","#
                + #""image":"https://e.com/i"},"android":{"priority":"NORMAL"}}}"#)
    }

    @Test func `dialect leaves out what the sender's data already names`() throws {
        let text = job(#""id":"i","body":"b","data":{"appId":"own","notificationId":5}"#)
        #expect(
            try apns(text, Self.dialect).body
                == #"{"aps":{"alert":{"body":"b"},"sound":"default"},"appId":"own","notificationId":5}"#)
        #expect(try fcm(text, Self.dialect).body.contains(#""data":{"appId":"own","notificationId":"5"}"#))
    }

    // MARK: creator

    static let viral = job(
        #""title":"Your post is taking off","body":"12k views \u2014 وصل","image":"https://e.com/p.jpg","#
            + #""url":"/brands/123/hub","kind":"early_viral_alert","dedup":"viral-123""#)

    @Test func `creator on APNs has its routing fields at the top level`() throws {
        #expect(
            try apns(Self.viral, Self.creator).body
                == #"{"aps":{"alert":{"title":"Your post is taking off","body":"12k views \u2014 وصل"},"#
                + #""mutable-content":1},"target_url":"/brands/123/hub","kind":"early_viral_alert","#
                + #""dedup_key":"viral-123","image":"https://e.com/p.jpg"}"#)
    }

    @Test func `creator on FCM has the same in data`() throws {
        #expect(
            try fcm(Self.viral, Self.creator).body
                == #"{"message":{"token":"TOKEN","notification":{"title":"Your post is taking off","#
                + #""body":"12k views \u2014 وصل","image":"https://e.com/p.jpg"},"data":{"#
                + #""target_url":"/brands/123/hub","kind":"early_viral_alert","dedup_key":"viral-123","#
                + #""image":"https://e.com/p.jpg"},"android":{"priority":"HIGH"}}}"#)
    }

    @Test func `creator passes a sender on and asks for the service extension when there is an avatar`()
        throws
    {
        let text = job(
            #""title":"Ana","body":"hi","kind":"chat_message","thread":"ch_1","url":"/chat/ch_1","#
                + #""data":{"sender_id":"u_7","sender_name":"Ana","sender_avatar":"https://e.com/a.jpg"}"#)
        #expect(
            try apns(text, Self.creator).body
                == #"{"aps":{"alert":{"title":"Ana","body":"hi"},"thread-id":"ch_1","mutable-content":1},"#
                + #""target_url":"/chat/ch_1","kind":"chat_message","channel_id":"ch_1","sender_id":"u_7","#
                + #""sender_name":"Ana","sender_avatar":"https://e.com/a.jpg"}"#)
        let plain = job(#""title":"Test","body":"Test notification","url":"/brands/123/hub","kind":"k""#)
        #expect(
            try apns(plain, Self.creator).body
                == #"{"aps":{"alert":{"title":"Test","body":"Test notification"}},"#
                + #""target_url":"/brands/123/hub","kind":"k"}"#)
    }

    // MARK: wallet

    static let sealed = job(#""message":"c2VhbGVk+/==","topic":"7f2a","tag":"1108""#)

    @Test func `wallet on APNs is what its documentation shows`() throws {
        let out = try apns(Self.sealed, Self.wallet)
        #expect(
            out.body == #"{"aps":{"content-available":1,"mutable-content":1},"message":"c2VhbGVk+/==","#
                + #""topic":"7f2a","tag":"1108"}"#)
        #expect(out.head.pushType == .alert && out.head.priority == 10)
    }

    @Test func `wallet on FCM is data alone, at high priority`() throws {
        #expect(
            try fcm(Self.sealed, Self.wallet).body
                == #"{"message":{"token":"TOKEN","data":{"message":"c2VhbGVk+/==","topic":"7f2a","tag":"1108"},"#
                + #""android":{"priority":"HIGH"}}}"#)
    }

    @Test func `wallet keeps a numeric tag a number on APNs and makes it a string on FCM`() throws {
        let text = job(#""message":"m","tag":1108,"data":{"n":[1,"é"]}"#)
        #expect(
            try apns(text, Self.wallet, badge: 2).body
                == #"{"aps":{"content-available":1,"mutable-content":1,"badge":2},"message":"m","tag":1108,"#
                + #""n":[1,"é"]}"#)
        #expect(
            try fcm(text, Self.wallet).body.contains(#""data":{"message":"m","tag":"1108","n":"[1,\"é\"]"}"#))
    }

    @Test func `wallet may show a title until the client has decrypted`() throws {
        var settings = Self.wallet
        settings.encryptedTitle = "New \"request\""
        #expect(
            try apns(Self.sealed, settings).body.hasPrefix(
                #"{"aps":{"alert":{"title":"New \"request\""},"content-available":1,"mutable-content":1},"#))
    }

    // MARK: plain

    @Test func `plain carries every field, escapes as they were written`() throws {
        let text = job(
            #""title":"Bob \"B\" \ud83d\ude00","subtitle":"s","body":"שלום 👩‍👩‍👧 \/ \\","image":"https://e.com/i","#
                + #""kind":"k","category":"C","thread":"t","url":"https://e.com/x","sound":"ping.caf","#
                + #""data":{"n":1.50,"b":false,"o":{"q":"\"\u00e9"},"s":"x\ny"},"collapse":"c""#)
        #expect(
            try apns(text, RenderSettings(), badge: 0).body
                == #"{"aps":{"alert":{"title":"Bob \"B\" \ud83d\ude00","subtitle":"s","body":"שלום 👩‍👩‍👧 \/ \\"},"#
                + #""badge":0,"sound":"ping.caf","thread-id":"t","category":"C","mutable-content":1},"#
                + #""url":"https://e.com/x","kind":"k","image":"https://e.com/i","#
                + #""n":1.50,"b":false,"o":{"q":"\"\u00e9"},"s":"x\ny"}"#)
        #expect(
            try fcm(text, RenderSettings(), badge: 0).body
                == #"{"message":{"token":"TOKEN","notification":{"title":"Bob \"B\" \ud83d\ude00","#
                + #""body":"שלום 👩‍👩‍👧 \/ \\","image":"https://e.com/i"},"data":{"url":"https://e.com/x","kind":"k","#
                + #""image":"https://e.com/i","n":"1.50","b":"false","o":"{\"q\":\"\\\"\\u00e9\"}","s":"x\ny"},"#
                + #""android":{"priority":"HIGH","collapse_key":"c","notification":{"sound":"ping.caf","#
                + #""click_action":"C","notification_count":0}}}}"#)
    }

    @Test func `plain leaves out what isn't there`() throws {
        #expect(try apns(job(#""title":"t""#), RenderSettings()).body == #"{"aps":{"alert":{"title":"t"}}}"#)
        #expect(
            try fcm(job(#""title":"t""#), RenderSettings()).body
                == #"{"message":{"token":"TOKEN","notification":{"title":"t"},"android":{"priority":"HIGH"}}}"#
        )
    }
}
