internal import Configuration
internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import ProducerKit
internal import Redis
internal import Registry
internal import Services
internal import Terminal

/// `peal unread`: a recipient's unread counter, changed as a read over the gateway changes it.
enum UnreadCommand {
    static let command = Command(
        "unread", summary: "show or set a recipient's unread counter", operands: "APP RECIPIENT",
        options: ToolSettings.options + [
            Option("set", .value("N"), help: "the counter is now N"),
            Option("clear", help: "the same as --set 0; all threads are cleared with it"),
            Option("thread", .value("THREAD"), help: "set this thread's counter; the whole one follows"),
            Option(
                "no-push", help: "change the counter only: devices show it with the next push that they get"),
            Option("json", help: "print one JSON object"),
        ],
        details: """
            A change is made by the same script as a read over the gateway, so the counter stays exact whatever
            workers count meanwhile. Then a silent push tells every device of the recipient; it needs Kafka,
            waits a second for further changes, and carries the counter's value when it is sent.

              peal unread shop user-123
              peal unread shop user-123 --clear
              peal unread shop user-123 --set 2 --thread cnv_1

            Exit codes: 0 done, 1 the counter is set but the devices aren't told, 2 Redis can't be reached,
            64 wrong usage, 78 wrong configuration.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let request = try UnreadRequest(arguments)
        do throws(ToolFailure) {
            let tools = try ToolSettings(arguments)
            if let doubt = tools.doubt(about: request.app) {
                // A slip would make a counter that nobody ever looks at.
                Console.complain("peal unread: \(doubt)")
                if request.change != nil { return UsageFailure.exitCode }
            }
            let session = try tools.session(scripts: RegistryScripts.all)
            defer { session.close() }
            let outcome = try carryOut(request, session, tools)
            Console.write(arguments.flag("json") ? outcome.json : outcome.text)
            if let complaint = outcome.complaint { Console.complain("peal unread: \(complaint)") }
            return outcome.complaint == nil ? 0 : 1
        } catch {
            Console.complain("peal unread: \(error)")
            return error.exitCode
        }
    }

    /// What the counter is now, and who hears of it.
    struct Outcome {
        let unread: Int64
        let threads: [String: Int64]
        /// Nil when nothing was changed.
        let push: Push?
        /// Why the devices aren't told.
        let complaint: String?

        enum Push: String { case published, pending, none, failed }

        var text: String {
            var out = "unread \(unread)\n"
            for thread in threads.sorted(by: { $0.key < $1.key }) {
                out += "  \(OneLine.text(thread.key)): \(thread.value)\n"
            }
            switch push {
            case .published: out += "A silent push tells the devices.\n"
            case .pending: out += "A silent push that is under way tells the devices.\n"
            case .none?: out += "No push was sent: devices show it with the next push that they get.\n"
            case .failed, nil: break
            }
            return out
        }

        var json: String {
            var out = JSONObject()
            out.set("unread", unread)
            var counters = JSONObject()
            for thread in threads.sorted(by: { $0.key < $1.key }) { counters.set(thread.key, thread.value) }
            out.set("threads", counters.value)
            if let push { out.set("push", push.rawValue) }
            return out.line
        }
    }

    static func carryOut(
        _ request: UnreadRequest, _ session: RedisSession, _ tools: ToolSettings
    ) throws(ToolFailure) -> Outcome {
        let directory = DeviceDirectory(session: session, app: request.app)
        do throws(RedisFailure) {
            var push: Outcome.Push?
            var complaint: String?
            if let change = request.change {
                if request.tells {
                    (push, complaint) = try publish(change, request, session, tools)
                } else {
                    try apply(change, directory, request.recipient)
                    push = Outcome.Push.none
                }
            }
            return Outcome(
                unread: try directory.unread(of: request.recipient),
                threads: try directory.unreadByThread(of: request.recipient), push: push,
                complaint: complaint)
        } catch {
            throw ToolFailure(error)
        }
    }

    /// Changes the counter by the gateway's script. The claim of a push that goes with it is one for which
    /// nobody else asks, and is gone at once.
    private static func apply(
        _ change: UnreadChange, _ directory: DeviceDirectory, _ recipient: String
    ) throws(RedisFailure) {
        _ = try directory.read(change, of: recipient, device: "peal.unread", claimMs: 1)
    }

    private static func publish(
        _ change: UnreadChange, _ request: UnreadRequest, _ session: RedisSession, _ tools: ToolSettings
    ) throws(RedisFailure) -> (Outcome.Push, String?) {
        var kafka = SendSettings()
        kafka.brokers = tools.settings.kafka.brokers
        kafka.names = TopicNames(prefix: tools.settings.topics.prefix)
        kafka.tiers = tools.settings.topics.retryTiers
        kafka.patienceMs = request.patienceMs
        do throws(ConfigurationFailure) {
            kafka.properties = try tools.settings.kafkaProperties()
        } catch {
            return (.failed, "nothing was changed: \(error)")
        }
        guard let publisher = ReadPublisher(session: session, kafka: kafka) else {
            return (.failed, "nothing was changed: no memory is left for the job parser")
        }
        defer { publisher.close() }
        do throws(ReadFailure) {
            let answer = try publisher.read(
                change, app: request.app, recipient: request.recipient, device: "", nowMs: Clock.wallMs)
            return (answer.isOurs ? .published : .pending, nil)
        } catch {
            switch error {
            case .redis(let failure): throw failure
            case .job(let fault): return (.failed, "nothing was changed: \(fault.description)")
            case .kafka(let sentence):
                return (.failed, "the counter is set, but the devices aren't told: \(sentence)")
            }
        }
    }
}

/// What one `peal unread` command line asks for.
struct UnreadRequest: Equatable {
    let app: String
    let recipient: String
    /// Nil to look only.
    let change: UnreadChange?
    /// Whether the devices are told.
    let tells: Bool
    /// How long Kafka is waited for, in ms.
    var patienceMs = 10_000

    init(_ arguments: Arguments) throws(UsageFailure) {
        guard arguments.operands.count == 2 else {
            throw UsageFailure("unread takes an app and a recipient: peal unread APP RECIPIENT")
        }
        app = try ToolSettings.app(arguments.operands[0])
        recipient = try ToolSettings.recipient(arguments.operands[1])
        let count = try arguments.integer("set", in: 0...1_000_000_000)
        if count != nil, arguments.flag("clear") { throw UsageFailure("give one of --set and --clear") }
        let target = arguments.flag("clear") ? 0 : count.map(Int64.init)
        let thread = arguments.string("thread")
        if let thread, !(1...256).contains(thread.utf8.count) {
            throw UsageFailure("a thread has 1 to 256 bytes")
        }
        guard let target else {
            if thread != nil || arguments.flag("no-push") {
                throw UsageFailure("--thread and --no-push go with --set or --clear")
            }
            change = nil
            tells = false
            return
        }
        change = thread.map { .setThread($0, target) } ?? .set(target, asOfMs: 0)
        tells = !arguments.flag("no-push")
    }
}
