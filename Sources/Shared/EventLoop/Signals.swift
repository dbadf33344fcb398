internal import CLinux
internal import Glibc

/// Process signals.
package enum Signals {
    package static let interrupt = SIGINT
    package static let terminate = SIGTERM
    package static let hangUp = SIGHUP

    /// Blocks the signals in the calling thread; threads made later inherit that. Call first thing in `main`.
    package static func block(_ signals: [Int32]) {
        _ = unsafe signals.withUnsafeBufferPointer {
            unsafe peal_signals_block($0.baseAddress, Int32($0.count))
        }
    }

    /// Ignores SIGPIPE for the whole process.
    package static func ignorePipe() { peal_ignore_sigpipe() }

    /// Has the kernel send `signal` to this process when its parent ends.
    package static func dieWithParent(_ signal: Int32 = SIGTERM) { _ = peal_die_with_parent(signal) }
}

/// Hears of signals on a loop.
package protocol SignalHandler: AnyObject {
    /// One signal arrived.
    func signalled(_ signal: Int32)
}

/// Delivers blocked signals to a handler on the loop, through a signalfd.
package final class SignalSource: IOHandler {
    private let loop: EventLoop
    private let descriptor: Int32
    private var registration: Registration?
    private weak var handler: (any SignalHandler)?

    /// Starts to listen.
    /// - Throws: when the kernel refuses the descriptor.
    package init(loop: EventLoop, signals: [Int32], handler: any SignalHandler) throws(SystemFailure) {
        self.loop = loop
        self.handler = handler
        descriptor = try SystemFailure.check(
            unsafe signals.withUnsafeBufferPointer { unsafe peal_signalfd($0.baseAddress, Int32($0.count)) },
            "listen for signals")
        registration = try loop.add(descriptor: descriptor, interest: .readable, handler: self)
    }

    package func ioReady(_ events: IOEvents) {
        while true {
            let signal = peal_signalfd_next(descriptor)
            if signal == 0 { return }
            handler?.signalled(signal)
        }
    }

    /// Stops listening. The signals stay blocked.
    package func close() {
        guard let registration else { return }
        loop.remove(registration)
        self.registration = nil
        Socket.close(descriptor)
    }
}
