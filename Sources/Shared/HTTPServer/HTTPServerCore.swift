import CMicrohttpd
import EventLoop
import Glibc
import Synchronization

/// What libmicrohttpd's callbacks reach: the handler and the requests under way.
///
/// - Threading: callbacks run on the server's threads, those of one connection one after the other; `open`
///   and `isRefusing` are guarded by `lock`.
@safe final class HTTPServerCore: @unchecked Sendable {
    private let options: HTTPServerOptions
    private let handler: @Sendable (HTTPExchange) -> Void
    /// Who is connected.
    let connections: HTTPConnections
    private let lock = Lock()
    private var open: [ObjectIdentifier: HTTPExchangeState] = [:]
    private var streams: [ObjectIdentifier: HTTPStream] = [:]
    private var isRefusing = false
    private let isStopping = Atomic(false)
    /// Bytes of all bodies that are in memory.
    private let bodyBytes = Atomic(0)

    init(options: HTTPServerOptions, handler: @escaping @Sendable (HTTPExchange) -> Void) {
        self.options = options
        self.handler = handler
        connections = HTTPConnections(options: options)
    }

    /// Whether the caller is the one that stops the server.
    func takeRunning() -> Bool { !isStopping.exchange(true, ordering: .acquiringAndReleasing) }

    /// The answer as it is sent: while the server stops it is the connection's last one. A peer that keeps
    /// its connection would otherwise send request after request until it is cut off in the middle of one.
    func departing(_ response: HTTPResponse) -> HTTPResponse {
        guard isStopping.load(ordering: .relaxed),
            !response.headers.contains(where: { $0.name == "connection" })
        else { return response }
        return closing(response)
    }

    /// How long a peer may take for what waits for it, in ms; 0 for ever.
    var requestTimeoutMs: UInt64 { options.requestTimeoutMs }

    /// Takes note of a stream that begins; while the server stops it ends at once.
    func keep(_ stream: HTTPStream) {
        let isTaken = lock.withLock {
            if isStopping.load(ordering: .relaxed) { return false }
            streams[ObjectIdentifier(stream)] = stream
            return true
        }
        if !isTaken { stream.close() }
    }

    /// Ends all streams in good order.
    func closeStreams() {
        for stream in lock.withLock({ Array(streams.values) }) { stream.close() }
    }

    /// The requests under way.
    var openCount: Int { lock.withLock { open.count } }

    /// Answers 503 to everything that waits and to everything that still comes: libmicrohttpd aborts the
    /// process when it is stopped with a suspended connection.
    func refuseOpen() {
        let waiting = lock.withLock {
            isRefusing = true
            return Array(open.values)
        }
        for state in waiting { state.answer(options.refusal(503, Self.stopping)) }
    }

    /// How much past the limit is read and thrown away, so that the peer gets to read the 413.
    private static let discardedBytesMax = 64 << 10
    private static let stopping = "The server is stopping; try another instance."

    /// A request's head has arrived: makes its state.
    func begin(_ connection: OpaquePointer) -> HTTPExchangeState {
        let known = unsafe peal_mhd_context(connection).map {
            unsafe Unmanaged<HTTPConnection>.fromOpaque($0).takeUnretainedValue()
        }
        let state = HTTPExchangeState(connection: known, headers: unsafe headers(of: connection))
        known?.setDue(ms: connections.bodyDueMs)
        let refuses = lock.withLock {
            open[ObjectIdentifier(state)] = state
            return isRefusing
        }
        if refuses { state.answer(options.refusal(503, Self.stopping)) }
        return state
    }

    /// libmicrohttpd is done with the request.
    func end(_ state: HTTPExchangeState) {
        state.finish()
        bodyBytes.subtract(state.counted, ordering: .relaxed)
        state.stream?.end()
        lock.withLock {
            open[ObjectIdentifier(state)] = nil
            if let stream = state.stream { streams[ObjectIdentifier(stream)] = nil }
        }
        state.owner?.setDue(ms: connections.headDueMs)
    }

    /// The answer to a head that announces too long a body, more than one length of it or a coding that isn't
    /// known here, or that doesn't say whom it is for; nil to go on. `version` is that of the request line.
    func refusal(ofHead state: HTTPExchangeState, version: String) -> HTTPResponse? {
        var lengths = 0
        var hosts = 0
        for (name, value) in state.headers {
            // libmicrohttpd takes a blank before the colon for a part of the name, and another server might
            // not: the two would see different bodies (RFC 9112 section 5.1).
            if name.utf8.contains(where: { $0 == 0x20 || $0 == 0x09 }) { return badName }
            if name == "content-length" {
                lengths += 1
                guard let length = Int(value), length >= 0 else { return badLength }
                if length > options.bodyBytesMax { return tooLarge }
            } else if name == "transfer-encoding" {
                lengths += 1
                // libmicrohttpd would take everything up to the connection's end for the body.
                if value.lowercased() != "chunked" { return unknownCoding }
                // RFC 9112 section 6.1: what speaks 1.0 can't mean it.
                if version == "HTTP/1.0" { return badLength }
            } else if name == "host" {
                hosts += 1
            }
        }
        // RFC 9112 section 3.2.
        if hosts > 1 || hosts == 0 && version != "HTTP/1.0" { return badHost }
        // Two servers in a row could take different ones for the truth (RFC 9112 section 6.3).
        return lengths > 1 ? badLength : nil
    }

    // What follows on the connection of such a request can't be told from a body.
    private var badLength: HTTPResponse {
        closing(
            options.refusal(400, "The length of the body isn't clear; send one Content-Length, or chunks."))
    }

    private var badHost: HTTPResponse {
        closing(options.refusal(400, "The request needs one Host header, and not more."))
    }

    private var unknownCoding: HTTPResponse {
        closing(
            options.refusal(501, "The Transfer-Encoding isn't known here; send chunked, or a Content-Length.")
        )
    }

    private var badName: HTTPResponse {
        closing(options.refusal(400, "A header's name has a blank in it."))
    }

    /// Makes an answer its connection's last.
    private func closing(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers.append(("connection", "close"))
        return response
    }

    private var tooLarge: HTTPResponse {
        options.refusal(413, "The body is longer than \(options.bodyBytesMax) bytes.")
    }

    private var tooMuch: HTTPResponse {
        var response = options.refusal(503, "Too many large requests are under way; try again.")
        if !response.headers.contains(where: { $0.name == "retry-after" }) {
            response.headers.append(("retry-after", "2"))
        }
        return response
    }

    /// Takes a piece of the body; false when so much was too much that the connection is to be closed.
    func receive(_ bytes: UnsafeRawBufferPointer, _ state: HTTPExchangeState) -> Bool {
        if state.overflow == 0, !state.isTooMuch, state.received.count + bytes.count <= options.bodyBytesMax {
            let total = bodyBytes.add(bytes.count, ordering: .relaxed).newValue
            state.counted += bytes.count
            if total <= options.bodiesBytesMax {
                unsafe state.received.append(contentsOf: bytes)
                return true
            }
            state.isTooMuch = true
            state.received = []
        }
        state.overflow += bytes.count
        return state.overflow <= options.bodyBytesMax + Self.discardedBytesMax
    }

    /// The whole request is here: hands it to the handler once, then returns the answer or suspends.
    func respond(
        _ state: HTTPExchangeState, connection: OpaquePointer, method: String, path: WireText
    ) -> HTTPResponse? {
        if !state.started {
            state.started = true
            state.owner?.setDue(ms: 0)
            if state.overflow > 0 {
                state.answer(state.isTooMuch ? tooMuch : tooLarge)
            } else {
                let query = unsafe query(of: connection)
                let request = HTTPRequest(
                    method: method, rawPath: path.text, rawQuery: query.values,
                    isUTF8: path.isUTF8 && query.isUTF8,
                    headers: state.headers, body: state.received, remote: state.owner?.remote ?? "")
                state.received = []
                handler(HTTPExchange(request: request, state: state))
            }
        }
        let response = unsafe state.takeOrSuspend(connection)
        if response != nil { state.owner?.setDue(ms: connections.bodyDueMs) }
        return response
    }

    private func query(of connection: OpaquePointer) -> HTTPValueList {
        var list = HTTPValueList(lowercased: false)
        unsafe withUnsafeMutablePointer(to: &list) { _ = unsafe peal_mhd_query(connection, httpValue, $0) }
        return list
    }

    private func headers(of connection: OpaquePointer) -> [(name: String, value: String)] {
        var list = HTTPValueList(lowercased: true)
        unsafe withUnsafeMutablePointer(to: &list) { _ = unsafe peal_mhd_headers(connection, httpValue, $0) }
        return list.values
    }
}

private let yes = peal_mhd_result(1)
private let no = peal_mhd_result(0)

/// What the value iterator fills.
struct HTTPValueList {
    let lowercased: Bool
    var values: [(name: String, value: String)] = []
    /// Whether all of it was UTF-8 as it came.
    var isUTF8 = true
}

/// A text of a request; what isn't UTF-8 in it has been replaced.
struct WireText {
    let text: String
    let isUTF8: Bool

    /// No text at all.
    static let empty = WireText(text: "", isUTF8: true)

    private init(text: String, isUTF8: Bool) {
        self.text = text
        self.isUTF8 = isUTF8
    }

    /// Copies a text that ends with a zero byte.
    init(_ bytes: UnsafePointer<CChar>) {
        if let whole = unsafe String(validatingCString: bytes) {
            text = whole
            isUTF8 = true
        } else {
            text = unsafe String(cString: bytes)
            isUTF8 = false
        }
    }
}

/// Thread: the server's, inside `MHD_get_connection_values`.
private func httpValue(
    _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?,
    _ value: UnsafePointer<CChar>?
) -> MHD_Result {
    guard let context = unsafe context, let name = unsafe name else { return yes }
    let list = unsafe context.assumingMemoryBound(to: HTTPValueList.self)
    let text = unsafe WireText(name)
    let content = if let value = unsafe value { unsafe WireText(value) } else { WireText.empty }
    if !text.isUTF8 || !content.isUTF8 { unsafe list.pointee.isUTF8 = false }
    unsafe list.pointee.values.append(
        (list.pointee.lowercased ? text.text.lowercased() : text.text, content.text))
    return yes
}

/// Thread: the server's. Called for the head, for each piece of the body, at the end and after a resume.
func httpAccess(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
    _ uploadSize: UnsafeMutablePointer<Int>?, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context = unsafe context, let connection = unsafe connection, let slot = unsafe slot,
        let uploadSize = unsafe uploadSize, let url = unsafe url, let method = unsafe method,
        let version = unsafe version
    else { return no }
    let core = unsafe Unmanaged<HTTPServerCore>.fromOpaque(context).takeUnretainedValue()
    guard let known = unsafe slot.pointee else {
        let state = unsafe core.begin(connection)
        // Retained by the slot; released by `httpCompleted`, which libmicrohttpd calls once for each request.
        unsafe slot.pointee = Unmanaged.passRetained(state).toOpaque()
        guard let refusal = unsafe core.refusal(ofHead: state, version: String(cString: version)) else {
            return yes
        }
        return unsafe queue(core.departing(refusal), on: connection)
    }
    let state = unsafe Unmanaged<HTTPExchangeState>.fromOpaque(known).takeUnretainedValue()
    if unsafe uploadSize.pointee > 0 {
        let bytes = unsafe UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
        unsafe uploadSize.pointee = 0
        return unsafe core.receive(bytes, state) ? yes : no
    }
    let response = unsafe core.respond(
        state, connection: connection, method: String(cString: method), path: WireText(url))
    guard let response else { return yes }
    if let stream = response.stream {
        core.keep(stream)
        unsafe stream.begin(connection, owner: state.owner, timeoutMs: core.requestTimeoutMs)
        state.stream = stream
    }
    return unsafe queue(core.departing(response), on: connection)
}

/// Thread: the server's. The request is over, answered or not.
func httpCompleted(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
    guard let context = unsafe context, let slot = unsafe slot, let known = unsafe slot.pointee else {
        return
    }
    unsafe slot.pointee = nil
    let state = unsafe Unmanaged<HTTPExchangeState>.fromOpaque(known).takeRetainedValue()
    unsafe Unmanaged<HTTPServerCore>.fromOpaque(context).takeUnretainedValue().end(state)
}

/// Hands the answer to libmicrohttpd, which copies it.
private func queue(_ answer: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
    let made =
        if let stream = answer.stream {
            // Retained by the response; released by `httpStreamFree`.
            unsafe peal_mhd_stream(
                httpStreamRead, Unmanaged.passRetained(stream).toOpaque(), httpStreamFree)
        } else {
            unsafe answer.body.withUnsafeBytes { unsafe peal_mhd_response($0.baseAddress, $0.count) }
        }
    guard let response = unsafe made else { return no }
    defer { unsafe MHD_destroy_response(response) }
    for (name, value) in answer.headers { _ = unsafe MHD_add_response_header(response, name, value) }
    let status = UInt32(clamping: min(max(answer.status, 200), 599))
    return unsafe MHD_queue_response(connection, status, response)
}
