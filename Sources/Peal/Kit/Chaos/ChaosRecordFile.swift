internal import EventLoop
internal import Glibc

/// Reads the simulator's record file into requests of the plan.
struct ChaosRecordFile {
    let plan: ChaosPlan
    let links: ChaosLinks

    /// Reads the file.
    /// - Returns: the requests in order of arrival, and sentences about what belongs to no job.
    func read(path: String) throws(StackFailure) -> (requests: [ChaosHistory.Request], strangers: [String]) {
        let bytes: [UInt8]
        do { bytes = try Files.read(path: path, maxBytes: 2 << 30) } catch {
            throw StackFailure(.files, "\(error)")
        }
        var requests: [ChaosHistory.Request] = []
        var strangers: [String] = []
        unsafe bytes.withUnsafeBytes { all in
            var start = 0
            while start < all.count {
                var end = start
                while end < all.count, unsafe all[end] != UInt8(ascii: "\n") { end += 1 }
                if end > start {
                    let line = unsafe RecordLine(UnsafeRawBufferPointer(rebasing: all[start..<end]))
                    take(line, &requests, &strangers)
                }
                start = end + 1
            }
        }
        return (requests, strangers)
    }

    private func take(
        _ line: RecordLine, _ requests: inout [ChaosHistory.Request], _ strangers: inout [String]
    ) {
        guard let job = plan.job(id: line.job), let device = plan.device(token: line.token),
            plan.devices(ofJob: job).contains(device)
        else {
            strangers.append("a request is of no known job, or not for one of its devices: \(line.job)")
            return
        }
        var request = ChaosHistory.Request(job: job, device: device, arrivalMs: line.arrivalMs)
        request.answer = Self.answer(line)
        request.isDelivered = line.isDelivered
        // A stream that was refused or left out by a GOAWAY was not processed: the sender knows that.
        request.isAnswered = ["respond", "goaway"].contains(line.action) || !line.isDelivered
        request.badge = line.badge
        if let link = links.link(port: line.peerPort, atMs: line.arrivalMs) {
            request.worker = link.worker
            request.closedMs = link.closedMs
            request.cause = link.cause
        }
        requests.append(request)
    }

    private static func answer(_ line: RecordLine) -> ChaosHistory.Answer {
        switch line.status {
        case 200: .accepted
        case 410: .tokenGone
        case 404 where line.reason.hasPrefix("UNREGISTERED"): .tokenGone
        case 400 where ["BadDeviceToken", "DeviceTokenNotForTopic"].contains(line.reason): .tokenGone
        case 400, 404, 405, 413: .rejected
        default: .refused
        }
    }
}

/// The proxies' connections, to be asked which worker a port belonged to.
struct ChaosLinks {
    /// One connection to a provider.
    struct Link {
        let worker: Int
        let openedMs: Int64
        let closedMs: Int64
        let cause: ProxyLink.Cause
    }

    private var ofPort: [UInt16: [Link]] = [:]

    /// `worker` gives the worker that a route belongs to; nil for a route to anything but a provider.
    init(_ history: [ProxyLink], worker: (Int) -> Int?) {
        for link in history {
            guard let worker = worker(link.route) else { continue }
            ofPort[link.port, default: []].append(
                Link(worker: worker, openedMs: link.openedMs, closedMs: link.closedMs, cause: link.cause))
        }
    }

    /// The connection that came from the port at that time.
    func link(port: Int, atMs: Int64) -> Link? {
        ofPort[UInt16(clamping: port)]?.last { $0.openedMs <= atMs }
    }
}

/// One line of the record file. Texts hold no escapes: tokens, ids and reasons need none.
struct RecordLine {
    private(set) var job = ""
    private(set) var token = ""
    private(set) var action = ""
    private(set) var reason = ""
    private(set) var status = 0
    private(set) var peerPort = 0
    private(set) var arrivalMs: Int64 = 0
    private(set) var badge: Int64?
    private(set) var isDelivered = false

    /// Reads a flat object; members it doesn't know are passed over.
    init(_ line: UnsafeRawBufferPointer) {
        var at = 0
        while let name = unsafe Self.quoted(line, &at) {
            at += 1
            guard at < line.count else { return }
            if unsafe line[at] == UInt8(ascii: "\"") {
                guard let value = unsafe Self.quoted(line, &at) else { return }
                unsafe take(String(decoding: name, as: UTF8.self), value)
            } else {
                unsafe take(String(decoding: name, as: UTF8.self), Self.plain(line, &at))
            }
        }
    }

    private mutating func take(_ name: String, _ value: UnsafeRawBufferPointer) {
        func text() -> String { unsafe String(decoding: value, as: UTF8.self) }
        switch name {
        case "job": job = text()
        case "token": token = text()
        case "action": action = text()
        case "reason": reason = text()
        case "status": status = Int(text()) ?? 0
        case "peer_port": peerPort = Int(text()) ?? 0
        case "arrival_ms": arrivalMs = Int64(text()) ?? 0
        case "badge": badge = Int64(text())
        case "delivered": isDelivered = unsafe value.first == UInt8(ascii: "t")
        default: break
        }
    }

    /// The next text in quotes; leaves `at` behind it.
    private static func quoted(_ line: UnsafeRawBufferPointer, _ at: inout Int) -> UnsafeRawBufferPointer? {
        while at < line.count, unsafe line[at] != UInt8(ascii: "\"") { at += 1 }
        let start = at + 1
        at = start
        while at < line.count, unsafe line[at] != UInt8(ascii: "\"") {
            at += unsafe line[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard at < line.count else { return nil }
        defer { at += 1 }
        return unsafe UnsafeRawBufferPointer(rebasing: line[start..<at])
    }

    /// What stands before the next comma or brace.
    private static func plain(_ line: UnsafeRawBufferPointer, _ at: inout Int) -> UnsafeRawBufferPointer {
        let start = at
        while at < line.count, unsafe line[at] != UInt8(ascii: ","), unsafe line[at] != UInt8(ascii: "}") {
            at += 1
        }
        return unsafe UnsafeRawBufferPointer(rebasing: line[start..<at])
    }
}
