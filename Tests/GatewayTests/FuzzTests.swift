import Configuration
import Core
import EventLoop
import GatewayKit
import Glibc
import HTTPClient
import Testing

/// Requests that no client of good faith makes: each gets an answer or an end, and the gateway stays up.
@Suite struct FuzzTests {
    private struct Random {
        var state: UInt64
        mutating func next(_ bound: Int) -> Int {
            state &+= 0x9E37_79B9_7F4A_7C15
            return Int(Hash64.mix(state, 0xA076_1D64_78BD_642F) % UInt64(bound))
        }
    }

    private let job = #"{"id":"i","app":"shop","to":{"recipient":"r"},"title":"Hello","data":{"a":"b"}}"#

    private func head(_ length: Int) -> String {
        "POST /v1/jobs?lane=bulk HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer shop-send-secret\r\n"
            + "Content-Type: application/json\r\nConnection: close\r\nContent-Length: \(length)\r\n\r\n"
    }

    /// What the gateway answers; empty when it closed without a word.
    private func exchange(_ rig: Rig, _ bytes: [UInt8]) throws -> String {
        let descriptor = try Socket.connect(host: "127.0.0.1", port: rig.service.port)
        defer { Socket.close(descriptor) }
        var sent = 0
        var received: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 16_384)
        let end = Clock.monotonicMs + 60_000
        while Clock.monotonicMs < end {
            if sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes { Socket.send(descriptor, $0) }
                if count > 0 { sent += count } else if !Socket.wouldBlock(count) { break }
                if sent == bytes.count { _ = shutdown(descriptor, Int32(SHUT_WR)) }
            }
            let count = room.withUnsafeMutableBytes { Socket.recv(descriptor, into: $0) }
            if count > 0 { received += room[..<count] } else if !Socket.wouldBlock(count) { break }
            if isWhole(received) { break }
            if count < 0 { usleep(500) }
        }
        #expect(Clock.monotonicMs < end)
        return String(decoding: received, as: UTF8.self)
    }

    /// Whether there is an answer with all of its body.
    private func isWhole(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n"),
            let length = text.firstRange(of: "Content-Length: ").flatMap({ name in
                Int(text[name.upperBound...].prefix { $0.isNumber })
            })
        else { return false }
        return text[end.upperBound...].utf8.count >= length
    }

    private func check(_ answer: String, _ what: String) {
        // A peer that cut its request short is owed nothing.
        guard !answer.isEmpty else { return }
        let status = answer.dropFirst(9).prefix(3)
        #expect(
            ["202", "400", "401", "403", "404", "405", "411", "413", "414", "415", "431", "505"].contains(
                status),
            "\(what): \(answer.prefix(60))")
    }

    @Test func damagedBodiesGetAnAnswer() throws {
        let rig = try Rig()
        defer { rig.stop() }
        var random = Random(state: 7)
        for round in 0..<150 {
            var body = Array((round % 3 == 0 ? "[\(job),\(job)]" : job).utf8)
            for _ in 0...random.next(3) {
                let place = random.next(body.count)
                switch random.next(3) {
                case 0: body[place] = UInt8(random.next(256))
                case 1: body.removeSubrange(place..<min(body.count, place + 1 + random.next(8)))
                default: body.insert(contentsOf: body[..<random.next(body.count)], at: place)
                }
                if body.isEmpty { body = [0x7B] }
            }
            let answer = try exchange(rig, Array(head(body.count).utf8) + body)
            #expect(answer.hasPrefix("HTTP/1.1 "), "round \(round)")
            check(answer, "round \(round)")
        }
        #expect(try rig.post(job).status == 202)
    }

    @Test func damagedHeadsEndWithoutHarm() throws {
        // What is cut short may wait for its rest until it has been silent too long.
        let rig = try Rig(configure: { settings, _ in settings.gateway.idleTimeoutMs = 1_000 })
        defer { rig.stop() }
        let whole = Array((head(job.utf8.count) + job).utf8)
        let answers: Locked<[(String, String)]> = Locked([])
        let senders = (0..<12).map { number in
            WorkerThread.start(name: "sender-\(number)") {
                var random = Random(state: UInt64(11 + number))
                for round in 0..<5 {
                    let answer = try? exchange(rig, damaged(whole, round % 3, &random))
                    answers.withLock { $0.append((answer ?? "none", "\(number)/\(round)")) }
                }
            }
        }
        for sender in senders { sender.join() }
        for (answer, what) in answers.withLock({ $0 }) { check(answer, what) }
        #expect(answers.withLock { $0 }.count == 60)
        #expect(try rig.post(job).status == 202)
        // Nothing is left behind.
        let isQuiet = try rig.wait {
            try rig.send("GET", "/statusz?format=json").json?["open_requests"]?.integer == 0
        }
        #expect(isQuiet)
    }

    /// The bytes cut short, changed here and there, or replaced by noise.
    private func damaged(_ whole: [UInt8], _ kind: Int, _ random: inout Random) -> [UInt8] {
        var bytes = whole
        switch kind {
        case 0: bytes = Array(bytes[..<random.next(bytes.count)])
        case 1:
            for _ in 0...random.next(6) { bytes[random.next(bytes.count)] = UInt8(random.next(256)) }
        default: bytes = (0..<random.next(400)).map { _ in UInt8(random.next(256)) }
        }
        return bytes
    }
}
