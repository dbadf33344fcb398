internal import CNghttp2
internal import Glibc

/// Memory for one nghttp2 session from free lists, so that a steady stream of requests costs no malloc.
///
/// - Ownership: owns its chunks until `deinit`, which must follow the session's end. Blocks above 1 KiB go to malloc.
/// - Threading: the session's.
@safe
final class NativeMemory {
    private static let classBytes = 64
    private static let classCount = 17
    private static let chunkBytes = 16 * 1024
    // Each block is preceded by its size class (0: from malloc) and its usable size.
    private static let headerBytes = 16

    private let lists: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private var chunks: [UnsafeMutableRawPointer] = unsafe []
    private var chunkAt: UnsafeMutableRawPointer?
    private var chunkLeft = 0

    init() {
        unsafe lists = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: Self.classCount)
        unsafe lists.initialize(repeating: nil, count: Self.classCount)
    }

    deinit {
        for index in 0..<(unsafe chunks.count) { unsafe free(chunks[index]) }
        unsafe lists.deallocate()
    }

    /// The functions for nghttp2, which borrow this object.
    var functions: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(), malloc: nativeAllocate,
            free: nativeFree, calloc: nativeZeroed, realloc: nativeResize)
    }

    fileprivate func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        let sizeClass = (max(1, size) + Self.classBytes - 1) / Self.classBytes
        guard sizeClass < Self.classCount else {
            guard size <= Int(Int32.max), let raw = unsafe malloc(size + Self.headerBytes) else { return nil }
            unsafe raw.storeBytes(of: 0, as: Int.self)
            unsafe raw.storeBytes(of: size, toByteOffset: 8, as: Int.self)
            return unsafe raw + Self.headerBytes
        }
        if let block = unsafe lists[sizeClass] {
            unsafe lists[sizeClass] = block.load(as: UnsafeMutableRawPointer?.self)
            return unsafe block
        }
        let bytes = sizeClass * Self.classBytes + Self.headerBytes
        if chunkLeft < bytes {
            guard let chunk = unsafe malloc(Self.chunkBytes) else { return nil }
            unsafe chunks.append(chunk)
            unsafe chunkAt = chunk
            chunkLeft = Self.chunkBytes
        }
        guard let raw = unsafe chunkAt else { return nil }
        unsafe chunkAt = raw + bytes
        chunkLeft -= bytes
        unsafe raw.storeBytes(of: sizeClass, as: Int.self)
        unsafe raw.storeBytes(of: sizeClass * Self.classBytes, toByteOffset: 8, as: Int.self)
        return unsafe raw + Self.headerBytes
    }

    fileprivate func release(_ block: UnsafeMutableRawPointer) {
        let raw = unsafe block - Self.headerBytes
        let sizeClass = unsafe raw.load(as: Int.self)
        guard sizeClass > 0, sizeClass < Self.classCount else {
            unsafe free(raw)
            return
        }
        unsafe block.storeBytes(of: lists[sizeClass], as: UnsafeMutableRawPointer?.self)
        unsafe lists[sizeClass] = block
    }

    fileprivate func usableSize(_ block: UnsafeMutableRawPointer) -> Int {
        unsafe (block - 8).load(as: Int.self)
    }
}

private func nativeMemory(_ user: UnsafeMutableRawPointer) -> NativeMemory {
    unsafe Unmanaged<NativeMemory>.fromOpaque(user).takeUnretainedValue()
}

private func nativeAllocate(_ size: Int, _ user: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let user = unsafe user else { return nil }
    return unsafe nativeMemory(user).allocate(size)
}

private func nativeFree(_ block: UnsafeMutableRawPointer?, _ user: UnsafeMutableRawPointer?) {
    guard let block = unsafe block, let user = unsafe user else { return }
    unsafe nativeMemory(user).release(block)
}

private func nativeZeroed(
    _ count: Int, _ size: Int, _ user: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
    let (total, overflow) = count.multipliedReportingOverflow(by: size)
    guard !overflow, let user = unsafe user, let block = unsafe nativeMemory(user).allocate(total) else {
        return nil
    }
    unsafe memset(block, 0, total)
    return unsafe block
}

private func nativeResize(
    _ block: UnsafeMutableRawPointer?, _ size: Int, _ user: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
    guard let user = unsafe user else { return nil }
    let memory = unsafe nativeMemory(user)
    guard let block = unsafe block else { return unsafe memory.allocate(size) }
    let usable = unsafe memory.usableSize(block)
    if size <= usable { return unsafe block }
    guard let fresh = unsafe memory.allocate(size) else { return nil }
    unsafe memcpy(fresh, block, usable)
    unsafe memory.release(block)
    return unsafe fresh
}
