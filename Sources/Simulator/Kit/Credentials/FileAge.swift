import Glibc

/// The two file operations that the credentials' directory needs.
enum FileAge {
    /// Seconds since the file was written; a very long time when there is none.
    static func seconds(path: String) -> Int {
        var found = stat()
        guard unsafe stat(path, &found) == 0 else { return Int.max }
        return max(0, time(nil) - found.st_mtim.tv_sec)
    }

    /// Makes a directory for the owner only; one that exists is left as it is.
    static func makeDirectory(_ path: String) { _ = unsafe mkdir(path, 0o700) }
}
