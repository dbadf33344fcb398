import Core

/// The fields of a job that are objects: `data`, `apns`, `fcm` and `push`.
extension JobWalk {
    // MARK: data

    mutating func data(_ job: inout Job) -> Bool {
        let start = position
        var isEmpty = false
        guard openObject("data", isEmpty: &isEmpty) else { return false }
        var allStrings = true
        if !isEmpty {
            var known = NameSet()
            var name = JobToken()
            var member = JobToken()
            repeat {
                guard string(&name), dataName(name, &job), colon() else { return false }
                let first = peek
                if first != UInt8(ascii: "\"") { allStrings = false }
                guard first != UInt8(ascii: "n") else {
                    return fail(
                        .nullValue, "data." + printable(name), "A data member is null; leave it out instead.")
                }
                guard value(&member, depth: 3) else { return false }
                let index = Int(job.dataCount)
                if known.mayHold(text(name)), isRepeated(name, among: index) {
                    return fail(
                        .duplicateField, "data." + printable(name), "The member is there twice; keep one.")
                }
                guard index < JobParser.maximumDataMembers else {
                    return fail(
                        .outOfRange, "data",
                        "data may have \(JobParser.maximumDataMembers) members; nest them.")
                }
                unsafe names[index] = name
                job.dataCount += 1
            } while take(UInt8(ascii: ","))
            guard closeObject() else { return false }
        }
        if allStrings { job.flags.insert(.dataIsAllStrings) }
        job.dataSpan = JobToken(start: start, end: offset(at - 1) + 1).span
        return true
    }

    /// Whether one of the first `count` members of `data` has the same name. Only asked when a hash says that
    /// it may be so.
    private func isRepeated(_ name: JobToken, among count: Int) -> Bool {
        let text = text(name)
        for index in 0..<count where self.text(unsafe names[index]).equals(text) { return true }
        return false
    }

    private mutating func dataName(_ name: JobToken, _ job: inout Job) -> Bool {
        if name.escaped { return escapedDataName(name, &job) }
        let raw = unsafe raw(name)
        guard let first = unsafe raw.first else {
            return fail(.emptyValue, "data", "A data member has an empty name; give it one.")
        }
        if first == UInt8(ascii: "g") || first == UInt8(ascii: "f") || first == UInt8(ascii: "m")
            || first == UInt8(ascii: "a")
        {
            guard checkReserved(name) else { return false }
        }
        if let key = unsafe DataKeys.named(raw) { job.dataKeys.insert(key) }
        return true
    }

    /// A name with escapes goes the slow way, over its text.
    @inline(never)
    private mutating func escapedDataName(_ name: JobToken, _ job: inout Job) -> Bool {
        guard checkReserved(name) else { return false }
        var scratch = ByteBuffer()
        if let key = unsafe DataKeys.named(text(name).unescaped(into: &scratch)) { job.dataKeys.insert(key) }
        return true
    }

    /// FCM's reserved words, by the union of all its documents, and APNs' one.
    @inline(never)
    private mutating func checkReserved(_ name: JobToken) -> Bool {
        let text = text(name)
        guard
            text.equals("from") || text.equals("message_type") || text.equals("aps")
                || text.hasPrefix("google")
                || text.hasPrefix("gcm")
        else { return true }
        return fail(
            .reservedKey, "data." + printable(name),
            "The providers keep this name for themselves; choose another.")
    }

    // MARK: apns

    mutating func apns(_ job: inout Job) -> Bool {
        var isEmpty = false
        guard openObject("apns", isEmpty: &isEmpty) else { return false }
        if isEmpty { return true }
        var name = JobToken()
        var sawHeaders = false
        var sawPayload = false
        repeat {
            guard string(&name), colon() else { return false }
            if unsafe raw(name).isEqual(to: "headers"), !sawHeaders {
                sawHeaders = true
                guard headers(&job) else { return false }
            } else if unsafe raw(name).isEqual(to: "payload"), !sawPayload {
                sawPayload = true
                guard payload(&job) else { return false }
            } else {
                let repeated = unsafe raw(name).isEqual(to: "headers") || raw(name).isEqual(to: "payload")
                return fail(
                    repeated ? .duplicateField : .unknownField, "apns." + printable(name),
                    repeated ? "The field is there twice; keep one." : "apns has headers and payload only.")
            }
        } while take(UInt8(ascii: ","))
        return closeObject()
    }

    private mutating func payload(_ job: inout Job) -> Bool {
        guard peek == UInt8(ascii: "{") else {
            return wrongType("apns.payload", "The payload must be an object.")
        }
        var token = JobToken()
        guard value(&token, depth: 3) else { return false }
        let payload = unsafe JSONSlice(raw: raw(token), isEscaped: false)
        if let aps = payload.member("aps"), aps.kind != .object {
            return fail(.wrongType, "apns.payload.aps", "aps must be an object.")
        }
        var members = payload.members
        if members.next() != nil { job.payloadSpan = token.span }
        return true
    }

    private mutating func headers(_ job: inout Job) -> Bool {
        let start = position
        var isEmpty = false
        guard openObject("apns.headers", isEmpty: &isEmpty) else { return false }
        if isEmpty { return true }
        var name = JobToken()
        var token = JobToken()
        repeat {
            guard string(&name), colon() else { return false }
            guard identifier(&token, 256, "apns.headers"), header(name, token, &job) else {
                return false
            }
        } while take(UInt8(ascii: ","))
        guard closeObject() else { return false }
        job.headersSpan = JobToken(start: start, end: offset(at - 1) + 1).span
        return true
    }

    private mutating func header(_ name: JobToken, _ token: JobToken, _ job: inout Job) -> Bool {
        let label = "apns.headers." + printable(name)
        let text = text(name)
        guard !name.escaped, let header = APNsHeader.named(text) else {
            return fail(
                .unknownField, label,
                "Only apns-topic, apns-push-type, apns-priority, apns-expiration and apns-collapse-id "
                    + "can be set."
            )
        }
        guard seenHeaders & header.bit == 0 else {
            return fail(.duplicateField, label, "The header is there twice; keep one.")
        }
        seenHeaders |= header.bit
        return header.accepts(self.text(token)) ? true : fail(.invalidValue, label, header.rule)
    }

    // MARK: fcm

    mutating func fcm(_ job: inout Job) -> Bool {
        guard peek == UInt8(ascii: "{") else {
            return wrongType("fcm", "The field must be an object.")
        }
        var token = JobToken()
        guard value(&token, depth: 2) else { return false }
        var members = unsafe JSONMembers(raw(token))
        var isEmpty = true
        while let member = members.next() {
            let name = member.name
            isEmpty = false
            if name.equals("token") || name.equals("topic") || name.equals("condition") || name.equals("fid")
            {
                return fail(
                    .contradiction, "fcm",
                    "fcm names a target of its own; the job's to says who gets the message.")
            }
            if name.equals("data") {
                var data = member.value.members
                while let entry = data.next() {
                    guard entry.value.kind == .string || entry.value.kind == .null else {
                        return fail(
                            .wrongType, "fcm.data", "FCM takes only strings in data; quote the values.")
                    }
                }
            }
        }
        if !isEmpty { job.fcmSpan = token.span }
        return true
    }

    // MARK: push

    mutating func push(_ job: inout Job) -> Bool {
        var isEmpty = false
        guard openObject("push", isEmpty: &isEmpty) else { return false }
        if isEmpty { return true }
        var name = JobToken()
        var token = JobToken()
        repeat {
            guard string(&name), colon(), value(&token, depth: 3) else { return false }
            let isSound = unsafe raw(name).isEqual(to: "playNotificationSound")
            guard unsafe isSound || raw(name).isEqual(to: "showNotification") else {
                return fail(
                    .unknownField, "push." + printable(name),
                    "push has playNotificationSound and showNotification only.")
            }
            let isTrue = unsafe raw(token).isEqual(to: "true")
            guard unsafe isTrue || raw(token).isEqual(to: "false") else {
                return fail(.wrongType, "push." + printable(name), "The field must be true or false.")
            }
            if isSound {
                job.flags.insert(isTrue ? .playSound : .mute)
            } else if !isTrue {
                job.flags.insert(.hidden)
            }
        } while take(UInt8(ascii: ","))
        return closeObject()
    }
}

/// A small Bloom filter over names, so that the search for a repeated name is rare.
struct NameSet {
    private var bits: UInt64 = 0

    /// Notes the name; false when it was surely not there before. Escaped names always may have been.
    @inline(__always)
    mutating func mayHold(_ name: JSONText) -> Bool {
        guard !name.isEscaped else {
            bits = .max
            return true
        }
        let hash = unsafe Hash64.of(name.raw)
        let mask = UInt64(1) << (hash & 63) | UInt64(1) << (hash >> 6 & 63)
        let held = bits & mask == mask
        bits |= mask
        return held
    }
}
