internal import EventLoop
internal import Glibc

/// The files that a run of the bench leaves: its record and its plots.
enum BenchOutput {
    /// Replaces the file, whole or not at all.
    /// - Throws: `.files` when it can't be written.
    static func replace(_ path: String, text: String) throws(StackFailure) {
        let draft = path + ".new"
        do throws(SystemFailure) {
            try Files.write(path: draft, text: text)
            let moved = unsafe draft.withCString { old in
                unsafe path.withCString { new in unsafe Glibc.rename(old, new) }
            }
            let code = errno
            guard moved == 0 else {
                _ = unsafe draft.withCString { unsafe unlink($0) }
                throw SystemFailure(errno: code, doing: "replace \(path)")
            }
        } catch {
            throw StackFailure(.files, "\(error)")
        }
    }

    /// Makes the directory if it isn't there and checks that files can be made in it.
    /// - Throws: `.files` when they can't.
    static func prepare(directory path: String) throws(StackFailure) {
        let made = unsafe path.withCString { unsafe mkdir($0, 0o755) }
        let code = errno
        guard made == 0 || code == EEXIST else {
            throw StackFailure(
                .files, "\(SystemFailure(errno: code, doing: "make the directory \(path)"))")
        }
        try checkWritable(path)
    }

    /// Checks that a file at the path could be made, before a run whose result would be lost.
    /// - Throws: `.files` when its directory is missing or closed to us.
    static func prepare(file path: String) throws(StackFailure) {
        guard let slash = path.lastIndex(of: "/") else { return try checkWritable(".") }
        try checkWritable(slash == path.startIndex ? "/" : String(path[..<slash]))
    }

    private static func checkWritable(_ directory: String) throws(StackFailure) {
        var status = stat()
        let found = unsafe directory.withCString { unsafe stat($0, &status) }
        var code = errno
        if found == 0 {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            let isOpen = unsafe directory.withCString { unsafe access($0, W_OK | X_OK) } == 0
            if isDirectory, isOpen { return }
            code = isDirectory ? EACCES : ENOTDIR
        }
        throw StackFailure(.files, "\(SystemFailure(errno: code, doing: "write to \(directory)"))")
    }

    /// Writes each plot as `NAME.svg`.
    /// - Returns: the paths.
    /// - Throws: `.files` when one can't be written.
    static func write(_ plots: [BenchPlot], to directory: String) throws(StackFailure) -> [String] {
        var paths: [String] = []
        for plot in plots {
            let path = "\(directory)/\(fileName(plot.name)).svg"
            try replace(path, text: SVGPlot.render(plot))
            paths.append(path)
        }
        return paths
    }

    /// The name with only letters, digits and dashes, so that it stays within the directory.
    static func fileName(_ name: String) -> String {
        String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }
}
