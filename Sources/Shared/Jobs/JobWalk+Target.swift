import Core

/// The `to` field: whom a job is for.
extension JobWalk {
    private struct Target {
        var kind: JobTarget?
        var sawDevices = false
        var sawExcept = false
        var sawPlatform = false
        var sawEnvironment = false
        var token = JobToken()
    }

    /// Refuses everything but an object and steps over its brace; true in `isEmpty` when it has no member.
    mutating func openObject(_ field: StaticString, isEmpty: inout Bool) -> Bool {
        guard take(UInt8(ascii: "{")) else { return wrongType("\(field)", "The field must be an object.") }
        isEmpty = take(UInt8(ascii: "}"))
        return true
    }

    /// Steps over the closing brace.
    mutating func closeObject() -> Bool {
        take(UInt8(ascii: "}")) ? true : malformed("',' or '}' is missing")
    }

    mutating func to(_ job: inout Job) -> Bool {
        var isEmpty = false
        let start = position
        guard openObject("to", isEmpty: &isEmpty) else { return false }
        var target = Target()
        if !isEmpty {
            var name = JobToken()
            repeat {
                guard string(&name), colon(), member(name, &target, &job) else { return false }
            } while take(UInt8(ascii: ","))
            guard closeObject() else { return false }
        }
        job.targetSpan = JobToken(start: start, end: offset(at - 1) + 1).span
        return settle(target, &job)
    }

    private mutating func member(_ name: JobToken, _ target: inout Target, _ job: inout Job) -> Bool {
        let text = unsafe raw(name)
        if unsafe text.isEqual(to: "recipient") {
            return named(.recipient, 256, "to.recipient", &target, &job)
        }
        if unsafe text.isEqual(to: "token") { return named(.token, 4096, "to.token", &target, &job) }
        if unsafe text.isEqual(to: "topic") { return named(.topic, 256, "to.topic", &target, &job) }
        if unsafe text.isEqual(to: "devices") { return devices(&target.sawDevices, "to.devices", &job) }
        if unsafe text.isEqual(to: "except") { return devices(&target.sawExcept, "to.except", &job) }
        if unsafe text.isEqual(to: "platform") { return platform(&target, &job) }
        if unsafe text.isEqual(to: "environment") { return environment(&target, &job) }
        if unsafe text.isEqual(to: "all") { return all(&target) }
        return fail(
            .unknownField, "to." + printable(name),
            "to has recipient, devices, except, token, platform, environment, topic and all; correct the "
                + "name.")
    }

    private mutating func claim(_ kind: JobTarget, _ field: StaticString, _ target: inout Target) -> Bool {
        if target.kind == kind {
            return fail(.duplicateField, "\(field)", "The field is there twice; keep one.")
        }
        guard target.kind == nil else {
            return fail(
                .contradiction, "to", "to must name one of recipient, token, topic and all, not several.")
        }
        target.kind = kind
        return true
    }

    private mutating func named(
        _ kind: JobTarget, _ limit: Int, _ field: StaticString, _ target: inout Target, _ job: inout Job
    ) -> Bool {
        guard claim(kind, field, &target), identifier(&target.token, limit, "\(field)") else { return false }
        job.toSpan = target.token.span
        if target.token.escaped { job.escapes |= JobField.to.bit }
        return true
    }

    private mutating func all(_ target: inout Target) -> Bool {
        guard claim(.all, "to.all", &target) else { return false }
        var token = JobToken()
        guard value(&token, depth: 3) else { return false }
        return unsafe raw(token).isEqual(to: "true")
            ? true : fail(.invalidValue, "to.all", "all can only be true; name a recipient to send to one.")
    }

    /// Reads `devices` or `except`: an array of device ids. Nobody to leave out is a list all the same.
    private mutating func devices(_ saw: inout Bool, _ field: StaticString, _ job: inout Job) -> Bool {
        guard !saw else {
            return fail(.duplicateField, "\(field)", "The field is there twice; keep one.")
        }
        saw = true
        let start = position
        guard take(UInt8(ascii: "[")) else {
            return fail(.wrongType, "\(field)", "The field must be an array of device ids.")
        }
        var token = JobToken()
        var count = 0
        if !take(UInt8(ascii: "]")) {
            repeat {
                guard identifier(&token, 128, "\(field)") else { return false }
                count += 1
                guard count <= JobParser.maximumDevices else {
                    return fail(
                        .outOfRange, "\(field)",
                        "The field may name \(JobParser.maximumDevices) ids; split the job.")
                }
            } while take(UInt8(ascii: ","))
            guard take(UInt8(ascii: "]")) else { return malformed("',' or ']' is missing") }
        }
        job.devicesSpan = JobToken(start: start, end: offset(at - 1) + 1).span
        job.deviceCount = UInt16(truncatingIfNeeded: count)
        return true
    }

    private mutating func platform(_ target: inout Target, _ job: inout Job) -> Bool {
        guard !target.sawPlatform else {
            return fail(.duplicateField, "to.platform", "The field is there twice; keep one.")
        }
        target.sawPlatform = true
        guard expectString("to.platform") else { return false }
        var token = JobToken()
        guard string(&token) else { return false }
        for platform in Platform.allCases where text(token).equals(platform.word) {
            job.platform = platform
            return true
        }
        return fail(.invalidValue, "to.platform", "The platform must be ios, android or web.")
    }

    private mutating func environment(_ target: inout Target, _ job: inout Job) -> Bool {
        guard !target.sawEnvironment else {
            return fail(.duplicateField, "to.environment", "The field is there twice; keep one.")
        }
        target.sawEnvironment = true
        guard expectString("to.environment") else { return false }
        var token = JobToken()
        guard string(&token) else { return false }
        for environment in PushEnvironment.allCases where text(token).equals(environment.word) {
            job.environment = environment
            job.flags.insert(.environmentGiven)
            return true
        }
        return fail(.invalidValue, "to.environment", "The environment must be production or sandbox.")
    }

    private mutating func settle(_ target: Target, _ job: inout Job) -> Bool {
        guard let kind = target.kind else {
            return fail(
                .missingField, "to",
                "to names nobody; give it a recipient, a token, a topic or \"all\": true.")
        }
        job.target = kind
        if target.sawDevices {
            guard kind == .recipient else {
                return fail(.contradiction, "to.devices", "devices needs a recipient beside it.")
            }
            guard job.deviceCount > 0 else {
                return fail(
                    .emptyValue, "to.devices", "devices is empty; name a device or leave the field out.")
            }
            job.target = .devices
        }
        if target.sawExcept {
            guard kind == .recipient, !target.sawDevices else {
                return fail(
                    .contradiction, "to.except", "except needs a recipient beside it, and no devices.")
            }
            job.target = .others
        }
        if kind == .token {
            guard target.sawPlatform else {
                return fail(.missingField, "to.platform", "A token needs its platform: ios, android or web.")
            }
            return job.platform == .ios ? appleToken(target.token) : true
        }
        guard !target.sawPlatform, !target.sawEnvironment else {
            return fail(
                .contradiction, "to", "platform and environment belong to a token; leave them out for others."
            )
        }
        return true
    }

    /// The token is put into the URL's path, so nothing but hexadecimal digits may get there. Apple promises
    /// no length; 2 to 200 bytes hold all that has been seen.
    private mutating func appleToken(_ token: JobToken) -> Bool {
        let digits = unsafe raw(token)
        guard digits.count >= 4, digits.count <= 400, digits.count % 2 == 0,
            unsafe digits.allSatisfy({ Hex.value($0) != nil })
        else {
            return fail(
                .invalidToken, "to.token",
                "An ios token must be an even number of hexadecimal digits (an FCM token needs its own "
                    + "platform)."
            )
        }
        return true
    }
}
