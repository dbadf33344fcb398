import Core
import Testing

@testable import SimulatorKit

@Suite("Record")
struct RecordTests {
    private func append(
        _ record: RequestRecord, token: String = "t", job: String = "", id: String = "", body: String = "",
        delivered: Bool = true, status: UInt16 = 200, reason: UInt8 = 0
    ) {
        let all = Array((token + job + id + body).utf8)
        all.withUnsafeBytes { raw in
            var texts = RecordTexts()
            var at = 0
            func take(_ text: String) -> Bytes {
                defer { at += text.utf8.count }
                return Bytes(UnsafeRawBufferPointer(rebasing: raw[at..<(at + text.utf8.count)]))
            }
            texts.token = take(token)
            texts.job = take(job)
            texts.id = take(id)
            texts.body = take(body)
            var row = RecordRow()
            row.tokenCount = UInt16(token.utf8.count)
            row.jobCount = UInt16(job.utf8.count)
            row.idCount = UInt16(id.utf8.count)
            row.bodyKept = UInt32(body.utf8.count)
            row.delivered = delivered
            row.status = status
            row.reason = reason
            record.append(row, texts)
        }
    }

    @Test("Is asked by job, token and apns-id, in order of arrival") func queries() {
        let record = RequestRecord()
        append(record, token: "t1", job: "J1", id: "i1", body: "first")
        append(record, token: "t2", job: "J1", id: "i2")
        append(record, token: "t1", job: "J2", id: "i1", body: "third")
        #expect(record.requests(job: "J1").map(\.token) == ["t1", "t2"])
        #expect(record.requests(token: "t1").map(\.job) == ["J1", "J2"])
        #expect(record.requests(apnsID: "i1").map(\.index) == [0, 2])
        #expect(
            record.requests(apnsID: "i1").map { String(decoding: $0.body, as: UTF8.self) } == [
                "first", "third",
            ])
        #expect(record.requests(job: "J9").isEmpty)
        #expect(record.requests(from: 1, limit: 1).map(\.token) == ["t2"])
        #expect(record.requests(from: 5, limit: 1).isEmpty)
        #expect(record.requests(from: -1, limit: -1).isEmpty)
    }

    @Test("Keeps thousands of rows across its chunks") func chunks() {
        let record = RequestRecord()
        let body = String(repeating: "b", count: 300)
        for index in 0..<9000 { append(record, token: "token-\(index)", job: "job-\(index / 2)", body: body) }
        #expect(record.count == 9000)
        for index in stride(from: 0, to: 9000, by: 977) {
            let found = record.requests(token: "token-\(index)")
            #expect(found.count == 1)
            #expect(found.first?.body.count == 300)
            #expect(record.requests(job: "job-\(index / 2)").count == 2)
        }
        var seen = 0
        record.forEach { request in
            #expect(request.index == seen)
            seen += 1
        }
        #expect(seen == 9000)
    }

    @Test("Counts what does not fit instead of keeping it") func bounded() {
        let few = RequestRecord(rowsMax: 3)
        for _ in 0..<5 { append(few) }
        #expect(few.count == 3)
        #expect(few.dropped == 2)
        #expect(few.answers.requests == 5)
        let small = RequestRecord(rowsMax: 1000, bytesMax: 1 << 20)
        let body = String(repeating: "b", count: 60_000)
        for _ in 0..<30 { append(small, body: body) }
        #expect(small.count == 17)
        #expect(small.dropped == 13)
    }

    @Test("Sums up deliveries and duplicates") func summary() {
        let record = RequestRecord()
        append(
            record, token: "t1", job: "J1", delivered: false, status: 503,
            reason: APNsReason.serviceUnavailable.rawValue)
        append(record, token: "t1", job: "J1")
        append(record, token: "t2", job: "J1")
        append(record, token: "t2", job: "J1")
        append(record, token: "t1", job: "J2")
        append(record, token: "t1")
        let summary = record.summary()
        #expect(summary.delivered == 5)
        #expect(summary.jobs == 2)
        #expect(summary.deliveries == 3)
        #expect(summary.duplicates == 1)
        #expect(summary.answers.count(APNsReason.serviceUnavailable) == 1)
        #expect(summary.answers.count(.apns, status: 503) == 1)
        #expect(summary.answers.accepted == 5)
    }

    @Test("Clearing forgets everything") func clearing() {
        let record = RequestRecord()
        for index in 0..<5000 { append(record, job: "J\(index)") }
        record.clear()
        #expect(record.count == 0)
        #expect(record.requests(job: "J1").isEmpty)
        #expect(record.answers.requests == 0)
        append(record, job: "J1")
        #expect(record.requests(job: "J1").map(\.index) == [0])
    }

    @Test("Renders as JSON that parses, whatever a token holds") func json() throws {
        let record = RequestRecord()
        append(
            record, token: "quote\" \\ \u{1} ä", job: "J", body: "{\"a\":1}", status: 410,
            reason: APNsReason.unregistered.rawValue)
        var buffer = ByteBuffer()
        try #require(record.requests(job: "J").first).append(json: &buffer)
        let parsed = try JSONValue.parse(text: buffer.text)
        #expect(parsed["token"]?.string == "quote\" \\ \u{1} ä")
        #expect(parsed["reason"]?.string == "Unregistered")
        #expect(parsed["body"]?.string == "{\"a\":1}")
        buffer.clear()
        record.summary().append(json: &buffer)
        #expect(
            try JSONValue.parse(text: buffer.text)["answers"]?["apns_reasons"]?["Unregistered"]?.integer == 1)
    }
}
