import EventLoop
import Glibc

/// The process's standard output and error.
package enum Console {
    /// Ends the process with this exit code.
    ///
    /// Without the exit handlers and destructors of C libraries: they take things away from threads that may
    /// still run, as after a start that failed half-way, and such a process would crash instead of ending.
    package static func end(_ code: Int32) -> Never {
        fflush(nil)
        _exit(code)
    }

    /// The process's environment.
    package static var environment: [String: String] {
        var found: [String: String] = [:]
        var entry = unsafe environ
        while let line = unsafe entry.pointee {
            let text = unsafe String(cString: line)
            if let at = text.firstIndex(of: "=") {
                found[String(text[..<at])] = String(text[text.index(after: at)...])
            }
            unsafe entry += 1
        }
        return found
    }

    /// Whether the descriptor (1 output, 2 error) is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The terminal's width in columns; 80 when it can't be told.
    package static var width: Int {
        var size = winsize()
        let result = unsafe ioctl(2, UInt(TIOCGWINSZ), &size)
        return result == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    /// The colours to use on standard output.
    package static var style: TextStyle { style(of: 1) }

    /// The colours to use on the descriptor.
    package static func style(of descriptor: Int32) -> TextStyle {
        TextStyle(
            isEnabled: TextStyle.wantsColour(isTerminal: isTerminal(descriptor), environment: environment))
    }

    /// Writes the text to standard output.
    package static func write(_ text: String) { write(text, to: 1) }

    /// Writes the text and a newline to standard error.
    package static func complain(_ text: String) { write(text + "\n", to: 2) }

    /// Writes the whole text; gives up when the reader is gone.
    package static func write(_ text: String, to descriptor: Int32) {
        var copy = text
        copy.withUTF8 { bytes in
            var at = 0
            while at < bytes.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[at...])
                let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count > 0 {
                    at += count
                } else if errno == EAGAIN {
                    usleep(1000)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }

    /// Reads the command line, prints help, version or what is wrong, and ends the process unless there is
    /// something to run. Exit codes: 0 after help, 64 after a mistake.
    package static func arguments(for command: Command, version: String) -> Arguments {
        do throws(UsageFailure) {
            let words = Array(CommandLine.arguments.dropFirst())
            switch try ArgumentParser.parse(words, for: command, environment: environment) {
            case .run(let arguments): return arguments
            case .help(let text): write(text)
            case .version: write("\(command.name) \(version)\n")
            }
        } catch {
            failUsage(error, of: command)
        }
        exit(0)
    }

    /// Prints what is wrong with the command line and exits with 64.
    package static func failUsage(_ failure: UsageFailure, of command: Command) -> Never {
        let isNamed = failure.message.hasPrefix(command.name)
        complain(isNamed ? failure.message : "\(command.name): \(failure.message)")
        exit(UsageFailure.exitCode)
    }
}

/// A progress bar on standard error; silent when that isn't a terminal.
///
/// One thread. Draws at most ten times a second, so it can be told every step.
package final class ProgressBar {
    private let title: String
    private let isShown: Bool
    private let style: TextStyle
    private let startMs: UInt64
    private var drawnMs: UInt64 = 0
    private var window: [(ms: UInt64, done: Int)] = []

    /// A bar with a title.
    package init(title: String, isShown: Bool = Console.isTerminal(2)) {
        self.title = title
        self.isShown = isShown
        style = Console.style(of: 2)
        startMs = Clock.monotonicMs
    }

    /// Shows the state, if it is time to.
    package func update(done: Int, total: Int?, note: String = "") {
        guard isShown else { return }
        let now = Clock.monotonicMs
        guard now >= drawnMs + 100 else { return }
        drawnMs = now
        window.append((now, done))
        if window.count > 30 { window.removeFirst() }
        draw(done, total, note, now)
    }

    /// Removes the bar from the screen.
    package func clear() {
        if isShown, drawnMs > 0 { Console.write("\r\u{1B}[K", to: 2) }
    }

    private func draw(_ done: Int, _ total: Int?, _ note: String, _ now: UInt64) {
        // The rate of the last seconds, so that a stall shows.
        var perSecond = 0.0
        if let first = window.first, now > first.ms {
            perSecond = Double(done - first.done) * 1000 / Double(now - first.ms)
        }
        let line = ProgressLine(
            title: title, done: done, total: total, elapsedMs: Int(clamping: now - startMs),
            perSecond: perSecond, note: note)
        Console.write("\r" + line.render(width: Console.width - 1, style: style) + "\u{1B}[K", to: 2)
    }
}
