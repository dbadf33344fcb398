import Core
import Foundation
import Glibc
import Testing

@testable import Jobs

/// A small repeatable source of numbers.
private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}

@Suite struct JobFuzzTests {
    static let seeds = [
        job(#""body":"b\u00e9\ud83d\ude00","data":{"a":{"b":[1,2.5e-3,true,null]},"c":"\"d\""},"ttl":60"#),
        job(
            #""message":"m","topic":"t","tag":1108,"apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{}}}"#
        ),
        job(
            #""title":"t","fcm":{"android":{"ttl":"1s"}},"x-a":[[]]"#,
            to: #"{"recipient":"r","devices":["d"]}"#),
        job(#""body":"b","send_at":"2026-12-01T08:00:00Z""#, to: #"{"token":"abcd","platform":"ios"}"#),
    ]

    @Test func `What the parser accepts is JSON to Foundation too, and no bytes make it trap`() throws {
        let parser = try #require(JobParser())
        var dice = Dice(state: 7)
        var accepted = 0
        let pieces = Array("{}[]\",:\\u0d8e1-.t \n\u{0}\u{7F}é".utf8)
        for round in 0..<40_000 {
            var bytes = Array(Self.seeds[round % Self.seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &dice) {
                let place = Int.random(in: 0..<bytes.count, using: &dice)
                switch Int.random(in: 0...2, using: &dice) {
                case 0: bytes[place] = pieces[Int.random(in: 0..<pieces.count, using: &dice)]
                case 1: bytes.remove(at: place)
                default: bytes.insert(pieces[Int.random(in: 0..<pieces.count, using: &dice)], at: place)
                }
            }
            var job = Job()
            let fault = bytes.withUnsafeBytes { parser.parse($0, into: &job) }
            guard fault == nil else { continue }
            accepted += 1
            #expect(throws: Never.self) { _ = try JSONSerialization.jsonObject(with: Data(bytes)) }
        }
        #expect(accepted > 5000)
    }

    @Test func `No control character but white space is accepted anywhere`() throws {
        let text = Array(
            #"{"app":"a","to":{"recipient":"r"},"message":"m","tag":1,"data":{"a":[true,{}]}}"#.utf8)
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        for place in 0...text.count {
            let isInside = text[..<place].filter { $0 == UInt8(ascii: "\"") }.count % 2 == 1
            for control in (0..<0x21 as Range<UInt8>) + [0x7F] {
                var bytes = text
                bytes.insert(control, at: place)
                let isRefused = try fault(bytes) != nil
                let isText = isInside && control == 0x7F
                if !space.contains(control), !isText { #expect(isRefused, "\(control) at \(place)") }
                if control == 0x0A, isInside { #expect(isRefused) }
            }
        }
    }

    @Test func `Nothing past the end of the value is read`() throws {
        let parser = try #require(JobParser())
        let page = 4096
        let map = try #require(
            mmap(nil, page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        try #require(map != MAP_FAILED)
        defer { munmap(map, page * 2) }
        try #require(mprotect(map + page, page, PROT_NONE) == 0)
        for seed in Self.seeds {
            let bytes = Array(seed.utf8)
            for length in 1...bytes.count {
                let start = map + page - length
                bytes.withUnsafeBytes {
                    start.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(start), byteCount: length)
                }
                var job = Job()
                let fault = parser.parse(UnsafeRawBufferPointer(start: start, count: length), into: &job)
                #expect((fault == nil) == (length == bytes.count))
            }
        }
    }

    @Test func `Iterating over arbitrary bytes ends without a trap`() {
        var dice = Dice(state: 11)
        let pieces = Array("{}[]\",:\\ua1 ".utf8)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...24, using: &dice)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &dice)]
            }
            bytes.withUnsafeBytes { raw in
                let slice = JSONSlice(raw: raw, isEscaped: true)
                var members = slice.members
                var elements = slice.elements
                var steps = 0
                while members.next() != nil { steps += 1 }
                while elements.next() != nil { steps += 1 }
                #expect(steps <= 64)
                #expect(slice.member("a") == nil || steps > 0)
                _ = slice.text?.string
            }
        }
    }
}
