import Core
import Glibc
import Testing

@testable import Jobs

@Suite struct RefusedJobTests {
    typealias Case = (text: String, code: JobFault.Code, field: String)

    static let shapes: [Case] = [
        ("", .empty, ""), (" \n\t", .empty, ""), ("[]", .notAnObject, ""), ("\"a\"", .notAnObject, ""),
        ("1", .notAnObject, ""), ("null", .notAnObject, ""), ("{}", .missingField, "app"),
        ("{\"app\":\"a\"}", .missingField, "to"),
        ("{\"to\":{\"all\":true},\"body\":\"b\"}", .missingField, "app"),
        (job(#""body":"b"}"#), .malformed, ""), (job(#""body":"b""#) + "{}", .malformed, ""),
        (job(#""body":"b""#) + " x", .malformed, ""), ("{", .malformed, ""), ("{\"app\"", .malformed, ""),
        ("{\"app\":", .malformed, ""), ("{\"app\":\"a\",}", .malformed, ""),
        ("{\"app\" \"a\"}", .malformed, ""),
        ("{app:\"a\"}", .malformed, ""), ("{\"app\":\"a\"", .malformed, ""), ("{\"app\":\"a", .malformed, ""),
        ("{\"app\":\"a\nb\"}", .malformed, ""), (job(#""body":"\x""#), .malformed, ""),
        (job(#""body":"\u12g4""#), .malformed, ""), (job(#""body":"\u12""#), .malformed, ""),
        (job(#""data":{"a":01}"#), .malformed, ""), (job(#""data":{"a":1.}"#), .malformed, ""),
        (job(#""data":{"a":.5}"#), .malformed, ""), (job(#""data":{"a":1e}"#), .malformed, ""),
        (job(#""data":{"a":+1}"#), .malformed, ""), (job(#""data":{"a":-}"#), .malformed, ""),
        (job(#""data":{"a":tru}"#), .malformed, ""), (job(#""data":{"a":truex}"#), .malformed, ""),
        (job(#""data":{"a":NaN}"#), .malformed, ""), (job(#""data":{"a":[1,]}"#), .malformed, ""),
        (job(#""data":{"a":[1 2]}"#), .malformed, ""), (job(#""data":{"a":{"b" 1}}"#), .malformed, ""),
        (job(#""data":{"a":{"b":1]}"#), .malformed, ""), (job(#""data":{"a":12"b"}"#), .malformed, ""),
        (job(#""data":{,}"#), .malformed, ""), (job(#""data":{"a":}"#), .malformed, ""),
        (job(#""apns":{"payload":{"aps" {}}}"#), .malformed, ""), (job(#""x-a":{"b":c}"#), .malformed, ""),
        (job(#""body":"\ud800""#), .invalidText, ""), (job(#""body":"\ude00x""#), .invalidText, ""),
        (job(#""body":"\ud800\u0041""#), .invalidText, ""),
        (job(#""body":"\ud800x\udc00""#), .invalidText, ""),
        (job(#""body":"\ud800\n\udc00""#), .invalidText, ""),
        (job(#""data":{"a":["\udc00"]}"#), .invalidText, ""),
        (
            job(
                #""data":{"a":"# + String(repeating: "[", count: 31) + String(repeating: "]", count: 31) + "}"
            ),
            .tooDeep, ""
        ),
        (job(#""x-a":"# + String(repeating: "[", count: 60000)), .tooDeep, ""),
    ]

    @Test(arguments: shapes)
    func `Text that isn't a job is refused`(_ one: Case) throws {
        let fault = try #require(try fault(one.text))
        #expect(fault.code == one.code, "\(fault)")
        #expect(fault.field == one.field, "\(fault)")
    }

    static let fields: [Case] = [
        (job(#""titel":"t""#), .unknownField, "titel"), (job(#""X-a":1"#), .unknownField, "X-a"),
        (job(#""x":1"#), .unknownField, "x"), (job(#""":1"#), .unknownField, ""),
        (job(#""body":"a","body":"b""#), .duplicateField, "body"),
        (job(#""app":"b""#), .duplicateField, "app"), (job(#""title":null"#), .nullValue, "title"),
        (job(#""title":1"#), .wrongType, "title"), (job(#""body":["b"]"#), .wrongType, "body"),
        (job(#""id":"","body":"b""#), .emptyValue, "id"), (job(#""id":7,"body":"b""#), .wrongType, "id"),
        (job(#""id":"a\u0000","body":"b""#), .invalidText, "id"),
        (job(#""id":"a\n","body":"b""#), .invalidText, "id"),
        (job("\"id\":\"a\u{7F}\",\"body\":\"b\""), .invalidText, "id"),
        (job(#""thread":"","body":"b""#), .emptyValue, "thread"),
        (job("\"id\":\"" + String(repeating: "i", count: 129) + "\""), .outOfRange, "id"),
        (job(#""body":"b","ttl":-1"#), .outOfRange, "ttl"),
        (job(#""body":"b","ttl":2419201"#), .outOfRange, "ttl"),
        (job(#""body":"b","ttl":1.5"#), .wrongType, "ttl"),
        (job(#""body":"b","ttl":"60""#), .wrongType, "ttl"),
        (job(#""body":"b","ttl":1e3"#), .wrongType, "ttl"),
        (job(#""body":"b","ttl":null"#), .nullValue, "ttl"),
        (job(#""body":"b","ttl":99999999999999999999999999"#), .outOfRange, "ttl"),
        (job(#""body":"b","unread":-1"#), .outOfRange, "unread"),
        (job(#""body":"b","unread":10001"#), .outOfRange, "unread"),
        (job(#""body":"b","unread":true"#), .wrongType, "unread"),
        (job(#""body":"b","priority":"urgent""#), .invalidValue, "priority"),
        (job(#""body":"b","priority":7"#), .invalidValue, "priority"),
        (job(#""body":"b","priority":11"#), .outOfRange, "priority"),
        (job(#""body":"b","type":"push""#), .invalidValue, "type"),
        (job(#""body":"b","type":1"#), .wrongType, "type"),
        (
            job("\"body\":\"b\",\"collapse\":\"" + String(repeating: "é", count: 33) + "\""), .outOfRange,
            "collapse"
        ),
        (
            job(#""body":"b","collapse":"# + "\"" + String(repeating: #"\u00e9"#, count: 33) + "\""),
            .outOfRange,
            "collapse"
        ),
        (job(#""body":"b","collapse":"""#), .emptyValue, "collapse"),
        (job(#""body":"b","send_at":"tomorrow""#), .invalidTime, "send_at"),
        (job(#""body":"b","send_at":"2026-12-01T08:00:00""#), .invalidTime, "send_at"),
        (job(#""body":"b","send_at":1764000000"#), .wrongType, "send_at"),
        (job(#""body":"b","expires_at":"2026-02-30T08:00:00Z""#), .invalidTime, "expires_at"),
        (job(#""body":"b","expires_at":"1969-12-31T23:59:59Z""#), .outOfRange, "expires_at"),
        (job("\"body\":\"b\",\"url\":\"" + String(repeating: "u", count: 2049) + "\""), .outOfRange, "url"),
        (job(#""body":"b","sound":{"critical":1}"#), .missingField, "sound.name"),
        (job(#""body":"b","sound":false"#), .wrongType, "sound"),
        (job(#""body":"b","data":[]"#), .wrongType, "data"),
        (job(#""body":"b","data":null"#), .nullValue, "data"),
        (job(#""body":"b","data":{"a":null}"#), .nullValue, "data.a"),
        (job(#""body":"b","data":{"":"v"}"#), .emptyValue, "data"),
        (job(#""body":"b","data":{"a":1,"b":{"a":2},"a":3}"#), .duplicateField, "data.a"),
        (job(#""body":"b","data":{"a":1,"\u0061":3}"#), .duplicateField, "data.a"),
        (job(#""body":"b","data":{"from":"x"}"#), .reservedKey, "data.from"),
        (job(#""body":"b","data":{"fr\u006fm":"x"}"#), .reservedKey, "data.from"),
        (job(#""body":"b","data":{"message_type":"x"}"#), .reservedKey, "data.message_type"),
        (job(#""body":"b","data":{"google.a":"x"}"#), .reservedKey, "data.google.a"),
        (job(#""body":"b","data":{"gcm":"x"}"#), .reservedKey, "data.gcm"),
        (job(#""body":"b","data":{"aps":{}}"#), .reservedKey, "data.aps"),
        (job(#""body":"b","apns":{"header":{}}"#), .unknownField, "apns.header"),
        (job(#""body":"b","apns":{"payload":{},"payload":{}}"#), .duplicateField, "apns.payload"),
        (job(#""body":"b","apns":{"payload":[]}"#), .wrongType, "apns.payload"),
        (job(#""body":"b","apns":{"payload":{"aps":1}}"#), .wrongType, "apns.payload.aps"),
        (job(#""body":"b","apns":{"headers":{":path":"/x"}}"#), .unknownField, "apns.headers.:path"),
        (job(#""body":"b","apns":{"headers":{"apns-id":"x"}}"#), .unknownField, "apns.headers.apns-id"),
        (
            job(#""body":"b","apns":{"headers":{"apns-priority":"6"}}"#), .invalidValue,
            "apns.headers.apns-priority"
        ),
        (job(#""body":"b","apns":{"headers":{"apns-priority":10}}"#), .wrongType, "apns.headers"),
        (
            job(#""body":"b","apns":{"headers":{"apns-expiration":"soon"}}"#), .invalidValue,
            "apns.headers.apns-expiration"
        ),
        (
            job(#""body":"b","apns":{"headers":{"apns-topic":"a b"}}"#), .invalidValue,
            "apns.headers.apns-topic"
        ),
        (
            job(#""body":"b","apns":{"headers":{"apns-push-type":"badge"}}"#), .invalidValue,
            "apns.headers.apns-push-type"
        ),
        (job(#""body":"b","fcm":[]"#), .wrongType, "fcm"),
        (job(#""body":"b","fcm":null"#), .nullValue, "fcm"),
        (job(#""body":"b","fcm":{"token":"x"}"#), .contradiction, "fcm"),
        (job(#""body":"b","fcm":{"data":{"a":1}}"#), .wrongType, "fcm.data"),
        (job(#""body":"b","push":{"sound":true}"#), .unknownField, "push.sound"),
        (job(#""body":"b","push":{"showNotification":"no"}"#), .wrongType, "push.showNotification"),
        (job(#""body":"b""#).replacing("shop", with: "a/b"), .invalidValue, "app"),
        (job(#""body":"b""#).replacing("shop", with: ""), .emptyValue, "app"),
        (job(#""body":"b""#).replacing("shop", with: "\\u0061"), .invalidValue, "app"),
    ]

    @Test(arguments: fields)
    func `A wrong field is refused by its name`(_ one: Case) throws {
        let fault = try #require(try fault(one.text))
        #expect(fault.code == one.code, "\(fault)")
        #expect(fault.field == one.field, "\(fault)")
        #expect(fault.sentence.hasSuffix(".") && fault.sentence.count > 15)
    }

    static let targets: [(to: String, code: JobFault.Code, field: String)] = [
        ("{}", .missingField, "to"), ("null", .nullValue, "to"), ("\"r\"", .wrongType, "to"),
        (#"{"recipient":""}"#, .emptyValue, "to.recipient"),
        (#"{"recipient":1}"#, .wrongType, "to.recipient"),
        (#"{"recipient":"a\u0000b"}"#, .invalidText, "to.recipient"),
        (#"{"user":"a"}"#, .unknownField, "to.user"),
        (#"{"recipient":"a","recipient":"b"}"#, .duplicateField, "to.recipient"),
        (#"{"recipient":"a","token":"abcd","platform":"ios"}"#, .contradiction, "to"),
        (#"{"recipient":"a","all":true}"#, .contradiction, "to"),
        (#"{"all":false}"#, .invalidValue, "to.all"),
        (#"{"recipient":"a","platform":"ios"}"#, .contradiction, "to"),
        (#"{"topic":"a","devices":["d"]}"#, .contradiction, "to.devices"),
        (#"{"devices":["d"]}"#, .missingField, "to"),
        (#"{"recipient":"a","devices":[]}"#, .emptyValue, "to.devices"),
        (#"{"recipient":"a","devices":[""]}"#, .emptyValue, "to.devices"),
        (#"{"recipient":"a","devices":[1]}"#, .wrongType, "to.devices"),
        (#"{"recipient":"a","devices":"d"}"#, .wrongType, "to.devices"),
        (#"{"recipient":"a","devices":["d" "e"]}"#, .malformed, ""),
        (#"{"recipient":"a","except":["d"],"devices":["e"]}"#, .contradiction, "to.except"),
        (#"{"recipient":"a","except":["d"],"except":["e"]}"#, .duplicateField, "to.except"),
        (#"{"recipient":"a","except":[""]}"#, .emptyValue, "to.except"),
        (#"{"recipient":"a","except":"d"}"#, .wrongType, "to.except"),
        (#"{"all":true,"except":["d"]}"#, .contradiction, "to.except"),
        (#"{"except":["d"]}"#, .missingField, "to"),
        (#"{"token":"abcd"}"#, .missingField, "to.platform"),
        (#"{"token":"abcd","platform":"windows"}"#, .invalidValue, "to.platform"),
        (#"{"token":"abcd","platform":"ios","environment":"dev"}"#, .invalidValue, "to.environment"),
        (#"{"token":"","platform":"ios"}"#, .emptyValue, "to.token"),
        (#"{"token":"abc","platform":"ios"}"#, .invalidToken, "to.token"),
        (#"{"token":"ab","platform":"ios"}"#, .invalidToken, "to.token"),
        (#"{"token":"../../","platform":"ios"}"#, .invalidToken, "to.token"),
        (
            "{\"token\":\"\(String(repeating: "ab", count: 201))\",\"platform\":\"ios\"}", .invalidToken,
            "to.token"
        ),
        (
            "{\"token\":\"\(String(repeating: "a", count: 4097))\",\"platform\":\"android\"}", .outOfRange,
            "to.token"
        ),
        (#"{"token":"a\tb","platform":"android"}"#, .invalidText, "to.token"),
    ]

    @Test(arguments: targets)
    func `A wrong target is refused by its name`(to: String, code: JobFault.Code, field: String) throws {
        let fault = try #require(try fault(job(#""body":"b""#, to: to)))
        #expect(fault.code == code, "\(fault)")
        #expect(fault.field == field, "\(fault)")
    }

    static let contradictions: [(members: String, code: JobFault.Code, field: String)] = [
        (#""type":"background","body":"b""#, .contradiction, "type"),
        (#""type":"background","sound":"s""#, .contradiction, "type"),
        (#""type":"background","image":"i""#, .contradiction, "type"),
        (#""type":"background","priority":10"#, .contradiction, "priority"),
        (#""data":{"a":1},"priority":"high""#, .contradiction, "priority"),
        (
            #""type":"background","apns":{"headers":{"apns-priority":"10"}}"#, .contradiction,
            "apns.headers.apns-priority"
        ),
        (#""message":"m","body":"b""#, .contradiction, "message"),
        (#""message":"m","type":"alert""#, .contradiction, "message"),
        (#""type":"encrypted""#, .missingField, "message"), (#""body":"b","tag":"t""#, .contradiction, "tag"),
        (#""type":"badge","body":"b""#, .contradiction, "type"), (#""type":"alert""#, .missingField, "body"),
        ("", .missingField, "body"), (#""type":"liveactivity""#, .missingField, "apns.payload"),
        (#""type":"mdm""#, .missingField, "apns.payload"),
        (#""type":"liveactivity","priority":1,"apns":{"payload":{}}"#, .missingField, "apns.payload"),
        (#""type":"liveactivity","priority":1,"apns":{"payload":{"aps":{}}}"#, .contradiction, "priority"),
        (#""type":"pushtotalk","priority":"normal""#, .contradiction, "priority"),
        (#""type":"pushtotalk","ttl":60"#, .contradiction, "ttl"),
        (#""body":"b","ttl":60,"expires_at":"2026-12-01T08:00:00Z""#, .contradiction, "ttl"),
        (
            #""body":"b","send_at":"2026-12-01T08:00:00Z","expires_at":"2026-12-01T08:00:00Z""#,
            .contradiction,
            "expires_at"
        ),
        (#""body":"b","sound":"s","push":{"playNotificationSound":false}"#, .contradiction, "sound"),
        (
            #""type":"alert","body":"b","push":{"showNotification":false}"#, .contradiction,
            "push.showNotification"
        ),
        (#""body":"b","push":{"showNotification":false},"priority":"high""#, .contradiction, "priority"),
    ]

    @Test(arguments: contradictions)
    func `A job that contradicts itself is refused`(members: String, code: JobFault.Code, field: String)
        throws
    {
        let fault = try #require(try fault(job(members)))
        #expect(fault.code == code, "\(fault)")
        #expect(fault.field == field, "\(fault)")
    }

    @Test func `A token has no counter and takes no type of another platform`() throws {
        let android = #"{"token":"t","platform":"android"}"#
        #expect(try fault(job(#""body":"b","unread":1"#, to: android))?.field == "unread")
        #expect(try fault(job(#""type":"badge""#, to: android))?.field == "unread")
        #expect(try fault(job(#""type":"voip""#, to: android))?.field == "type")
        #expect(try fault(job(#""type":"voip""#, to: #"{"token":"abcd","platform":"ios"}"#)) == nil)
    }

    @Test func `Limits hold at their edges`() throws {
        func sized(_ count: Int) -> String {
            let frame = job(#""body":"""#).utf8.count
            return job("\"body\":\"" + String(repeating: "b", count: count - frame) + "\"")
        }
        #expect(sized(65_535).utf8.count == 65_535)
        #expect(try fault(sized(65_535)) == nil)
        #expect(try fault(sized(65_536))?.code == .tooLarge)
        func members(_ count: Int) -> String {
            job("\"data\":{" + (0..<count).map { "\"k\($0)\":\"v\"" }.joined(separator: ",") + "}")
        }
        #expect(try fault(members(256)) == nil)
        #expect(try fault(members(257))?.code == .outOfRange)
        func devices(_ count: Int) -> String {
            let ids = (0..<count).map { "\"d\($0)\"" }.joined(separator: ",")
            return job(#""body":"b""#, to: "{\"recipient\":\"r\",\"devices\":[\(ids)]}")
        }
        #expect(try fault(devices(256)) == nil)
        #expect(try fault(devices(257))?.code == .outOfRange)
        #expect(
            try fault(job("\"body\":\"b\",\"collapse\":\"" + String(repeating: "é", count: 32) + "\"")) == nil
        )
        #expect(try fault(job(#""body":"b","ttl":2419200,"unread":10000"#)) == nil)
        let nested = String(repeating: "[", count: 29) + String(repeating: "]", count: 29)
        #expect(try fault(job("\"data\":{\"a\":\(nested)}")) == nil)
    }

    @Test func `Bytes that aren't UTF-8 are refused`() throws {
        let text = Array(job("\"body\":\"?\"").utf8)
        let place = try #require(text.lastIndex(of: UInt8(ascii: "?")))
        for bad: [UInt8] in [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
        ] {
            var bytes = text
            bytes.replaceSubrange(place...place, with: bad)
            #expect(try fault(bytes)?.code == .invalidUTF8)
        }
    }

    @Test func `A fault never quotes a value and cuts long names`() throws {
        let fault = try #require(try fault(job("\"" + String(repeating: "n", count: 500) + "\":1")))
        #expect(fault.field.count < 80)
        let token = try #require(try Self.tokenFault("c0ffee-secret"))
        #expect(!token.description.contains("secret"))
    }

    private static func tokenFault(_ token: String) throws -> JobFault? {
        try fault(job(#""body":"b""#, to: "{\"token\":\"\(token)\",\"platform\":\"ios\"}"))
    }
}
