internal import Configuration
internal import EventLoop
internal import Glibc
internal import Redis
internal import Registry
internal import Terminal

/// `peal devices`: what the registry knows about a recipient.
enum DevicesCommand {
    static let command = Command(
        "devices", summary: "show a recipient's devices, unread counter and preferences; remove a device",
        operands: "APP [RECIPIENT]",
        options: ToolSettings.options + [
            Option("remove", .value("DEVICE"), help: "remove this device of the recipient"),
            Option(
                "find-token", .value("TOKEN|-"),
                help: "say whose token it is; - reads it from standard input, which leaves it out of the "
                    + "shell's history"),
            Option("json", help: "print one JSON object"),
        ],
        details: """
            Of a token only the beginning is shown. A token is looked up by the hash that the registry keeps
            of it, so it has to be the whole one.

              peal devices shop user-123
              peal devices shop user-123 --remove phone-2
              peal devices shop --find-token - < token.txt

            Exit codes: 0 found (or removed), 1 nothing is known, 2 Redis can't be reached, 64 wrong usage,
            78 wrong configuration.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let request = try DevicesRequest(arguments)
        do throws(ToolFailure) {
            let tools = try ToolSettings(arguments)
            if let doubt = tools.doubt(about: request.app) { Console.complain("peal devices: \(doubt)") }
            let session = try tools.session(scripts: RegistryScripts.all)
            defer { session.close() }
            let answer = try answer(request, session, tools)
            Console.write(arguments.flag("json") ? answer.json : answer.text)
            return answer.code
        } catch {
            Console.complain("peal devices: \(error)")
            return error.exitCode
        }
    }

    /// What was found or done, for people and for programs.
    struct Answer {
        let text: String
        let json: String
        let code: Int32
    }

    static func answer(
        _ request: DevicesRequest, _ session: RedisSession, _ tools: ToolSettings,
        style: TextStyle = Console.style
    ) throws(ToolFailure) -> Answer {
        let registry = tools.settings.registry
        let directory = DeviceDirectory(
            session: session, app: request.app, devicesMax: registry.devicesMax,
            staleAfterMs: registry.staleAfterMs)
        do throws(RedisFailure) {
            switch request.verb {
            case .list(let recipient):
                let report = try RecipientReport(
                    app: request.app, recipient: recipient, session, staleAfterMs: registry.staleAfterMs)
                return Answer(
                    text: report.text(style: style), json: report.json.line, code: report.isKnown ? 0 : 1)
            case .remove(let recipient, let device):
                let wasThere = try directory.remove(recipient: recipient, device: device)
                var out = JSONObject()
                out.set("removed", wasThere)
                let who = "\(OneLine.text(recipient)) of \(request.app)"
                return Answer(
                    text: wasThere ? "Removed \(device) of \(who).\n" : "\(who) has no device \(device).\n",
                    json: out.line, code: wasThere ? 0 : 1)
            case .find(let token): return try find(token, request.app, directory)
            }
        } catch {
            throw ToolFailure(error)
        }
    }

    /// Looks the token up as one of each platform: how a token is stored follows from it.
    private static func find(
        _ token: String, _ app: String, _ directory: DeviceDirectory
    ) throws(RedisFailure) -> Answer {
        var out = JSONObject()
        for platform in DevicePlatform.allCases {
            guard let recipient = try directory.owner(of: token, platform) else { continue }
            let stored = StoredToken(text: token, platform)
            let device = try directory.devices(of: recipient).first { $0.record.storedToken == stored }
            out.set("found", device != nil)
            out.set("recipient", recipient)
            var text = "The token is that of \(OneLine.text(recipient)) of \(app)"
            if let device {
                out.set("device", device.id)
                out.set("platform", "\(device.record.platform.name)")
                text += ", device \(device.id) (\(device.record.platform.name)).\n"
                return Answer(text: text, json: out.line, code: 0)
            }
            text += ", but none of its devices has it any more.\n"
            return Answer(text: text, json: out.line, code: 1)
        }
        out.set("found", false)
        return Answer(text: "Nobody of \(app) has this token.\n", json: out.line, code: 1)
    }
}

/// What one `peal devices` command line asks for.
struct DevicesRequest: Equatable {
    enum Verb: Equatable {
        case list(String)
        case remove(recipient: String, device: String)
        /// The token.
        case find(String)
    }

    let app: String
    let verb: Verb

    /// `readToken` gives the first line of standard input.
    init(
        _ arguments: Arguments, readToken: () -> String? = { readLine() }
    ) throws(UsageFailure) {
        guard let app = arguments.operands.first else {
            throw UsageFailure("devices needs an app and a recipient: peal devices APP RECIPIENT")
        }
        self.app = try ToolSettings.app(app)
        let names = arguments.operands.dropFirst()
        if let text = arguments.string("find-token") {
            guard names.isEmpty, arguments.string("remove") == nil else {
                throw UsageFailure("--find-token asks whose token it is; leave recipient and --remove out")
            }
            let token = (text == "-" ? readToken() ?? "" : text).trimmed
            guard !token.isEmpty, token.utf8.count <= DeviceRecord.maximumTokenBytes else {
                throw UsageFailure("a token has 1 to \(DeviceRecord.maximumTokenBytes) bytes")
            }
            verb = .find(token)
            return
        }
        guard names.count == 1, let name = names.first else {
            throw UsageFailure("devices takes an app and one recipient: peal devices APP RECIPIENT")
        }
        let recipient = try ToolSettings.recipient(name)
        verb =
            arguments.string("remove").map { .remove(recipient: recipient, device: $0) } ?? .list(recipient)
    }
}

extension String {
    /// The text without white space at its ends.
    fileprivate var trimmed: String {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest = rest.dropFirst() }
        while rest.last?.isWhitespace == true { rest = rest.dropLast() }
        return String(rest)
    }
}
