import Core
import Jobs
import Testing

@testable import Rendering

@Suite struct MergeTests {
    func merge(_ base: String, _ patch: String) -> String {
        var out = ByteBuffer()
        Array(base.utf8).withUnsafeBytes { base in
            Array(patch.utf8).withUnsafeBytes { patch in
                JSONMerge.append(
                    JSONSlice(raw: base, isEscaped: false),
                    patchedWith: JSONSlice(raw: patch, isEscaped: false),
                    to: &out)
            }
        }
        return out.text
    }

    /// RFC 7386, appendix A, as far as the cases are objects.
    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"{"a":"foo"}"#, "null", "null"),
        (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        (#"{"a":1}"#, #"{"a":{"b":null,"c":1}}"#, #"{"a":{"b":null,"c":1}}"#),
        (#"{"a":1}"#, #"{"\u0061":2}"#, #"{"a":2}"#), (#"{ }"#, #"{"a":1,"a":2}"#, #"{"a":2}"#),
        (
            #"{"a" : { "b" : [ 1 , 2 ] } , "c" : "}" }"#, #"{ "c" : "{" }"#,
            #"{"a":{ "b" : [ 1 , 2 ] },"c":"{"}"#
        ),
    ])
    func `A patch is merged as RFC 7386 says`(base: String, patch: String, result: String) {
        #expect(merge(base, patch) == result)
    }

    @Test func `apns payload is merged last, into the payload, aps and the alert`() throws {
        let text = job(
            #""title":"t","body":"b","data":{"a":1,"b":2},"apns":{"payload":{"b":{"c":3},"z":0,"aps":{"#
                + #""interruption-level":"time-sensitive","badge":null,"alert":{"loc-key":"L","body":null}}}}"#
        )
        #expect(
            try apns(text, RenderSettings(), badge: 2).body
                == #"{"aps":{"alert":{"title":"t","loc-key":"L"},"interruption-level":"time-sensitive"},"#
                + #""a":1,"b":{"c":3},"z":0}"#)
    }

    @Test func `fcm is merged last into the message`() throws {
        let text = job(
            #""body":"b","data":{"a":1},"fcm":{"data":{"b":"2"},"android":{"priority":"NORMAL","notification":{"#
                + #""tag":"T"}},"fcm_options":{"analytics_label":"l"}}"#)
        #expect(
            try fcm(text, RenderSettings()).body
                == #"{"message":{"token":"TOKEN","notification":{"body":"b"},"data":{"a":"1","b":"2"},"android":{"#
                + #""priority":"NORMAL","notification":{"tag":"T"}},"fcm_options":{"analytics_label":"l"}}}"#)
    }

    @Test func `Both are merged for an iPhone behind FCM`() throws {
        let text = job(
            #""body":"b","apns":{"payload":{"aps":{"badge":9}}},"fcm":{"apns":{"payload":{"aps":{"sound":"s"}}}}"#
        )
        #expect(
            try fcm(text, RenderSettings(), platform: .ios).body
                == #"{"message":{"token":"TOKEN","apns":{"headers":{"apns-priority":"10","apns-push-type":"alert"},"#
                + #""payload":{"aps":{"alert":{"body":"b"},"badge":9,"sound":"s"}}}}}"#)
    }
}
