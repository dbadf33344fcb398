import Core
import Glibc

/// Reads a file or standard input in large pieces.
struct InputReader: ~Copyable {
    /// What a read brought.
    enum Piece: Equatable {
        case bytes(Int)
        case end
        /// The flag was raised while nothing came.
        case stopped
        case failed(errno: Int32)
    }

    private static let pieceSize = 1 << 20
    private let descriptor: Int32
    private let isOwned: Bool
    /// The size of a regular file; 0 for anything else.
    let size: Int

    /// Opens the file; `-` is standard input.
    /// - Returns: nil when it can't be opened; `errno` says why.
    init?(path: String) {
        isOwned = path != "-"
        descriptor = unsafe isOwned ? path.withCString { unsafe open($0, O_RDONLY | O_CLOEXEC) } : 0
        guard descriptor >= 0 else {
            size = 0
            return nil
        }
        var info = stat()
        let isRegular = unsafe fstat(descriptor, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
        size = isRegular ? Int(info.st_size) : 0
    }

    deinit { if isOwned, descriptor >= 0 { close(descriptor) } }

    /// Appends the next piece; waits for it until the flag is raised.
    func read(into buffer: inout ByteBuffer, stop: StopFlag) -> Piece {
        while !stop.isRaised {
            if size == 0 {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                if unsafe poll(&wanted, 1, 100) == 0 { continue }
            }
            var count = 0
            unsafe buffer.appendWith(minimum: Self.pieceSize) { room in
                count = unsafe Glibc.read(descriptor, room.baseAddress, Self.pieceSize)
                return max(0, count)
            }
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno != EINTR && errno != EAGAIN { return .failed(errno: errno) }
        }
        return .stopped
    }
}
