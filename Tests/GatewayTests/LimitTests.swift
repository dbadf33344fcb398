import Configuration
import Core
import EventLoop
import GatewayKit
import Glibc
import HTTPClient
import HTTPServer
import Testing

@Suite struct LimitTests {
    private let job = #"{"app":"shop","to":{"recipient":"r"},"title":"Hello"}"#

    /// A connection on which bytes are written by hand.
    private final class Wire {
        let descriptor: Int32
        var received: [UInt8] = []

        init(_ rig: Rig) throws {
            descriptor = try Socket.connect(host: "127.0.0.1", port: rig.service.port)
        }

        deinit { Socket.close(descriptor) }

        /// False when the peer has closed.
        func send(_ text: String) -> Bool { send(bytes: Array(text.utf8)) }

        func send(bytes: [UInt8]) -> Bool {
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes { Socket.send(descriptor, $0) }
                if count > 0 {
                    sent += count
                } else if Socket.wouldBlock(count) {
                    usleep(1000)
                } else {
                    return false
                }
            }
            return true
        }

        /// Takes what has come; true when the peer has closed.
        func isClosed() -> Bool {
            var room = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = room.withUnsafeMutableBytes { Socket.recv(descriptor, into: $0) }
                if count > 0 {
                    received += room[..<count]
                } else {
                    return !Socket.wouldBlock(count)
                }
            }
        }

        var text: String { String(decoding: received, as: UTF8.self) }
    }

    private func head(_ more: String) -> String {
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer shop-send-secret\r\n"
            + "Content-Type: application/json\r\n\(more)\r\n\r\n"
    }

    @Test func whatIsTooLargeIsRefused() throws {
        let rig = try Rig(configure: { settings, _ in
            settings.gateway.bodyMax = 4096
            settings.gateway.headerMax = 8192
            settings.gateway.batchMax = 3
        })
        defer { rig.stop() }
        let body = try rig.post(String(repeating: " ", count: 5000))
        #expect(body.status == 413 && body.problem == "body_too_large")
        let batch = try rig.post("[" + Array(repeating: job, count: 4).joined(separator: ",") + "]")
        #expect(batch.status == 413 && batch.problem == "batch_too_large")
        #expect(try rig.post("[\(job),\(job),\(job)]").status == 202)
        let header = try rig.post(job, headers: [("x-long", String(repeating: "h", count: 20_000))])
        #expect(header.status == 431)
        let wire = try Wire(rig)
        #expect(
            wire.send(head("Transfer-Encoding: chunked") + "1000\r\n" + String(repeating: " ", count: 4096)))
        #expect(wire.send("\r\n1000\r\n" + String(repeating: " ", count: 4096) + "\r\n0\r\n\r\n"))
        #expect(rig.wait { wire.isClosed() || wire.text.contains("body_too_large") })
        #expect(wire.text.hasPrefix("HTTP/1.1 413"))
    }

    @Test(arguments: [
        "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: -1", "Content-Length: 1x", "Content-Length : 5", "Content-Length\t: 5",
        "Transfer-Encoding : chunked\r\nContent-Length: 4", "Host: y\r\nContent-Length: 5",
    ])
    func aBodyWithoutAClearLengthIsRefused(headers: String) throws {
        let rig = try SendTests.shared.get()
        let wire = try Wire(rig)
        #expect(wire.send(head(headers) + "hello"))
        #expect(rig.wait { wire.isClosed() || wire.text.contains("\r\n\r\n") })
        #expect(wire.text.hasPrefix("HTTP/1.1 400"))
        // Or the body would be taken for the next request.
        #expect(rig.wait { wire.isClosed() })
    }

    @Test(arguments: ["gzip", "gzip, chunked", "identity", "chunked;x"])
    func aTransferEncodingThatIsUnknownIsRefused(coding: String) throws {
        let rig = try SendTests.shared.get()
        let wire = try Wire(rig)
        #expect(wire.send(head("Transfer-Encoding: \(coding)") + "5\r\nhello\r\n0\r\n\r\n"))
        #expect(rig.wait { wire.isClosed() })
        #expect(wire.text.hasPrefix("HTTP/1.1 501") && wire.text.contains("not_implemented"))
    }

    @Test(arguments: [
        ("GET /openapi.json HTTP/1.1\r\n\r\n", 400),
        ("GET /openapi.json HTTP/1.0\r\n\r\n", 200),
        ("POST /v1/jobs HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 200),
    ])
    func whomTheRequestIsForMustBeSaid(request: String, status: Int) throws {
        let rig = try Rig(more: { _ in
            [
                GatewayRoute(
                    "GET", "/openapi.json", "openapi", .open,
                    .plain { _ throws(Problem) in .answer(.text(200, "")) })
            ]
        })
        defer { rig.stop() }
        let wire = try Wire(rig)
        #expect(wire.send(request))
        #expect(rig.wait { wire.isClosed() })
        let answer = wire.text
        #expect(answer.contains(" \(status) "), "\(answer)")
        if status == 400 { #expect(answer.contains("application/problem+json")) }
    }

    @Test(arguments: ["/v1/apps/sh\u{1}p/scheduled", "/v1/apps/shop/scheduled?after=a\u{1}b"])
    func bytesThatAreNoTextAreRefusedInAPath(path: String) throws {
        let rig = try SendTests.shared.get()
        let wire = try Wire(rig)
        let text = "GET \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all-secret\r\n\r\n"
        // No Swift string holds such a byte.
        #expect(wire.send(bytes: text.utf8.map { $0 == 1 ? 0xFF : $0 }))
        #expect(rig.wait { wire.isClosed() || wire.text.contains("bad_request") })
        #expect(wire.text.hasPrefix("HTTP/1.1 400"))
    }

    @Test func tooManyRequestsAreToldWhenToComeBack() throws {
        let rig = try Rig(configure: { settings, _ in
            settings.gateway.rate.perThousandSeconds = 3_000
            settings.gateway.addressRate.perThousandSeconds = 2_000
        })
        defer { rig.stop() }
        // More than can have grown meanwhile: the limits give three and two a second.
        func flood(_ key: String?) throws -> HTTPClientResponse? {
            for _ in 0..<100_000 {
                let answer = try rig.send("GET", "/v1/apps/shop/scheduled", key: key)
                if answer.status == 429 { return answer }
            }
            return nil
        }
        let refused = try #require(try flood("shop-send"))
        #expect(refused.problem == "too_many_requests")
        #expect((1...2).contains(refused.header("retry-after").flatMap { Int($0) } ?? 0))
        // Another key and an address without one have limits of their own.
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled", key: "two").status == 200)
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled", key: nil).status == 401)
        #expect(try flood("unknown") != nil)
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled", key: "all").status == 200)
        #expect(try rig.send("GET", "/metrics", key: nil).text.contains("too_many_requests"))
    }

    @Test func aClientThatDribblesIsCutOff() throws {
        let rig = try Rig(configure: { settings, _ in
            settings.gateway.receiveTimeoutMs = 500
            settings.gateway.idleTimeoutMs = 1_000
        })
        defer { rig.stop() }
        let slowHead = try Wire(rig)
        let slowBody = try Wire(rig)
        #expect(slowHead.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\n"))
        #expect(slowBody.send(head("Content-Length: 1000000")))
        // Neither is ever silent for long.
        var closed = (head: false, body: false)
        let isCutOff = rig.wait {
            if !closed.head { closed.head = !slowHead.send("X: y\r\n") || slowHead.isClosed() }
            if !closed.body { closed.body = !slowBody.send(" ") || slowBody.isClosed() }
            return closed.head && closed.body
        }
        #expect(isCutOff)
        #expect(try rig.post(job).status == 202)
    }

    @Test func oneAddressHasItsShareOfTheConnections() throws {
        let rig = try Rig(configure: { settings, _ in settings.gateway.connectionsPerAddress = 3 })
        defer { rig.stop() }
        var wires: [Wire] = []
        let isFull = try rig.wait {
            let wire = try Wire(rig)
            wires.append(wire)
            // One that is accepted stays open.
            usleep(20_000)
            return wire.isClosed()
        }
        #expect(isFull && wires.count >= 4)
        wires = []
        #expect(rig.wait { (try? rig.post(job).status) == 202 })
    }

    @Test func aKeptConnectionServesManyRequests() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let wire = try Wire(rig)
        for number in 1...5 {
            #expect(wire.send(head("Content-Length: \(job.utf8.count)") + job))
            let isAnswered = rig.wait {
                _ = wire.isClosed()
                return wire.text.components("HTTP/1.1 202") == number
            }
            #expect(isAnswered)
        }
    }
}

extension String {
    /// How often the other text stands in this one.
    fileprivate func components(_ other: String) -> Int { ranges(of: other).count }
}
