import Core

/// Dates as HTTP writes them (RFC 9110 section 5.6.7), which Retry-After may use instead of seconds.
enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The second that holds this instant: `Sun, 06 Nov 1994 08:49:37 GMT`.
    /// What lies before 1970 counts as 1970.
    static func text(ms: Int64) -> String {
        let seconds = Int(max(0, ms) / 1000)
        let (year, month, day) = Timestamp.date(days: seconds / 86_400)
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let time = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60].map(two).joined(separator: ":")
        return
            "\(weekdays[seconds / 86_400 % 7]), \(two(day)) \(months[(month - 1) % 12]) \(year) \(time) GMT"
    }
}
