internal import CNghttp2
internal import Glibc

/// Memory for one nghttp2 session from free lists, so that a steady stream of requests costs no malloc.
///
/// - Ownership: owns its chunks until `deinit`, which must follow the session's end. Blocks above 1 KiB go to
///   malloc.
/// - Threading: the session's.
@safe
final class NativeMemory {
    private let arena: UnsafeMutablePointer<NativeArena>

    init() {
        unsafe arena = UnsafeMutablePointer<NativeArena>.allocate(capacity: 1)
        unsafe arena.initialize(to: NativeArena())
    }

    deinit {
        unsafe arena.pointee.freeAll()
        unsafe arena.deinitialize(count: 1)
        unsafe arena.deallocate()
    }

    /// The functions for nghttp2, which borrow this object's arena.
    var functions: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: arena, malloc: nativeAllocate, free: nativeFree, calloc: nativeZeroed,
            realloc: nativeResize)
    }
}

/// The free lists, behind a pointer so that a call costs no reference count and no exclusivity check.
@safe
private struct NativeArena {
    static let classBytes = 64
    static let classCount = 17
    static let chunkBytes = 16 * 1024
    // Each block is preceded by its size class (0: from malloc) and its usable size.
    static let headerBytes = 16

    private var lists = unsafe InlineArray<17, UnsafeMutableRawPointer?>(repeating: nil)
    // The chunks, linked through their first word.
    private var chunks: UnsafeMutableRawPointer?
    private var chunkAt: UnsafeMutableRawPointer?
    private var chunkLeft = 0

    mutating func freeAll() {
        while let chunk = unsafe chunks {
            unsafe chunks = unsafe chunk.load(as: UnsafeMutableRawPointer?.self)
            unsafe free(chunk)
        }
    }

    mutating func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        let sizeClass = (max(1, size) + Self.classBytes - 1) / Self.classBytes
        guard sizeClass < Self.classCount else {
            guard size <= Int(Int32.max), let raw = unsafe malloc(size + Self.headerBytes) else { return nil }
            unsafe raw.storeBytes(of: 0, as: Int.self)
            unsafe raw.storeBytes(of: size, toByteOffset: 8, as: Int.self)
            return unsafe raw + Self.headerBytes
        }
        if let block = unsafe lists[sizeClass] {
            unsafe lists[sizeClass] = unsafe block.load(as: UnsafeMutableRawPointer?.self)
            return unsafe block
        }
        let bytes = sizeClass * Self.classBytes + Self.headerBytes
        if chunkLeft < bytes {
            guard let chunk = unsafe malloc(Self.chunkBytes) else { return nil }
            unsafe chunk.storeBytes(of: chunks, as: UnsafeMutableRawPointer?.self)
            unsafe chunks = unsafe chunk
            unsafe chunkAt = unsafe chunk + Self.headerBytes
            chunkLeft = Self.chunkBytes - Self.headerBytes
        }
        guard let raw = unsafe chunkAt else { return nil }
        unsafe chunkAt = unsafe raw + bytes
        chunkLeft -= bytes
        unsafe raw.storeBytes(of: sizeClass, as: Int.self)
        unsafe raw.storeBytes(of: sizeClass * Self.classBytes, toByteOffset: 8, as: Int.self)
        return unsafe raw + Self.headerBytes
    }

    mutating func release(_ block: UnsafeMutableRawPointer) {
        let raw = unsafe block - Self.headerBytes
        let sizeClass = unsafe raw.load(as: Int.self)
        guard sizeClass > 0, sizeClass < Self.classCount else {
            unsafe free(raw)
            return
        }
        unsafe block.storeBytes(of: lists[sizeClass], as: UnsafeMutableRawPointer?.self)
        unsafe lists[sizeClass] = unsafe block
    }

    static func usableSize(_ block: UnsafeMutableRawPointer) -> Int { unsafe (block - 8).load(as: Int.self) }
}

private func nativeArena(_ user: UnsafeMutableRawPointer) -> UnsafeMutablePointer<NativeArena> {
    unsafe user.assumingMemoryBound(to: NativeArena.self)
}

private func nativeAllocate(_ size: Int, _ user: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let user = unsafe user else { return nil }
    return unsafe nativeArena(user).pointee.allocate(size)
}

private func nativeFree(_ block: UnsafeMutableRawPointer?, _ user: UnsafeMutableRawPointer?) {
    guard let block = unsafe block, let user = unsafe user else { return }
    unsafe nativeArena(user).pointee.release(block)
}

private func nativeZeroed(
    _ count: Int, _ size: Int, _ user: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
    let (total, overflow) = count.multipliedReportingOverflow(by: size)
    guard !overflow, let user = unsafe user, let block = unsafe nativeArena(user).pointee.allocate(total)
    else {
        return nil
    }
    unsafe memset(block, 0, total)
    return unsafe block
}

private func nativeResize(
    _ block: UnsafeMutableRawPointer?, _ size: Int, _ user: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
    guard let user = unsafe user else { return nil }
    let arena = unsafe nativeArena(user)
    guard let block = unsafe block else { return unsafe arena.pointee.allocate(size) }
    let usable = unsafe NativeArena.usableSize(block)
    if size <= usable { return unsafe block }
    guard let fresh = unsafe arena.pointee.allocate(size) else { return nil }
    unsafe memcpy(fresh, block, usable)
    unsafe arena.pointee.release(block)
    return unsafe fresh
}
