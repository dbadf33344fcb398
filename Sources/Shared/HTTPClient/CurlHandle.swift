import CCurl
import Glibc

/// Owns one curl easy handle and the memory curl writes its error text to.
///
/// - Ownership: freed by `deinit`.
/// - Threading: one thread at a time.
@safe final class CurlHandle {
    private let raw: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>

    /// Once for the process, before the first handle: `curl_global_init` is not thread-safe.
    private static let globalResult: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    /// nil when curl has no memory or could not be initialised.
    init?() {
        guard Self.globalResult == CURLE_OK, let handle = unsafe curl_easy_init() else { return nil }
        unsafe raw = unsafe handle
        unsafe errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(raw)
        unsafe errorText.deallocate()
    }

    /// Forgets the options, keeps the connections.
    func reset() {
        unsafe curl_easy_reset(raw)
        unsafe errorText[0] = 0
        _ = unsafe peal_curl_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText)
    }

    func set(_ option: CURLoption, _ value: Int) -> CURLcode { unsafe peal_curl_set_long(raw, option, value) }

    func set(_ option: CURLoption, _ value: String) -> CURLcode {
        // curl copies every string but the post fields.
        unsafe value.withCString { unsafe peal_curl_set_string(raw, option, $0) }
    }

    func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) -> CURLcode {
        unsafe peal_curl_set_pointer(raw, option, pointer)
    }

    /// Has the body and the headers handed to `transfer`, which must outlive `perform`.
    func collect(into transfer: CurlTransfer) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        _ = unsafe peal_curl_set_write(raw, curlBody)
        _ = unsafe peal_curl_set_pointer(raw, CURLOPT_WRITEDATA, context)
        _ = unsafe peal_curl_set_header(raw, curlHeader)
        _ = unsafe peal_curl_set_pointer(raw, CURLOPT_HEADERDATA, context)
    }

    func perform() -> CURLcode { unsafe curl_easy_perform(raw) }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        _ = unsafe peal_curl_get_long(raw, info, &value)
        return value
    }

    /// What curl wrote about the last failure, or the code's own text.
    func message(for code: CURLcode) -> String {
        let written = unsafe String(cString: errorText)
        if !written.isEmpty { return written }
        return unsafe String(cString: curl_easy_strerror(code))
    }
}

/// What one transfer receives.
final class CurlTransfer {
    let bodyMax: Int
    let headerMax: Int
    var body: [UInt8] = []
    var headers: [(name: String, value: String)] = []
    var headerBytes = 0
    var isTooLarge = false

    init(bodyMax: Int, headerMax: Int) {
        self.bodyMax = bodyMax
        self.headerMax = headerMax
    }

    /// Takes a piece of the body; false stops the transfer.
    func receive(body piece: UnsafeRawBufferPointer) -> Bool {
        guard body.count + piece.count <= bodyMax else {
            isTooLarge = true
            return false
        }
        unsafe body.append(contentsOf: piece)
        return true
    }

    /// Takes one header line; a new status line drops what an interim answer brought.
    func receive(header line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= headerMax else {
            isTooLarge = true
            return false
        }
        var text = unsafe Substring(String(decoding: line, as: UTF8.self))
        while let last = text.last, last.isWhitespace { text.removeLast() }
        if text.hasPrefix("HTTP/") {
            headers.removeAll()
            return true
        }
        guard let colon = text.firstIndex(of: ":") else { return true }
        let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        headers.append((text[..<colon].lowercased(), String(value)))
        return true
    }
}

/// Thread: the one inside `curl_easy_perform`. Must not call curl.
private func curlBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size &* count)
    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    return unsafe transfer.receive(body: piece) ? piece.count : 0
}

/// Thread: the one inside `curl_easy_perform`. Must not call curl.
private func curlHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size &* count)
    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    return unsafe transfer.receive(header: line) ? line.count : 0
}

/// Owns a curl list of header lines.
@safe struct CurlHeaderList: ~Copyable {
    private(set) var raw: UnsafeMutablePointer<curl_slist>?

    init() { unsafe raw = nil }

    deinit { unsafe curl_slist_free_all(raw) }

    /// Adds a line; false when there is no memory.
    mutating func append(_ line: String) -> Bool {
        guard let longer = unsafe curl_slist_append(raw, line) else { return false }
        unsafe raw = unsafe longer
        return true
    }
}
