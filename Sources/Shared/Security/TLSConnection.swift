internal import COpenSSL
package import Core

/// One TLS connection as a byte transformer: it never touches a socket.
///
/// Append what the socket received to ``incoming``; send and consume what stands in ``outgoing``.
/// - Ownership: owns one `SSL`, which owns one `BIO` that borrows this object.
/// - Threading: one thread.
@safe
package final class TLSConnection {
    /// What a read brought.
    package enum ReadResult: Equatable, Sendable {
        case bytes(Int)
        /// Everything received so far has been read.
        case wantsMore
        /// The peer ended the connection in good order.
        case closed
    }

    /// Ciphertext from the socket, not yet taken by OpenSSL.
    package var incoming = ByteBuffer(capacity: 32_768)
    /// Ciphertext for the socket.
    package var outgoing = ByteBuffer(capacity: 32_768)
    private let context: TLSContext
    private let ssl: OpaquePointer
    private var shutDown = false

    /// Makes the client's side; `serverName` goes into SNI and is checked against the certificate.
    package convenience init(client context: TLSContext, serverName: String) throws(SecurityFailure) {
        try self.init(context: context)
        let isAddress =
            serverName.contains(":") || serverName.split(separator: ".").allSatisfy { UInt8($0) != nil }
        let isExpected: Int32
        if isAddress {
            isExpected = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName)
        } else {
            unsafe peal_ssl_set_host(ssl, serverName)
            isExpected = serverName.isEmpty ? 0 : unsafe SSL_set1_host(ssl, serverName)
        }
        // Without an expected name OpenSSL would take any certificate of a trusted authority.
        guard isExpected == 1 else {
            ERR_clear_error()
            throw SecurityFailure(
                .configuration, "\"\(serverName)\" is neither a host name nor an address to check against")
        }
        unsafe SSL_set_connect_state(ssl)
    }

    /// Makes the server's side.
    package convenience init(server context: TLSContext) throws(SecurityFailure) {
        try self.init(context: context)
        unsafe SSL_set_accept_state(ssl)
    }

    private init(context: TLSContext) throws(SecurityFailure) {
        guard let ssl = unsafe SSL_new(context.raw) else {
            throw SecurityFailure.openSSL(.internalError, "could not make a TLS connection")
        }
        self.context = context
        unsafe self.ssl = ssl
        guard let method = unsafe BufferMethod.shared.raw, let bio = unsafe BIO_new(method) else {
            // `deinit` frees the SSL: every property is set.
            throw SecurityFailure(.internalError, "out of memory")
        }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        unsafe BIO_set_init(bio, 1)
        // SSL_set_bio takes the one reference for both directions.
        unsafe SSL_set_bio(ssl, bio, bio)
    }

    deinit { unsafe SSL_free(ssl) }

    /// Goes on with the handshake as far as the received bytes allow.
    /// - Returns: whether it is complete.
    package func handshake() throws(SecurityFailure) -> Bool {
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(ssl)
        if result == 1 { return true }
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return false
        default:
            let verdict = unsafe SSL_get_verify_result(ssl)
            if verdict != Int(X509_V_OK) {
                let reason = unsafe X509_verify_cert_error_string(verdict).map { unsafe String(cString: $0) }
                ERR_clear_error()
                throw SecurityFailure(
                    .untrustedPeer, "the peer's certificate is not trusted: \(reason ?? "unknown")")
            }
            throw SecurityFailure.openSSL(.handshake, "the TLS handshake failed")
        }
    }

    /// Decrypts into `buffer`. Call until ``ReadResult/wantsMore``: OpenSSL may hold whole records of its
    /// own.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SecurityFailure) -> ReadResult {
        ERR_clear_error()
        let count = unsafe SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
        if count > 0 { return .bytes(Int(count)) }
        switch unsafe SSL_get_error(ssl, count) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wantsMore
        case SSL_ERROR_ZERO_RETURN: return .closed
        default: throw SecurityFailure.openSSL(.record, "the TLS connection is broken")
        }
    }

    /// Encrypts all of `plaintext`; the ciphertext lands in ``outgoing``. Cheapest in multiples of 16,384
    /// bytes.
    package func write(_ plaintext: UnsafeRawBufferPointer) throws(SecurityFailure) {
        var at = 0
        while at < plaintext.count {
            ERR_clear_error()
            let rest = unsafe UnsafeRawBufferPointer(rebasing: plaintext[at...])
            let count = unsafe SSL_write(ssl, rest.baseAddress, Int32(clamping: rest.count))
            guard count > 0 else { throw SecurityFailure.openSSL(.record, "the TLS connection is broken") }
            at += Int(count)
        }
    }

    /// The protocol that ALPN settled on; nil before the handshake or without agreement.
    package var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        guard let name = unsafe name, length > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    /// The common name of the certificate that the peer showed; nil when it showed none.
    package var peerName: String? {
        guard let certificate = unsafe SSL_get1_peer_certificate(ssl) else { return nil }
        defer { unsafe X509_free(certificate) }
        var text = [CChar](repeating: 0, count: 256)
        let length = unsafe X509_NAME_get_text_by_NID(
            X509_get_subject_name(certificate), NID_commonName, &text, Int32(text.count))
        guard length > 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The protocol version and cipher, such as "TLSv1.3 TLS_AES_128_GCM_SHA256".
    package var cipherDescription: String {
        let version = unsafe SSL_get_version(ssl).map { unsafe String(cString: $0) } ?? "?"
        let cipher =
            unsafe SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)).map { unsafe String(cString: $0) } ?? "?"
        return "\(version) \(cipher)"
    }

    /// Queues close_notify (RFC 8446 section 6.1). Safe to call twice.
    package func close() {
        guard !shutDown else { return }
        shutDown = true
        ERR_clear_error()
        unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    // MARK: The BIO's two halves

    fileprivate func bioRead(_ out: UnsafeMutablePointer<CChar>, _ length: Int) -> Int {
        let count = min(length, incoming.count)
        guard count > 0, let from = unsafe incoming.bytes.baseAddress else { return 0 }
        unsafe UnsafeMutableRawPointer(out).copyMemory(from: from, byteCount: count)
        incoming.consume(count)
        return count
    }

    fileprivate func bioWrite(_ bytes: UnsafePointer<CChar>, _ length: Int) {
        unsafe outgoing.append(UnsafeRawBufferPointer(start: bytes, count: length))
    }
}

/// The `BIO_METHOD` that reads from and writes to a ``TLSConnection``'s buffers. Made once and kept.
@safe
private final class BufferMethod: Sendable {
    static let shared = BufferMethod()
    nonisolated(unsafe) let raw: OpaquePointer?

    private init() {
        let method = unsafe BIO_meth_new(BIO_get_new_index() | 0x400, "peal buffers")
        unsafe raw = method
        guard let method = unsafe method else { return }
        unsafe BIO_meth_set_read(method, bufferRead)
        unsafe BIO_meth_set_write(method, bufferWrite)
        unsafe BIO_meth_set_ctrl(method, bufferControl)
    }
}

/// Thread: the connection's, inside an SSL call. The connection outlives its BIO, which `deinit` frees.
private func bufferRead(_ bio: OpaquePointer?, _ out: UnsafeMutablePointer<CChar>?, _ length: Int32) -> Int32
{
    guard let data = unsafe BIO_get_data(bio), let out = unsafe out, length > 0 else { return -1 }
    let connection = unsafe Unmanaged<TLSConnection>.fromOpaque(data).takeUnretainedValue()
    let count = unsafe connection.bioRead(out, Int(length))
    if count == 0 {
        unsafe peal_bio_retry_read(bio)
        return -1
    }
    unsafe peal_bio_clear_retry(bio)
    return Int32(count)
}

/// Thread: the connection's, inside an SSL call.
private func bufferWrite(_ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ length: Int32) -> Int32 {
    guard let data = unsafe BIO_get_data(bio), let bytes = unsafe bytes, length > 0 else { return -1 }
    let connection = unsafe Unmanaged<TLSConnection>.fromOpaque(data).takeUnretainedValue()
    unsafe connection.bioWrite(bytes, Int(length))
    return length
}

private func bufferControl(
    _ bio: OpaquePointer?, _ command: Int32, _ number: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
    command == peal_ctrl_flush() ? 1 : 0
}
