import Foundation

/// Other programs that judge what is generated for them.
enum Shell {
    struct Result {
        let code: Int32
        let output: String
        let errors: String
    }

    static func exists(_ name: String) -> Bool { path(name) != nil }

    private static func path(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile)
    }

    /// Runs the program to its end with what it reads on standard input.
    static func run(_ name: String, _ arguments: [String], input: String = "") throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "peal-shell-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["in", "out", "err"].map { folder.appending(path: $0) }
        try Data(input.utf8).write(to: files[0])
        for file in files[1...] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(filePath: path(name) ?? "/bin/\(name)")
        process.arguments = arguments
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        process.environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "HOME": folder.path,
            "TERM": "dumb", "LC_ALL": "C.UTF-8",
        ]
        try process.run()
        process.waitUntilExit()
        return Result(
            code: process.terminationStatus,
            output: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self),
            errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
    }
}
