internal import EventLoop
internal import Glibc
internal import Overview
internal import Redis
internal import Terminal

/// The live picture: one thread reads Redis, this one draws and hears of keys and signals, so that a Redis
/// that hangs doesn't hold the keys up.
///
/// - Threading: made and run on one thread.
final class TopLive: IOHandler, TimerHandler, SignalHandler, WakeHandler {
    private static let tickTag: UInt64 = 1
    private static let pauseTag: UInt64 = 2
    /// How long a lone escape waits for the rest of a sequence, in ms.
    private static let pauseMs: UInt64 = 40

    private let loop: EventLoop
    private let screen = TerminalScreen()
    private let style = Console.style
    private let reader: OverviewThread
    private var model: TopModel
    private var keys = KeyReader()
    private var input: Registration?
    private var isReading = false
    private var code: Int32 = 0

    /// Shows the picture until the operator leaves it.
    static func run(
        _ options: RedisClientOptions, _ model: TopModel, minutes: Int
    ) throws(ToolFailure) -> Int32 {
        let signals = [Signals.interrupt, Signals.terminate, Signals.hangUp, SIGQUIT, SIGWINCH]
        // Before any thread is made, so that all of them leave these signals to the loop.
        Signals.block(signals)
        do throws(SystemFailure) {
            let loop = try EventLoop()
            let live = TopLive(loop, options, model, minutes: minutes)
            let source = try SignalSource(loop: loop, signals: signals, handler: live)
            defer { source.close() }
            return live.stay()
        } catch {
            throw ToolFailure(away: "\(error)")
        }
    }

    private init(
        _ loop: EventLoop, _ options: RedisClientOptions, _ model: TopModel, minutes: Int
    ) {
        self.loop = loop
        self.model = model
        reader = OverviewThread(options, minutes: minutes, waker: loop.waker)
    }

    private func stay() -> Int32 {
        loop.addWakeHandler(self)
        screen.open()
        defer {
            screen.close()
            loop.removeWakeHandler(self)
            reader.stop()
        }
        // Not every standard input can be waited for; without one there are no keys.
        input = try? loop.add(descriptor: 0, interest: .readable, handler: self)
        timerFired(Self.tickTag)
        draw()
        loop.run()
        if let input { loop.remove(input) }
        return code
    }

    private func draw() {
        let size = screen.size
        screen.draw(TopScreen(model, width: size.columns, height: size.rows, style: style).lines)
    }

    private func ask() {
        guard !isReading else { return }
        isReading = true
        reader.ask()
    }

    // MARK: What happens

    func timerFired(_ tag: UInt64) {
        if tag == Self.pauseTag {
            handle(keys.take([], isPause: true))
            return
        }
        if !model.isHeld { ask() }
        _ = loop.schedule(afterMs: UInt64(model.intervalMs), tag: Self.tickTag, handler: self)
    }

    func woken() {
        guard let answer = reader.takeAnswer() else { return }
        isReading = false
        switch answer {
        case .success(let overview): model.take(overview)
        case .failure(let failure): model.take(failure: failure.message)
        }
        draw()
    }

    func ioReady(_ events: IOEvents) {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(0, $0.baseAddress, $0.count) }
        if count > 0 {
            handle(keys.take(bytes.prefix(count)))
            _ = loop.schedule(afterMs: Self.pauseMs, tag: Self.pauseTag, handler: self)
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            // The terminal is gone.
            leave()
        }
    }

    private func handle(_ typed: [TerminalKey]) {
        guard !typed.isEmpty else { return }
        for key in typed {
            switch model.handle(key) {
            case .none: break
            case .quit: return leave()
            case .refresh: ask()
            }
        }
        draw()
    }

    func signalled(_ signal: Int32) {
        if signal == SIGWINCH {
            screen.forget()
            draw()
        } else {
            code = signal == Signals.interrupt ? 0 : 128 + signal
            leave()
        }
    }

    private func leave() { loop.stop() }
}

/// Reads overviews on a thread of its own, one for each question.
final class OverviewThread: Sendable {
    private let questions: BlockingQueue<Bool>
    private let answer: Locked<Result<Overview, RedisFailure>?>

    init(_ options: RedisClientOptions, minutes: Int, waker: Waker) {
        let questions = BlockingQueue<Bool>(capacity: 1)
        let answer = Locked<Result<Overview, RedisFailure>?>(nil)
        self.questions = questions
        self.answer = answer
        _ = WorkerThread.start(name: "overview") {
            var session: RedisSession?
            var reader: OverviewReader?
            while true {
                switch questions.next(timeoutMs: 60_000) {
                case .closed:
                    session?.close()
                    return
                case .nothing: continue
                case .element: break
                }
                let result: Result<Overview, RedisFailure>
                do throws(RedisFailure) {
                    let current: OverviewReader
                    if let reader {
                        current = reader
                    } else {
                        let made = try RedisSession(options: options)
                        current = OverviewReader(session: made)
                        session = made
                        reader = current
                    }
                    result = .success(try current.read(minutes: minutes))
                } catch {
                    result = .failure(error)
                }
                answer.withLock { $0 = result }
                waker.wake()
            }
        }
    }

    /// Asks for another overview.
    func ask() { _ = questions.push(true) }

    /// The answer that has come since the last call; nil when none has.
    func takeAnswer() -> Result<Overview, RedisFailure>? {
        answer.withLock { answer in
            defer { answer = nil }
            return answer
        }
    }

    /// Ends the thread after the read under way, which nobody waits for.
    func stop() { questions.close() }
}
