internal import COpenSSL

/// How a TLS client trusts, and what it shows of itself.
package struct TLSClientOptions: Sendable {
    /// A PEM file of trusted authorities; nil means the system's.
    package var caFile: String?
    /// Whether the server's chain and name are checked. Off only for tests.
    package var verifiesPeer = true
    /// A PEM file with the client's certificate chain, for APNs with a certificate.
    package var certificateFile: String?
    /// A PEM file with the client certificate's key.
    package var keyFile: String?
    /// The client's certificate chain and key as text instead of files; they are never logged.
    package var identity: ClientIdentity?
    /// Protocols offered by ALPN (RFC 7301).
    package var applicationProtocols = ["h2"]

    package init(
        caFile: String? = nil, verifiesPeer: Bool = true, certificateFile: String? = nil,
        keyFile: String? = nil, identity: ClientIdentity? = nil,
        applicationProtocols: [String] = ["h2"]
    ) {
        self.caFile = caFile
        self.verifiesPeer = verifiesPeer
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.identity = identity
        self.applicationProtocols = applicationProtocols
    }
}

/// Settings shared by many connections: trust, certificates, protocols. TLS 1.2 or later.
///
/// - Ownership: owns one `SSL_CTX`.
/// - Threading: immutable after creation; OpenSSL allows `SSL_new` on a shared `SSL_CTX` from any thread.
@safe
package final class TLSContext: Sendable {
    nonisolated(unsafe) let raw: OpaquePointer
    // The server's ALPN list, kept here because OpenSSL's callback borrows it.
    private let protocols: ProtocolList

    private init(method: OpaquePointer?, protocols: [String]) throws(SecurityFailure) {
        guard let context = unsafe SSL_CTX_new(method) else {
            throw SecurityFailure.openSSL(.internalError, "could not make a TLS context")
        }
        unsafe raw = context
        self.protocols = ProtocolList(protocols)
        unsafe peal_ssl_ctx_min_tls12(raw)
        unsafe peal_ssl_ctx_modes(raw)
        unsafe peal_ssl_ctx_cache_off(raw)
        unsafe peal_ssl_ctx_read_ahead(raw)
    }

    deinit { unsafe SSL_CTX_free(raw) }

    /// Makes a client's context.
    package static func client(_ options: TLSClientOptions) throws(SecurityFailure) -> TLSContext {
        let context = try unsafe TLSContext(
            method: TLS_client_method(), protocols: options.applicationProtocols)
        unsafe SSL_CTX_set_verify(context.raw, options.verifiesPeer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
        if let file = options.caFile {
            guard unsafe SSL_CTX_load_verify_file(context.raw, file) == 1 else {
                throw SecurityFailure.openSSL(
                    .configuration, "could not read trusted authorities from \(file)")
            }
        } else if unsafe SSL_CTX_set_default_verify_paths(context.raw) != 1 {
            throw SecurityFailure.openSSL(.configuration, "the system has no trusted authorities")
        }
        if let file = options.certificateFile {
            guard unsafe SSL_CTX_use_certificate_chain_file(context.raw, file) == 1 else {
                throw SecurityFailure.openSSL(
                    .badCertificate, "could not read a certificate chain from \(file)")
            }
            let keyFile = options.keyFile ?? file
            guard unsafe SSL_CTX_use_PrivateKey_file(context.raw, keyFile, SSL_FILETYPE_PEM) == 1 else {
                throw SecurityFailure.openSSL(.badKey, "could not read the certificate's key from \(keyFile)")
            }
            guard unsafe SSL_CTX_check_private_key(context.raw) == 1 else {
                throw SecurityFailure.openSSL(
                    .badKey, "the key in \(keyFile) is not that of the certificate in \(file)")
            }
        }
        if let identity = options.identity { try context.use(identity) }
        let wire = context.protocols.wire
        if !wire.isEmpty, unsafe SSL_CTX_set_alpn_protos(context.raw, wire, UInt32(wire.count)) != 0 {
            throw SecurityFailure(.configuration, "the list of application protocols is too long")
        }
        return context
    }

    /// Makes a server's context.
    package static func server(
        certificatePEM: String, keyPEM: String, applicationProtocols: [String] = ["h2"],
        clientCAPEM: String? = nil
    ) throws(SecurityFailure) -> TLSContext {
        let context = try unsafe TLSContext(method: TLS_server_method(), protocols: applicationProtocols)
        let certificate = try CertificateHandle(pem: certificatePEM)
        let key = try KeyHandle(privatePEM: keyPEM)
        guard unsafe SSL_CTX_use_certificate(context.raw, certificate.raw) == 1,
            unsafe SSL_CTX_use_PrivateKey(context.raw, key.raw) == 1
        else { throw SecurityFailure.openSSL(.badCertificate, "the certificate and its key do not match") }
        if let clientCAPEM {
            let authority = try CertificateHandle(pem: clientCAPEM)
            unsafe X509_STORE_add_cert(SSL_CTX_get_cert_store(context.raw), authority.raw)
            unsafe SSL_CTX_set_verify(context.raw, SSL_VERIFY_PEER, nil)
        }
        let list = unsafe Unmanaged.passUnretained(context.protocols).toOpaque()
        unsafe SSL_CTX_set_alpn_select_cb(context.raw, selectProtocol, list)
        return context
    }
}

/// An ALPN list in wire form: each name after its length.
final class ProtocolList: Sendable {
    let wire: [UInt8]
    init(_ names: [String]) {
        wire = names.flatMap { name in [UInt8(clamping: name.utf8.count)] + Array(name.utf8.prefix(255)) }
    }
}

/// Picks the first of the server's protocols that the client offers.
/// Thread: the connection's, inside the handshake. The list outlives the context, which owns it.
private func selectProtocol(
    _ ssl: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ outLength: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context, let offered = unsafe offered else { return SSL_TLSEXT_ERR_NOACK }
    let list = unsafe Unmanaged<ProtocolList>.fromOpaque(context).takeUnretainedValue()
    var at = 0
    while at < list.wire.count {
        let length = Int(list.wire[at])
        let name = list.wire[(at + 1)...(at + length)]
        var position = 0
        while position < Int(offeredLength) {
            let size = Int(unsafe offered[position])
            guard position + 1 + size <= Int(offeredLength) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
            let candidate = unsafe UnsafeBufferPointer(start: offered + position + 1, count: size)
            if unsafe candidate.elementsEqual(name) {
                unsafe out?.pointee = UnsafePointer(offered + position + 1)
                unsafe outLength?.pointee = UInt8(size)
                return SSL_TLSEXT_ERR_OK
            }
            position += 1 + size
        }
        at += 1 + length
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
