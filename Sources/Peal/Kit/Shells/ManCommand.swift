internal import Core
internal import EventLoop
internal import Terminal

/// `peal man`: the programs' manual pages.
enum ManCommand {
    static let command = Command(
        "man", summary: "print a program's manual page, or write those of all five programs",
        operands: "[\(names.joined(separator: "|"))]",
        options: [Option("dir", .value("DIR"), help: "write every page there, as NAME.1")],
        details: """
            The pages are made from what the programs say of themselves; their date is that of today, or of
            SOURCE_DATE_EPOCH (seconds since 1970).

              peal man | man -l -
              peal man --dir /usr/local/share/man/man1

            Exit codes: 0 done, 2 a page could not be written, 64 wrong usage.
            """)

    private static let names = ["peal", "peal-producer", "peal-worker", "peal-retry", "peal-simulator"]

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let pages = Self.pages(
            epochS: Console.environment["SOURCE_DATE_EPOCH"].flatMap(Int64.init) ?? Clock.wallMs / 1000)
        if let folder = arguments.string("dir") {
            guard arguments.operands.isEmpty else {
                throw UsageFailure("man --dir writes every page; leave \"\(arguments.operands[0])\" out")
            }
            return write(pages, to: folder)
        }
        guard arguments.operands.count <= 1 else { throw UsageFailure("man takes one program") }
        let name = arguments.operands.first ?? "peal"
        guard let page = pages.first(where: { $0.fileName == name + ".1" }) else {
            throw UsageFailure("man knows \(names.joined(separator: ", ")), not \"\(name)\"")
        }
        Console.write(page.text)
        return 0
    }

    /// The pages of all programs with the day of that second since 1970.
    static func pages(epochS: Int64) -> [ManPage] {
        let seconds = min(max(0, epochS), 253_402_300_799)
        let date = String(Timestamp.rfc3339(ms: seconds * 1000).prefix(10))
        let all = Programs.all.map(\.name)
        return Programs.all.map { ManPage($0, version: Programs.version, date: date, others: all) }
    }

    private static func write(_ pages: [ManPage], to folder: String) -> Int32 {
        for page in pages {
            do throws(SystemFailure) {
                try Files.write(path: "\(folder)/\(page.fileName)", text: page.text)
            } catch {
                Console.complain("peal man: \(error)")
                return 2
            }
        }
        Console.write("\(pages.map(\.fileName).joined(separator: ", ")) written to \(folder)\n")
        return 0
    }
}
