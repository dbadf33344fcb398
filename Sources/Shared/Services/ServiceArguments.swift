package import Configuration
package import Core
package import Terminal

/// Options that services share, read in the same way.
extension Arguments {
    /// `--http`: where health and metrics are served, in place of what the configuration says; nil for
    /// nowhere.
    /// - Throws: when it is neither an address nor `off`.
    package func listenAddress(or configured: ListenAddress?) throws(UsageFailure) -> ListenAddress? {
        guard let text = string("http") else { return configured }
        let address = ListenAddress(text)
        if address == nil, text != "off" {
            throw UsageFailure("--http takes host:port or off, not \"\(text)\"")
        }
        return address
    }

    /// `--log-level`; nil when it isn't given.
    /// - Throws: when it can't be read.
    package func logLevels() throws(UsageFailure) -> LogLevels? {
        guard let text = string("log-level") else { return nil }
        do throws(LogLevelFault) { return try LogLevels(parsing: text) } catch {
            throw UsageFailure("--log-level: \(error.sentence). Write it like info or info,kafka=debug.")
        }
    }
}
