internal import Glibc

/// What tells one state of a file from another without reading it. A symbolic link is followed, so that a
/// link that is pointed elsewhere shows, which is how Kubernetes changes the files of a secret.
package struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let changedNs: Int64

    /// The file's stamp; nil when there is none.
    package init?(path: String) {
        var found = stat()
        guard unsafe path.withCString({ unsafe stat($0, &found) }) == 0 else { return nil }
        device = UInt64(found.st_dev)
        inode = UInt64(found.st_ino)
        size = Int64(found.st_size)
        changedNs = Int64(found.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(found.st_mtim.tv_nsec)
    }
}
