internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Redis
internal import SimulatorKit
internal import Terminal

/// `peal up`: everything on loopback in one terminal until Ctrl-C.
enum UpCommand {
    static let command = Command(
        "up", summary: "run the whole pipeline on loopback until Ctrl-C and print its addresses",
        options: StackArguments.options,
        details: """
            The broker is librdkafka's mock cluster: in memory, at most 5 MiB or 100,000 batches a partition
            (older ones are dropped), no TLS, no admin calls, no transactions. It is for trying things, not
            for keeping them.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        var options = try StackArguments.stack(arguments)
        options.expanders = 1
        // Before any thread is made, so that all of them leave these signals to the loop below.
        Signals.block([Signals.interrupt, Signals.terminate])
        do throws(StackFailure) {
            var options = options
            options.gateways = 1
            let stack = try Stack(options)
            defer { stack.stop() }
            Console.write(addresses(of: stack))
            return try Attendant(stack).stay()
        } catch {
            Console.complain("peal up: \(error)")
            return 2
        }
    }

    private static func addresses(of stack: Stack) -> String {
        let style = Console.style
        var table = TextTable([.init(""), .init(""), .init("")])
        func add(_ name: String, _ address: String, _ note: String = "") { table.add([name, address, note]) }
        let endpoints = stack.simulator.endpoints
        add("Kafka", stack.broker.bootstrapServers, "embedded; topics \(stack.topics.prefix).*")
        add("Redis", "redis://127.0.0.1:\(stack.redis.port)", "also unix:\(stack.redis.socketPath)")
        add("APNs", "https://127.0.0.1:\(endpoints.apns ?? 0)", "simulated")
        add("APNs sandbox", "https://127.0.0.1:\(endpoints.sandbox ?? 0)", "simulated")
        add("FCM", "https://127.0.0.1:\(endpoints.fcm ?? 0)", "simulated, with its token endpoint")
        add(
            "Simulator", "http://127.0.0.1:\(stack.simulator.adminPort ?? 0)/record/summary",
            "record, faults, counters")
        for (process, port) in zip(stack.workers, stack.workerPorts) {
            add(process.name, "http://127.0.0.1:\(port)/metrics", "log \(process.logPath)")
        }
        for (process, port) in zip(stack.retries, stack.retryPorts) {
            add(process.name, "http://127.0.0.1:\(port)/metrics", "log \(process.logPath)")
        }
        for (process, port) in zip(stack.expanders, stack.expanderPorts) {
            add(process.name, "http://127.0.0.1:\(port)/metrics", "log \(process.logPath)")
        }
        for (process, port) in zip(stack.gateways, stack.gatewayPorts) {
            add("Gateway", "http://127.0.0.1:\(port)", "log \(process.logPath)")
        }
        add("API key", stack.apiKey, "every app and scope, for this run")
        add("Client key", stack.clientKey, "of moonlight's clients")
        add("User secret", stack.userSecret, "users' tokens are signed with it (HS256)")
        add("Configuration", stack.configurationPath)
        return table.render(style: style, indent: 2) + """

              Send something:
                peal-producer send --brokers \(stack.broker.bootstrapServers) FILE.ndjson
                curl -H "Authorization: Bearer \(stack.apiKey)" -H "Content-Type: application/x-ndjson" \\
                  --data-binary @FILE.ndjson http://127.0.0.1:\(stack.gatewayPorts.first ?? 0)/v1/jobs

              Look at it (a browser, too, needs the API key; this address brings it along):
                http://127.0.0.1:\(stack.gatewayPorts.first ?? 0)/dashboard#key=\(stack.apiKey)

              Ctrl-C stops everything.

            """
    }
}

/// Waits for a signal, or for a program that ends by itself.
private final class Attendant: SignalHandler, TimerHandler {
    private let stack: Stack
    private let loop: EventLoop
    private var code: Int32 = 0

    init(_ stack: Stack) throws(StackFailure) {
        self.stack = stack
        do throws(SystemFailure) { loop = try EventLoop() } catch { throw StackFailure(.program, "\(error)") }
    }

    func stay() throws(StackFailure) -> Int32 {
        let source: SignalSource
        do throws(SystemFailure) {
            source = try SignalSource(
                loop: loop, signals: [Signals.interrupt, Signals.terminate], handler: self)
        } catch {
            throw StackFailure(.program, "\(error)")
        }
        defer { source.close() }
        _ = loop.schedule(afterMs: 500, tag: 0, handler: self)
        loop.run()
        return code
    }

    func signalled(_ signal: Int32) {
        Console.complain("\nstopping")
        loop.stop()
    }

    func timerFired(_ tag: UInt64) {
        guard let fallen = stack.fallen.first else {
            _ = loop.schedule(afterMs: 500, tag: 0, handler: self)
            return
        }
        Console.complain("\(fallen.name) has ended by itself; its log ends:\n\(fallen.logTail())")
        code = 1
        loop.stop()
    }
}
