internal import CNghttp2

/// Decompresses the header blocks of one connection (RFC 7541) with nghttp2's inflater.
///
/// - Ownership: owns the inflater and its memory.
@safe
final class HeaderDecoder {
    private let memory: NativeMemory
    // The inflater keeps the address, not a copy, unlike a session.
    private let functions: UnsafeMutablePointer<nghttp2_mem>
    private let raw: OpaquePointer

    init() throws(TransportFailure) {
        let memory = NativeMemory()
        var inflater: OpaquePointer?
        let functions = UnsafeMutablePointer<nghttp2_mem>.allocate(capacity: 1)
        unsafe functions.initialize(to: memory.functions)
        guard unsafe nghttp2_hd_inflate_new2(&inflater, functions) == 0, let inflater = unsafe inflater else {
            unsafe functions.deallocate()
            throw TransportFailure(.outOfMemory, "nghttp2 has no memory for a header decoder")
        }
        self.memory = memory
        unsafe self.functions = functions
        unsafe raw = inflater
    }

    deinit {
        unsafe nghttp2_hd_inflate_del(raw)
        unsafe functions.deallocate()
    }

    /// Decodes a whole block and hands each name and value on, for the duration of the call.
    /// - Returns: false when the block is no valid compression, which ends the connection (RFC 9113 section
    ///   4.3).
    func decode(
        _ block: UnsafeRawBufferPointer,
        _ each: (UnsafePointer<UInt8>, Int, UnsafePointer<UInt8>, Int) -> Void
    ) -> Bool {
        var at = 0
        // The inflater wants an address even for no bytes.
        var none: UInt8 = 0
        while true {
            var field = unsafe nghttp2_nv()
            var flags: Int32 = 0
            let left = block.count - at
            let taken: Int
            if let base = block.baseAddress {
                unsafe taken = nghttp2_hd_inflate_hd2(
                    raw, &field, &flags, (base + at).assumingMemoryBound(to: UInt8.self), left, 1)
            } else {
                unsafe taken = nghttp2_hd_inflate_hd2(raw, &field, &flags, &none, 0, 1)
            }
            guard taken >= 0, taken <= left else { return false }
            at += taken
            if UInt32(flags) & UInt32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0,
                let name = unsafe field.name, let value = unsafe field.value
            {
                unsafe each(name, field.namelen, value, field.valuelen)
            }
            if UInt32(flags) & UInt32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                unsafe nghttp2_hd_inflate_end_headers(raw)
                return true
            }
            if UInt32(flags) & UInt32(NGHTTP2_HD_INFLATE_EMIT.rawValue) == 0, at == block.count {
                return false
            }
        }
    }
}
