import Core
import Testing

@testable import Jobs

@Suite struct AcceptedJobTests {
    @Test func `Every field of the format is read`() throws {
        let text = #"""
            { "id": "01J9ZK3V8Q7M4X2C6B5N1A0D9F",
              "app": "shop",
              "to": {"recipient": "user-123"},
              "title": "Trade executed", "subtitle": "SOL", "body": "Bought 10 SOL at $142.50", "image": "https://example.com/a.png",
              "kind": "trade", "category": "TRADE", "thread": "cnv_1", "url": "/trades/123", "sound": "default",
              "data": {"action": "open_trade", "tradeId": "123"},
              "unread": 1, "priority": "high", "ttl": 3600, "collapse": "trade-123", "dedup": "trade-123-filled",
              "topic": "trades", "campaign": "spring", "send_at": "2026-12-01T08:00:00+01:00",
              "x-note": {"any": ["thing", null, 1.5e3]},
              "apns": {"headers": {}, "payload": {}}, "fcm": {} }
            """#
        try withJob(text) { job in
            #expect(job.id?.string == "01J9ZK3V8Q7M4X2C6B5N1A0D9F")
            #expect(job.app.string == "shop")
            #expect(job.target == .recipient)
            #expect(job.recipient?.string == "user-123")
            #expect(job.token == nil && job.audience == nil)
            #expect(job.title?.string == "Trade executed")
            #expect(job.subtitle?.string == "SOL")
            #expect(job.body?.string == "Bought 10 SOL at $142.50")
            #expect(job.image?.string == "https://example.com/a.png")
            #expect(job.kind?.string == "trade")
            #expect(job.category?.string == "TRADE")
            #expect(job.thread?.string == "cnv_1")
            #expect(job.url?.string == "/trades/123")
            #expect(job.sound?.string == "default")
            #expect(job.data?.member("tradeId")?.text?.string == "123")
            #expect(job.dataCount == 2)
            #expect(job.flags.contains([.dataIsAllStrings, .hasUnread, .hasTTL, .priorityGiven, .hasSendAt]))
            #expect(job.unread == 1)
            #expect(job.priority == .high)
            #expect(job.ttlSeconds == 3600)
            #expect(job.collapse?.string == "trade-123")
            #expect(job.dedup?.string == "trade-123-filled")
            #expect(job.topic?.string == "trades")
            #expect(job.campaign?.string == "spring")
            #expect(Timestamp.rfc3339(ms: job.sendAtMs) == "2026-12-01T07:00:00.000Z")
            #expect(job.type == .alert)
            #expect(job.apnsHeaders == nil)
            #expect(job.apnsPayload == nil && job.fcm == nil)
        }
    }

    @Test func `Every shape of to is read`() throws {
        try withJob(job(#""body":"b""#, to: #"{"except":["a"],"recipient":"r"}"#)) { job in
            #expect(job.target == .others && job.deviceCount == 1)
            #expect(texts(job.devices) == ["a"])
            #expect(job.recipient.map { $0.equals("r") } == true)
        }
        try withJob(job(#""body":"b""#, to: #"{"recipient":"r","except":[]}"#)) { job in
            #expect(job.target == .others && job.deviceCount == 0)
            #expect(texts(job.devices).isEmpty)
        }
        try withJob(job(#""body":"b""#, to: #"{"recipient":"r","devices":["a","b\u00e9"]}"#)) { job in
            #expect(job.target == .devices)
            #expect(job.recipient?.string == "r")
            #expect(texts(job.devices) == ["a", "bé"])
            #expect(job.deviceCount == 2)
        }
        try withJob(job(#""body":"b""#, to: #"{"token":"aBcD","platform":"ios","environment":"sandbox"}"#)) {
            #expect($0.target == .token)
            #expect($0.token?.string == "aBcD")
            #expect($0.recipient == nil)
            #expect($0.platform == .ios)
            #expect($0.environment == .sandbox)
            #expect(texts($0.devices).isEmpty)
        }
        try withJob(job(#""body":"b""#, to: #"{"platform":"android","token":"abc:APA91b-_"}"#)) {
            #expect($0.token?.string == "abc:APA91b-_")
            #expect($0.platform == .android)
            #expect($0.environment == .production)
        }
        try withJob(job(#""body":"b""#, to: #"{"topic":"news"}"#)) {
            #expect($0.target == .topic)
            #expect($0.audience?.string == "news")
        }
        try withJob(job(#""body":"b""#, to: #"{"all":true}"#)) { #expect($0.target == .all) }
    }

    @Test(arguments: [
        (#""body":"b""#, JobType.alert, JobPriority.high), (#""subtitle":"b""#, .alert, .high),
        (#""data":{"a":1}"#, .background, .normal), (#""message":"sealed""#, .encrypted, .high),
        (#""unread":3"#, .badge, .normal), (#""apns":{"payload":{"aps":{}}}"#, .alert, .high),
        (#""fcm":{"notification":{}}"#, .alert, .high), (#""type":"background""#, .background, .normal),
        (#""type":"voip""#, .voip, .high), (#""type":"complication""#, .complication, .high),
        (#""type":"fileprovider""#, .fileprovider, .normal), (#""type":"location""#, .location, .normal),
        (#""type":"liveactivity","apns":{"payload":{"aps":{}}}"#, .liveactivity, .high),
        (#""type":"pushtotalk""#, .pushtotalk, .high), (#""type":"widgets""#, .widgets, .normal),
        (#""type":"controls""#, .controls, .normal), (#""type":"badge""#, .badge, .normal),
        (#""type":"mdm","apns":{"payload":{"mdm":"x"}}"#, .mdm, .high),
        (#""type":"encrypted","message":"m""#, .encrypted, .high),
        (#""type":"alert","body":"b","priority":"low""#, .alert, .low),
        (#""body":"b","priority":5"#, .alert, .normal), (#""body":"b","priority":10"#, .alert, .high),
        (#""body":"b","priority":1"#, .alert, .low),
        (#""body":"b","push":{"showNotification":false}"#, .alert, .normal),
    ])
    func `Type and priority follow from what is there`(members: String, type: JobType, priority: JobPriority)
        throws
    {
        try withJob(job(members)) {
            #expect($0.type == type)
            #expect($0.priority == priority)
        }
    }

    @Test func `Escapes are kept raw and decoded on request`() throws {
        try withJob(job(#""title":"a\u00e9\ud83d\ude00\"\\\/\b\f\n\r\tz","body":"plain""#)) { job in
            let title = try #require(job.title)
            #expect(title.isEscaped)
            #expect(String(decoding: title.raw, as: UTF8.self) == #"a\u00e9\ud83d\ude00\"\\\/\b\f\n\r\tz"#)
            #expect(title.string == "aé😀\"\\/\u{8}\u{C}\n\r\tz")
            #expect(title.unescapedCount == title.string.utf8.count)
            let body = try #require(job.body)
            #expect(!body.isEscaped)
            var scratch = ByteBuffer()
            #expect(body.unescaped(into: &scratch).baseAddress == body.raw.baseAddress)
            let count = scratch.count
            #expect(count == 0)
        }
    }

    @Test func `A recipient written with escapes has the key of the same recipient without`() throws {
        func key(_ to: String) throws -> String {
            try withJob(job(#""body":"b""#, to: to)) { job in
                var buffer = ByteBuffer()
                job.appendPartitionKey(to: &buffer)
                return buffer.text
            }
        }
        #expect(try key(#"{"recipient":"a/b"}"#) == "shop/a/b")
        #expect(try key(#"{"recipient":"a\/b"}"#) == "shop/a/b")
        #expect(try key(#"{"recipient":"\u0061\u002fb"}"#) == "shop/a/b")
        #expect(try key(#"{"token":"abcd","platform":"ios"}"#) == "shop/abcd")
        #expect(try key(#"{"topic":"news"}"#) == "shop/news")
        #expect(try key(#"{"all":true}"#) == "shop/*")
    }

    @Test func `An id is inserted only when there is none`() throws {
        func line(_ text: String) throws -> String {
            try withJob(text) { job in
                var buffer = ByteBuffer()
                Array("NEW".utf8).withUnsafeBytes { JobLine.append(job, withID: $0, to: &buffer) }
                return buffer.text
            }
        }
        let without = job(#""body":"b""#)
        #expect(try line("  " + without) == "  {\"id\":\"NEW\"," + without.dropFirst())
        let with = job(#""id":"old","body":"b""#)
        #expect(try line(with) == with)
        try withJob(try line(without)) { #expect($0.id?.string == "NEW") }
    }

    @Test func `A broadcast becomes a recipient's job with another id and nothing else changed`() throws {
        func line(_ text: String) throws -> String {
            try withJob(text) { job in
                var buffer = ByteBuffer()
                Array("a\"é".utf8).withUnsafeBytes { recipient in
                    Array("NEW".utf8).withUnsafeBytes {
                        JobLine.append(job, forRecipient: recipient, withID: $0, to: &buffer)
                    }
                }
                return buffer.text
            }
        }
        let to = #"{"recipient":"a\"é"}"#
        #expect(
            try line(#" { "id":"old" ,"app":"a", "to" : {"all":true} ,"body":"b\u00e9"}"#)
                == #" { "id":"NEW" ,"app":"a", "to" : "# + to + #" ,"body":"b\u00e9"}"#)
        #expect(
            try line(#"{"to":{"topic":"t"},"app":"a","body":"b","id":"old"}"#)
                == #"{"to":"# + to + #","app":"a","body":"b","id":"NEW"}"#)
        #expect(
            try line(#"{"app":"a","to":{"all":true},"body":"b"}"#)
                == #"{"id":"NEW","app":"a","to":"# + to + #","body":"b"}"#)
        try withJob(try line(job(#""body":"b""#, to: #"{"topic":"t"}"#))) {
            #expect($0.recipient?.string == "a\"é")
            #expect($0.id?.string == "NEW")
        }
    }

    @Test func `Empty texts count as not given`() throws {
        try withJob(job(#""title":"","body":"b""#)) {
            #expect($0.title == nil)
            #expect($0.body?.string == "b")
        }
    }

    @Test func `The deadline follows from ttl or expires_at`() throws {
        try withJob(job(#""body":"b","ttl":60"#)) { #expect($0.deadlineMs(publishedAtMs: 1000) == 61_000) }
        try withJob(job(#""body":"b""#)) {
            #expect($0.deadlineMs(publishedAtMs: 1000) == nil)
            #expect(!$0.isImmediate)
        }
        try withJob(job(#""body":"b","ttl":0"#)) {
            #expect($0.isImmediate)
            #expect($0.deadlineMs(publishedAtMs: 1000) == 61_000)
        }
        try withJob(job(#""body":"b","expires_at":"1970-01-01T00:00:09Z""#)) {
            #expect($0.deadlineMs(publishedAtMs: 1000) == 9000)
        }
        try withJob(job(#""body":"b","ttl":60,"send_at":"1970-01-01T00:10:00Z""#)) {
            #expect($0.deadlineMs(publishedAtMs: 1000) == 660_000)
            #expect($0.deadlineMs(publishedAtMs: 700_000) == 760_000)
        }
    }

    @Test func `A job can be moved to a copy of its bytes`() throws {
        try withJob(job(#""body":"moved""#)) { job in
            let copy = Array(job.bytes)
            copy.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                var moved = job
                moved.rebase(to: base)
                #expect(moved.body?.string == "moved")
                #expect(moved.body?.raw.baseAddress != job.body?.raw.baseAddress)
            }
        }
    }

    @Test func `A job is a few cache lines`() { #expect(MemoryLayout<Job>.size <= 192) }

    @Test func `The profile names in data are noticed, however they are escaped`() throws {
        try withJob(job(#""body":"b","data":{"conversationId":"c","\u0075nread":2,"target_url":"/x"}"#)) {
            #expect($0.dataKeys == [.conversationId, .unread, .targetURL])
            #expect(!$0.flags.contains(.dataIsAllStrings))
        }
    }

    @Test func `The sound may be a critical alert`() throws {
        try withJob(job(#""body":"b","sound":{"critical":1,"name":"alarm.caf","volume":0.5}"#)) {
            #expect($0.sound == nil)
            #expect($0.criticalSound?.member("name")?.text?.string == "alarm.caf")
        }
    }

    @Test func `A tag may be a number`() throws {
        try withJob(job(#""message":"m","tag":1108"#)) {
            #expect($0.tag == nil)
            #expect($0.numericTag.map { String(decoding: $0.raw, as: UTF8.self) } == "1108")
        }
        try withJob(job(#""message":"m","tag":"1108""#)) { #expect($0.tag?.string == "1108") }
    }
}
