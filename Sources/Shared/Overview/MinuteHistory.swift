/// The minutes of one app that are over and were read, and which ones have to be read.
struct MinuteHistory {
    /// Minutes behind the current one that are read every time: a worker's clock may be slow.
    private static let unsettled: Int64 = 3

    let app: String
    private var settled: [Int64: Overview.Counts] = [:]
    private var total: Int64 = 0

    init(app: String) { self.app = app }

    /// The minutes of a window of `window` minutes ending with `last` that have to be read. A total that has
    /// shrunk means that Redis lost its data: then everything is read anew.
    mutating func missing(last: Int64, window: Int, total: Int64) -> [Int64] {
        if total < self.total { settled = [:] }
        self.total = total
        let oldest = last - Int64(OverviewReader.minutesMax)
        // A clock that was set back: what lies ahead is not over.
        settled = settled.filter { $0.key > oldest && $0.key < last - Self.unsettled }
        return Self.window(last, window).filter { settled[$0] == nil }
    }

    /// The whole window, of which `read` are the minutes that were missing.
    mutating func minutes(last: Int64, window: Int, read: [Int64: Overview.Counts]) -> [Overview.Minute] {
        for (minute, counts) in read where minute < last - Self.unsettled { settled[minute] = counts }
        return Self.window(last, window).map {
            Overview.Minute(minute: $0, counts: read[$0] ?? settled[$0] ?? Overview.Counts())
        }
    }

    private static func window(_ last: Int64, _ count: Int) -> ClosedRange<Int64> {
        last - Int64(max(1, count)) + 1...last
    }
}
