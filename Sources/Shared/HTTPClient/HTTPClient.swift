import CCurl

/// Makes HTTPS requests one at a time on the caller's own thread, which it blocks until the answer or a
/// deadline.
///
/// For OAuth tokens, webhooks and other traffic of many hosts and few requests. Connections are kept between
/// calls.
///
/// - Threading: one thread at a time, never an event loop's. `HTTPWorker` brings a thread of its own.
package final class HTTPClient {
    private let options: HTTPClientOptions
    private let handle: CurlHandle?

    /// Makes a client; nothing is connected yet.
    package init(_ options: HTTPClientOptions) {
        self.options = options
        handle = CurlHandle()
    }

    /// Sends the request and waits for the whole answer. Redirects are answers, not followed.
    ///
    /// HTTP/2 over TLS is used when the server offers it.
    /// - Fails: every `HTTPClientFailure.Code` except `queue_full` and `stopped`. A status of 400 or more is
    ///   no failure.
    package func send(_ request: HTTPClientRequest) throws(HTTPClientFailure) -> HTTPClientResponse {
        guard let handle else {
            throw HTTPClientFailure(
                code: .other, description: "libcurl could not be initialised; is there memory left?",
                mayHaveArrived: false)
        }
        try Self.check(request)
        handle.reset()
        var list = CurlHeaderList()
        // curl waits a second for `100 Continue` otherwise, and adds a type nobody asked for.
        var complete = list.append("Expect:")
        if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            complete = list.append("Content-Type:") && complete
        }
        for (name, value) in request.headers {
            complete = list.append(value.isEmpty ? "\(name);" : "\(name): \(value)") && complete
        }
        guard complete, configure(handle, request),
            unsafe handle.set(CURLOPT_HTTPHEADER, pointer: list.raw) == CURLE_OK
        else {
            throw HTTPClientFailure(
                code: .other,
                description: "libcurl refused the request's options for \(Self.host(of: request.url)).",
                mayHaveArrived: false)
        }
        let transfer = CurlTransfer(bodyMax: options.responseBytesMax, headerMax: options.headerBytesMax)
        handle.collect(into: transfer)
        let result = perform(handle, request)
        // The list and the body are gone after this call, so curl must not keep their addresses.
        let status = handle.long(CURLINFO_RESPONSE_CODE)
        let written = handle.long(CURLINFO_REQUEST_SIZE) > 0
        let message = handle.message(for: result)
        let tunnel = handle.long(CURLINFO_HTTP_CONNECTCODE)
        handle.reset()
        withExtendedLifetime(transfer) {}
        if result != CURLE_OK, tunnel >= 300 {
            let hint = tunnel == 407 ? "; check its credentials" : ""
            throw HTTPClientFailure(
                code: .connect,
                description:
                    "The proxy refused a tunnel to \(Self.host(of: request.url)) (\(tunnel))\(hint).",
                mayHaveArrived: false)
        }
        guard result == CURLE_OK else {
            throw Self.failure(
                result, message, tooLarge: transfer.isTooLarge, written: written, url: request.url)
        }
        return HTTPClientResponse(status: status, headers: transfer.headers, body: transfer.body)
    }

    private func configure(_ handle: CurlHandle, _ request: HTTPClientRequest) -> Bool {
        var results = [
            handle.set(CURLOPT_URL, request.url),
            handle.set(CURLOPT_NOSIGNAL, 1),
            handle.set(CURLOPT_PROTOCOLS_STR, "https,http"),
            handle.set(CURLOPT_CONNECTTIMEOUT_MS, options.connectTimeoutMs),
            handle.set(CURLOPT_TIMEOUT_MS, options.totalTimeoutMs),
            handle.set(CURLOPT_SSL_VERIFYPEER, options.verifiesPeer ? 1 : 0),
            handle.set(CURLOPT_SSL_VERIFYHOST, options.verifiesPeer ? 2 : 0),
            handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS)),
            handle.set(CURLOPT_TCP_NODELAY, 1),
        ]
        if let file = options.caFile { results.append(handle.set(CURLOPT_CAINFO, file)) }
        if let colon = options.proxyCredentials.firstIndex(of: ":") {
            let password = options.proxyCredentials[options.proxyCredentials.index(after: colon)...]
            results.append(
                handle.set(CURLOPT_PROXYUSERNAME, String(options.proxyCredentials[..<colon])))
            results.append(handle.set(CURLOPT_PROXYPASSWORD, String(password)))
            // CURLAUTH_BASIC, a macro that Swift does not see.
            results.append(handle.set(CURLOPT_PROXYAUTH, 1))
        }
        if let proxy = options.proxy { results.append(handle.set(CURLOPT_PROXY, proxy)) }
        switch request.method {
        case "GET" where request.body.isEmpty: results.append(handle.set(CURLOPT_HTTPGET, 1))
        case "HEAD": results.append(handle.set(CURLOPT_NOBODY, 1))
        default: results.append(handle.set(CURLOPT_CUSTOMREQUEST, request.method))
        }
        return !results.contains { $0 != CURLE_OK }
    }

    private func perform(_ handle: CurlHandle, _ request: HTTPClientRequest) -> CURLcode {
        let sendsBody = !request.body.isEmpty || ["POST", "PUT", "PATCH"].contains(request.method)
        guard sendsBody, request.method != "HEAD" else { return handle.perform() }
        // An empty array has no address, and curl reads standard input when a POST has none.
        let body = request.body.isEmpty ? [0] : request.body
        return unsafe body.withUnsafeBytes {
            let address = unsafe UnsafeMutableRawPointer(mutating: $0.baseAddress)
            guard handle.set(CURLOPT_POSTFIELDSIZE, request.body.count) == CURLE_OK,
                unsafe handle.set(CURLOPT_POSTFIELDS, pointer: address) == CURLE_OK
            else { return CURLE_OUT_OF_MEMORY }
            return handle.perform()
        }
    }

    private static func check(_ request: HTTPClientRequest) throws(HTTPClientFailure) {
        let isToken = { (text: String) in
            !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
        }
        let isClean = { (text: String) in text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }
        let scheme = request.url.lowercased()
        let reason: String
        if !scheme.hasPrefix("https://"), !scheme.hasPrefix("http://") {
            reason = "the address must begin with https:// or http://"
        } else if !isClean(request.url) || request.url.contains(" ") {
            reason = "the address holds a space or a control character"
        } else if !isToken(request.method) {
            reason = "the method is not a word"
        } else if let bad = request.headers.first(where: { !isToken($0.name) || !isClean($0.value) }) {
            let name = bad.name.filter { $0.isLetter || $0 == "-" }
            reason = "header \(name) holds a character that headers can't hold"
        } else {
            return
        }
        throw HTTPClientFailure(
            code: .invalidRequest, description: "The request was not sent: \(reason).", mayHaveArrived: false)
    }

    private static func failure(
        _ result: CURLcode, _ message: String, tooLarge: Bool, written: Bool, url: String
    ) -> HTTPClientFailure {
        let host = host(of: url)
        if tooLarge {
            return HTTPClientFailure(
                code: .tooLarge, description: "\(host) answered more than is accepted.", mayHaveArrived: true)
        }
        return HTTPClientFailure(
            code: code(result), description: "The request to \(host) failed: \(message).",
            mayHaveArrived: written)
    }

    private static func code(_ result: CURLcode) -> HTTPClientFailure.Code {
        switch result {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .invalidRequest
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
        case CURLE_COULDNT_CONNECT: .connect
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE: .certificate
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED:
            .tls
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_FILESIZE_EXCEEDED: .tooLarge
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2,
            CURLE_HTTP2_STREAM:
            .interrupted
        default: .other
        }
    }

    /// The address's host and port, without user, path or query, which may hold secrets.
    private static func host(of url: String) -> String {
        guard let colon = url.firstIndex(of: ":") else { return "the server" }
        let rest = url[url.index(after: colon)...].drop { $0 == "/" }
            .prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = rest.lastIndex(of: "@") else { return String(rest) }
        return String(rest[rest.index(after: at)...])
    }
}
