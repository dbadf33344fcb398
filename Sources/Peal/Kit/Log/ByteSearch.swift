/// Finds a text's bytes in records, without looking at all of theirs (Horspool's method): a record without an
/// id of 26 characters costs a look at every twentieth byte or so.
struct ByteSearch: Equatable {
    private let needle: [UInt8]
    /// How far the needle may move when its last byte stands on this one.
    private let skip: [Int]

    /// Looks for the bytes; none are in everything.
    init(_ needle: [UInt8]) {
        self.needle = needle
        var skip = [Int](repeating: max(1, needle.count), count: 256)
        for (position, byte) in needle.dropLast().enumerated() {
            skip[Int(byte)] = needle.count - 1 - position
        }
        self.skip = skip
    }

    /// Looks for the text's UTF-8.
    init(_ text: String) { self.init(Array(text.utf8)) }

    /// Whether the needle is in the bytes.
    func isIn(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = needle.count
        guard count > 0 else { return true }
        guard bytes.count >= count else { return false }
        return unsafe needle.withUnsafeBufferPointer { needle in
            unsafe skip.withUnsafeBufferPointer { skip in
                var end = count - 1
                while end < bytes.count {
                    var back = 0
                    while unsafe back < count && bytes[end - back] == needle[count - 1 - back] { back += 1 }
                    if back == count { return true }
                    unsafe end += skip[Int(bytes[end])]
                }
                return false
            }
        }
    }
}
