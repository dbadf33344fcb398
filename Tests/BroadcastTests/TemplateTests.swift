import Core
import Jobs
import Testing

@testable import BroadcastKit

/// How a broadcast's job becomes a recipient's.
@Suite struct TemplateTests {
    /// When the jobs of these tests were published: 2024-01-01T00:00:00Z.
    static let publishedMs: Int64 = 1_704_067_200_000

    private func template(_ text: String, id: String = "bderived") throws -> BroadcastTemplate? {
        let parser = try #require(JobParser())
        return try Array(text.utf8).withUnsafeBytes { bytes in
            var job = Job()
            let fault = parser.parse(bytes, into: &job)
            try #require(fault == nil, "\(fault?.description ?? "")")
            return BroadcastTemplate(job, id: id, publishedMs: Self.publishedMs)
        }
    }

    private func expand(_ text: String, recipient: String = "user-1") throws -> String {
        let template = try #require(try template(text))
        var out = ByteBuffer()
        Array(recipient.utf8).withUnsafeBytes { template.append(recipient: $0, to: &out) }
        return out.text
    }

    /// The hash of `user-1`; a job's id must be the same in every version, or a redelivery would be another
    /// job.
    private static let hash = "swn31e8x10r9g679"

    @Test(arguments: [
        // The id and the audience as the campaign and the topic.
        (
            #"{"app":"shop","to":{"topic":"news"},"id":"c1","body":"Hi"}"#,
            #"{"id":"c1.#","to":{"recipient":"user-1"},"campaign":"c1","topic":"news","app":"shop","body":"Hi"}"#
        ),
        // Nobody's topic for all.
        (
            #"{"id":"c1","app":"shop","to":{"all":true},"body":"Hi"}"#,
            #"{"id":"c1.#","to":{"recipient":"user-1"},"campaign":"c1","app":"shop","body":"Hi"}"#
        ),
        // Without an id.
        (
            #"{"app":"shop","to":{"all":true},"body":"Hi"}"#,
            #"{"id":"bderived.#","to":{"recipient":"user-1"},"campaign":"bderived","app":"shop","body":"Hi"}"#
        ),
        // Campaign and topic of the job's own stay.
        (
            #"{"app":"shop","to":{"topic":"a"},"id":"c","campaign":"sale","topic":"b","body":"x"}"#,
            #"{"id":"c.#","to":{"recipient":"user-1"},"app":"shop","campaign":"sale","topic":"b","body":"x"}"#
        ),
        // A ttl counts from the publication; send_at is over.
        (
            #"{"app":"shop","to":{"topic":"a"},"id":"c","ttl":3600,"body":"x"}"#,
            #"{"id":"c.#","to":{"recipient":"user-1"},"campaign":"c","topic":"a","#
                + #""expires_at":"2024-01-01T01:00:00.000Z","app":"shop","body":"x"}"#
        ),
        (
            #"{"app":"shop","to":{"topic":"a"},"id":"c","send_at":"2024-01-02T00:00:00Z","ttl":60,"body":"x"}"#,
            #"{"id":"c.#","to":{"recipient":"user-1"},"campaign":"c","topic":"a","#
                + #""expires_at":"2024-01-02T00:01:00.000Z","app":"shop","body":"x"}"#
        ),
        // For now or never.
        (
            #"{"app":"shop","to":{"all":true},"id":"c","ttl":0,"body":"x"}"#,
            #"{"id":"c.#","to":{"recipient":"user-1"},"campaign":"c","app":"shop","ttl":0,"body":"x"}"#
        ),
        // A time of the job's own, white space, nesting, escapes and fields that are the sender's.
        (
            #" { "app" : "shop" , "to": {"topic":"a\"b"}, "id":"c" ,"expires_at":"2030-01-01T00:00:00Z","#
                + #""body":"say \"hi\" \\","x-note":"}{","data":{"a":[1,{"b":"]"}],"id":"mine","to":"me"} } "#,
            #"{"id":"c.#","to":{"recipient":"user-1"},"campaign":"c","topic":"a\"b","app" : "shop","#
                + #""expires_at":"2030-01-01T00:00:00Z","body":"say \"hi\" \\","x-note":"}{","#
                + #""data":{"a":[1,{"b":"]"}],"id":"mine","to":"me"}}"#
        ),
        // An id with escapes.
        (
            #"{"app":"shop","to":{"all":true},"id":"a\"\u00e9","body":"x"}"#,
            #"{"id":"a\"é.#","to":{"recipient":"user-1"},"campaign":"a\"é","app":"shop","body":"x"}"#
        ),
        // The topic of a sealed message is its relay's.
        (
            #"{"app":"shop","to":{"topic":"a"},"id":"c","type":"encrypted","message":"AAAA"}"#,
            #"{"id":"c.#","to":{"recipient":"user-1"},"campaign":"c","app":"shop","type":"encrypted","#
                + #""message":"AAAA"}"#
        ),
    ])
    func membersAreReplacedOrStay(job: String, expected: String) throws {
        let text = try expand(job)
        #expect(text == expected.replacing(".#\"", with: ".\(Self.hash)\""))
        let parser = try #require(JobParser())
        let isReadable = Array(text.utf8).withUnsafeBytes { bytes in
            var job = Job()
            return parser.parse(bytes, into: &job) == nil
        }
        #expect(isReadable)
    }

    @Test func aRecipientIsEscaped() throws {
        let text = try expand(
            #"{"app":"shop","to":{"all":true},"id":"c","body":"x"}"#, recipient: "a\"b\\c\u{1}é")
        #expect(text.contains(#""to":{"recipient":"a\"b\\c\u0001é"}"#))
        #expect(text.count { $0 == "." } == 1)
    }

    @Test func jobsForRecipientsAreNoBroadcasts() throws {
        #expect(try template(#"{"app":"shop","to":{"recipient":"r"},"body":"x"}"#) == nil)
        #expect(
            try template(#"{"app":"shop","to":{"token":"t","platform":"android"},"body":"x"}"#) == nil)
    }

    @Test func agesCountFromThePublicationOrFromWhenItIsSent() throws {
        let now = try template(#"{"app":"shop","to":{"all":true},"body":"x"}"#)
        #expect(now?.firstMs == Self.publishedMs)
        let later = try template(
            #"{"app":"shop","to":{"all":true},"body":"x","send_at":"2024-01-02T00:00:00Z"}"#)
        #expect(later?.firstMs == Self.publishedMs + 86_400_000)
        let past = try template(
            #"{"app":"shop","to":{"all":true},"body":"x","send_at":"2023-01-02T00:00:00Z"}"#)
        #expect(past?.firstMs == Self.publishedMs)
    }

    @Test func aJobThatLeavesNoRoomForItsRecipientDoesNotFit() throws {
        func job(_ count: Int) -> String {
            #"{"app":"shop","to":{"all":true},"id":"c","body":""# + String(repeating: "x", count: count)
                + "\"}"
        }
        let small = try #require(try template(job(65_000)))
        let large = try #require(try template(job(65_440)))
        #expect(small.fits && small.largest < 65_535)
        #expect(!large.fits)
    }

    @Test func aLongIDIsShortenedToWhatAJobMayHave() throws {
        let id = String(repeating: "i", count: 128)
        let text = try expand("{\"app\":\"shop\",\"to\":{\"all\":true},\"id\":\"\(id)\",\"body\":\"x\"}")
        let own = try #require(try? JSONValue.parse(text: text)["id"]?.string)
        #expect(own.utf8.count <= 128)
        #expect(!own.contains("ii"))
        let kept = try template("{\"app\":\"shop\",\"to\":{\"all\":true},\"id\":\"\(id)\",\"body\":\"x\"}")
        #expect(kept?.identity.id == id)
        #expect(kept?.campaign == id)
    }

    @Test func idsDifferByRecipient() throws {
        let template = try #require(try template(#"{"app":"shop","to":{"all":true},"id":"c","body":"x"}"#))
        var seen: Set<String> = []
        for number in 0..<20_000 {
            var out = ByteBuffer()
            Array("user-\(number)".utf8).withUnsafeBytes { template.append(recipient: $0, to: &out) }
            seen.insert(String(out.text.prefix(25)))
        }
        #expect(seen.count == 20_000)
    }
}

/// Names and ranges.
@Suite struct BroadcastValueTests {
    @Test func rangesCoverEveryShardOnce() throws {
        for parts in [1, 2, 3, 7, 64, 1000, 1024] {
            var next = 0
            for part in 0..<parts {
                let range = try #require(PartRange(part: part, of: parts)).shards(of: 32_768)
                #expect(range.lowerBound == next)
                #expect(range.count >= 32_768 / parts && range.count <= 32_768 / parts + 1)
                next = range.upperBound
            }
            #expect(next == 32_768)
        }
    }

    @Test func aPartsTextIsReadBack() {
        #expect(PartRange(text: "3/64") == PartRange(part: 3, of: 64))
        #expect(PartRange(part: 3, of: 64)?.text == "3/64")
        for text in [
            "", "3", "3/", "/64", "64/64", "-1/64", "3/0", "3/64/1", "03/64", "3/2000", "3 /64", "a/b",
        ] {
            #expect(PartRange(text: text) == nil)
        }
        #expect(PartRange(part: 0, of: 1025) == nil)
    }

    @Test func anOriginIsAPlaceInTheBulkLaneThatWorkersRead() throws {
        let origin = BroadcastIdentity(app: "shop", id: "c1").origin(topic: "peal.jobs.bulk")
        let words = origin.split(separator: "/")
        #expect(words.count == 3 && words[0] == "peal.jobs.bulk" && words[1] == "-1")
        let number = try #require(Int64(words[2]))
        #expect(number >= 0)
        #expect(origin == BroadcastIdentity(app: "shop", id: "c1").origin(topic: "peal.jobs.bulk"))
        #expect(origin != BroadcastIdentity(app: "shop", id: "c2").origin(topic: "peal.jobs.bulk"))
        // The app ends where the id begins.
        #expect(
            BroadcastIdentity(app: "a", id: "bc").origin(topic: "t")
                != BroadcastIdentity(app: "ab", id: "c").origin(topic: "t"))
    }

    @Test func aDerivedIDFollowsFromPlaceAndTime() {
        let id = BroadcastIdentity.derivedID(origin: "peal.jobs.normal/3/17", publishedMs: 5)
        #expect(id == BroadcastIdentity.derivedID(origin: "peal.jobs.normal/3/17", publishedMs: 5))
        #expect(id != BroadcastIdentity.derivedID(origin: "peal.jobs.normal/3/18", publishedMs: 5))
        // A topic that was made again counts from 0.
        #expect(id != BroadcastIdentity.derivedID(origin: "peal.jobs.normal/3/17", publishedMs: 6))
        #expect(id.utf8.count == 33)
    }

    @Test func membersAreFoundInWhateverForm() throws {
        func names(_ text: String) -> [String]? {
            let bytes = Array(text.utf8)
            return bytes.withUnsafeBytes { JobMembers.find($0) }?.map {
                String(decoding: bytes[$0.name], as: UTF8.self) + "="
                    + String(decoding: bytes[$0.whole], as: UTF8.self)
            }
        }
        #expect(names("{}") == [])
        #expect(names(#" {"a" : 1 , "b":[1,"]",{}] }"#) == [#"a="a" : 1"#, #"b="b":[1,"]",{}]"#])
        #expect(names(#"{"a\"":"\\","b":true,"c":-1.5e3}"#)?.count == 3)
        for text in [
            "", "[]", "{", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1"#, #"{"a":"x"#, #"{"a":[1}"#,
        ] {
            // A brace that closes a bracket is the parser's to find; nothing else is taken for an object.
            if text == #"{"a":[1}"# { continue }
            #expect(names(text) == nil, "\(text)")
        }
    }
}
