import Core

/// Reads a fault script; the first thing that is not understood is refused with its place.
struct FaultScriptReader {
    private typealias Failure = FaultScriptFailure

    static func read(text: String) throws(FaultScriptFailure) -> FaultScript {
        let document: JSONValue
        do { document = try JSONValue.parse(text: text) } catch {
            throw FaultScriptFailure(description: "The fault script is not JSON: \(error).")
        }
        return try read(document)
    }

    static func read(_ document: JSONValue) throws(FaultScriptFailure) -> FaultScript {
        var script = FaultScript()
        guard let members = document.members else {
            throw FaultScriptFailure(
                description: "A fault script is an object with \"rules\" and \"events\".")
        }
        for member in members {
            switch member.name {
            case "rules":
                for (index, value) in (member.value.array ?? []).enumerated() {
                    let reader = FaultScriptReader(place: "rules[\(index)]")
                    let rule = try reader.rule(value)
                    rule.answer.rule = Int32(clamping: index)
                    script.rules.append(rule)
                }
            case "events":
                for (index, value) in (member.value.array ?? []).enumerated() {
                    script.events.append(try FaultScriptReader(place: "events[\(index)]").event(value))
                }
            default:
                throw FaultScriptFailure(
                    description: "Unknown member \"\(member.name)\": use rules and events.")
            }
        }
        guard script.rules.count <= FaultScript.rulesMax, script.events.count <= FaultScript.rulesMax else {
            throw FaultScriptFailure(
                description: "A fault script may have \(FaultScript.rulesMax) rules and events.")
        }
        return script
    }

    let place: String

    private func failure(_ problem: String) -> Failure { Failure(description: "\(place): \(problem).") }

    private func number(_ member: JSONValue.Member) throws(FaultScriptFailure) -> UInt64 {
        guard let value = member.value.integer, value >= 0 else {
            throw failure("\"\(member.name)\" must be a whole number of at least 0")
        }
        return UInt64(value)
    }

    private func text(_ member: JSONValue.Member) throws(FaultScriptFailure) -> String {
        guard let value = member.value.string else { throw failure("\"\(member.name)\" must be a string") }
        return value
    }

    private func flag(_ member: JSONValue.Member) throws(FaultScriptFailure) -> Bool {
        guard let value = member.value.bool else { throw failure("\"\(member.name)\" must be true or false") }
        return value
    }

    private func provider(_ member: JSONValue.Member) throws(FaultScriptFailure) -> Provider {
        let name = try text(member)
        guard let found = Provider.allCases.first(where: { $0.name == name }) else {
            throw failure("\"provider\" is apns or fcm, not \"\(name)\"")
        }
        return found
    }

    private func environment(_ member: JSONValue.Member) throws(FaultScriptFailure) -> PushEnvironment {
        let name = try text(member)
        guard let found = PushEnvironment.allCases.first(where: { $0.name == name }) else {
            throw failure("\"environment\" is production or sandbox, not \"\(name)\"")
        }
        return found
    }

    // MARK: - Rules

    private func rule(_ value: JSONValue) throws(FaultScriptFailure) -> FaultRule {
        guard let members = value.members else { throw failure("a rule is an object") }
        let rule = FaultRule()
        var duration: UInt64?
        var hasAnswer = false
        for member in members {
            switch member.name {
            case "for_ms": duration = try number(member)
            case "answer":
                hasAnswer = true
                try answer(member.value, into: rule)
            default: try condition(member, of: rule)
            }
        }
        if let duration {
            let (end, overflow) = rule.fromMs.addingReportingOverflow(duration)
            rule.untilMs = overflow ? .max : end
        }
        guard hasAnswer else { throw failure("the rule has no \"answer\"") }
        return rule
    }

    private func condition(_ member: JSONValue.Member, of rule: FaultRule) throws(FaultScriptFailure) {
        switch member.name {
        case "provider": rule.provider = try provider(member)
        case "environment": rule.environment = try environment(member)
        case "token": rule.token = Array(try text(member).utf8)
        case "token_prefix": rule.tokenPrefix = Array(try text(member).utf8)
        case "job": rule.job = Array(try text(member).utf8)
        case "topic": rule.topic = Array(try text(member).utf8)
        case "connection": rule.connection = try number(member)
        case "connection_request": rule.connectionRequest = try number(member)
        case "connection_request_from": rule.connectionRequestFrom = try number(member)
        case "from_ms": rule.fromMs = try number(member)
        case "after": rule.after = try number(member)
        case "first": rule.first = try number(member)
        case "every": rule.every = max(1, try number(member))
        case "share":
            guard case .number(let text) = member.value, let share = Double(text), share >= 0, share <= 1
            else {
                throw failure("\"share\" must lie between 0 and 1")
            }
            rule.share = UInt64(share * 1_000_000)
        default: throw failure("unknown member \"\(member.name)\"")
        }
    }

    private func answer(_ value: JSONValue, into rule: FaultRule) throws(FaultScriptFailure) {
        guard let members = value.members else { throw failure("\"answer\" is an object") }
        // The reason is read first, because it brings its status along, which another member may then
        // overrule.
        for member in members where member.name == "reason" || member.name == "error" {
            rule.answer = try named(try text(member), provider: rule.provider ?? defaultProvider(member))
        }
        if let action = members.first(where: { $0.name == "action" }) { try self.action(action, into: rule) }
        for member in members where !["reason", "error", "action"].contains(member.name) {
            try detail(member, into: rule)
        }
    }

    private func defaultProvider(_ member: JSONValue.Member) -> Provider {
        member.name == "reason" ? .apns : .fcm
    }

    private func named(_ name: String, provider: Provider) throws(FaultScriptFailure) -> Answer {
        if provider == .apns, let reason = APNsReason.named(name) { return .apns(reason) }
        if provider == .fcm, let answer = TokenDirective.fcmAnswer(name) { return answer }
        throw failure("\"\(name)\" is not a \(provider == .apns ? "reason of APNs" : "error of FCM")")
    }

    private func action(_ member: JSONValue.Member, into rule: FaultRule) throws(FaultScriptFailure) {
        let name = try text(member)
        guard let action = Answer.Action.allCases.first(where: { $0.name == name }) else {
            throw failure("\"action\" is respond, swallow, reset, goaway, kill or tls_close, not \"\(name)\"")
        }
        rule.answer.action = action
        if action == .reset { rule.answer.errorCode = 2 }
        if action != .respond, action != .goaway { rule.answer.status = 0 }
        if action != .respond { rule.answer.delivered = false }
    }

    private func detail(_ member: JSONValue.Member, into rule: FaultRule) throws(FaultScriptFailure) {
        switch member.name {
        case "status":
            let status = try number(member)
            guard (200..<600).contains(status) else {
                throw failure("\"status\" must lie between 200 and 599")
            }
            rule.answer.status = UInt16(status)
            if rule.answer.action == .respond { rule.answer.delivered = status < 300 }
        case "body":
            rule.text = Array(try text(member).utf8)
            rule.answer.body = .custom
        case "body_style":
            let name = try text(member)
            guard let style = Answer.Body.allCases.first(where: { "\($0)" == name }), style != .custom else {
                throw failure("\"body_style\" is json, html, empty or truncated")
            }
            rule.answer.body = style
        case "content_type": rule.contentType = Array(try text(member).utf8)
        case "delay_ms": rule.answer.delayMs = UInt32(clamping: try number(member))
        case "retry_after": rule.answer.retryAfter = UInt32(clamping: try number(member))
        case "retry_after_date": rule.answer.retryAfterIsDate = try flag(member)
        case "error_code": rule.answer.errorCode = UInt32(clamping: try number(member))
        case "last_stream": try lastStream(member, into: &rule.answer)
        case "delivered": rule.answer.delivered = try flag(member)
        case "max_streams": rule.answer.streamsMax = Int32(clamping: try number(member))
        case "timestamp_age_s": rule.answer.ageSeconds = UInt32(clamping: try number(member))
        case "without_timestamp": rule.answer.withoutTimestamp = try flag(member)
        default: throw failure("unknown member \"\(member.name)\" of \"answer\"")
        }
    }

    private func lastStream(_ member: JSONValue.Member, into answer: inout Answer) throws(FaultScriptFailure)
    {
        if let exact = member.value.integer, exact >= 0 {
            answer.lastStream = .exact
            answer.streamID = UInt32(clamping: exact)
            return
        }
        let name = try text(member)
        guard let kind = Answer.LastStream.allCases.first(where: { "\($0)" == name }), kind != .exact else {
            throw failure("\"last_stream\" is previous, this, none, all or a number")
        }
        answer.lastStream = kind
    }

    // MARK: - Events

    private func event(_ value: JSONValue) throws(FaultScriptFailure) -> FaultEvent {
        guard let members = value.members else { throw failure("an event is an object") }
        var event = FaultEvent(kind: .ping)
        let holder = FaultRule()
        var hasAction = false
        for member in members {
            switch member.name {
            case "at_ms": event.atMs = try number(member)
            case "provider": event.provider = try provider(member)
            case "environment": event.environment = try environment(member)
            case "do":
                hasAction = true
                event.kind = try kind(member.value, holder: holder)
            default: throw failure("unknown member \"\(member.name)\"")
            }
        }
        guard hasAction else { throw failure("the event has no \"do\"") }
        event.text = holder.text ?? []
        return event
    }

    private func kind(_ value: JSONValue, holder: FaultRule) throws(FaultScriptFailure) -> FaultEvent.Kind {
        if let name = value.string {
            switch name {
            case "hang": return .hang
            case "ping": return .ping
            case "garbage": return .garbage
            default: break
            }
        }
        if let members = value.members, members.count == 1, let member = members.first {
            if member.name == "max_streams" { return .streamsMax(UInt32(clamping: try number(member))) }
            if member.name == "refuse_connections" { return .refuseConnections(try flag(member)) }
        }
        guard value.members != nil else {
            throw failure(
                "\"do\" is \"hang\", \"ping\", \"garbage\", {\"max_streams\":n}, "
                    + "{\"refuse_connections\":b} or an answer with an \"action\"")
        }
        try answer(value, into: holder)
        guard [.goaway, .kill, .closeTLS].contains(holder.answer.action) else {
            throw failure("the action of an event is goaway, kill or tls_close")
        }
        return .wire(holder.answer)
    }
}
