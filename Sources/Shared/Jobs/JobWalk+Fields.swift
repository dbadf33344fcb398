import Core
import Glibc

/// The top level of a job.
extension JobWalk {
    /// Walks the whole job.
    mutating func run(_ job: inout Job) -> Bool {
        guard peek == UInt8(ascii: "{") else {
            return fail(.notAnObject, "", "The job isn't a JSON object; send {\"app\": ..., \"to\": ...}.")
        }
        job.openBrace = UInt16(truncatingIfNeeded: position)
        at += 1
        if !take(UInt8(ascii: "}")) {
            var name = JobToken()
            repeat {
                guard string(&name), colon(), field(name, &job) else { return false }
            } while take(UInt8(ascii: ","))
            guard take(UInt8(ascii: "}")) else { return malformed("',' or '}' is missing") }
        }
        guard at == count else { return malformed("something follows the job's object") }
        return settle(&job)
    }

    private mutating func field(_ name: JobToken, _ job: inout Job) -> Bool {
        guard let field = unsafe JobField.named(raw(name)) else { return unknown(name) }
        guard seen & field.bit == 0 else {
            return fail(.duplicateField, field.name, "The field is there twice; keep one.")
        }
        seen |= field.bit
        switch field {
        case .id: return word(field, 128, &job.idSpan, &job.escapes)
        case .app: return app(&job)
        case .to: return to(&job)
        case .title: return words(field, &job.titleSpan, &job.escapes)
        case .subtitle: return words(field, &job.subtitleSpan, &job.escapes)
        case .body: return words(field, &job.bodySpan, &job.escapes)
        case .image: return word(field, 2048, &job.imageSpan, &job.escapes)
        case .kind: return word(field, 128, &job.kindSpan, &job.escapes)
        case .category: return word(field, 128, &job.categorySpan, &job.escapes)
        case .thread: return word(field, 256, &job.threadSpan, &job.escapes)
        case .url: return word(field, 2048, &job.urlSpan, &job.escapes)
        case .sound: return sound(&job)
        case .data: return data(&job)
        case .unread: return unread(&job)
        case .priority: return priority(&job)
        case .ttl: return ttl(&job)
        case .collapse: return word(field, 64, &job.collapseSpan, &job.escapes)
        case .dedup: return word(field, 256, &job.dedupSpan, &job.escapes)
        case .topic: return word(field, 256, &job.topicSpan, &job.escapes)
        case .campaign: return word(field, 128, &job.campaignSpan, &job.escapes)
        case .sendAt: return time(field, .hasSendAt, &job.sendAtMs, &job.flags)
        case .expiresAt: return time(field, .hasExpiresAt, &job.expiresAtMs, &job.flags)
        case .apns: return apns(&job)
        case .fcm: return fcm(&job)
        case .type: return type(&job)
        case .message: return word(field, JobParser.maximumBytes, &job.messageSpan, &job.escapes)
        case .tag: return tag(&job)
        case .push: return push(&job)
        }
    }

    private mutating func unknown(_ name: JobToken) -> Bool {
        let text = unsafe raw(name)
        guard text.count >= 2, unsafe text[0] == UInt8(ascii: "x"), unsafe text[1] == UInt8(ascii: "-") else {
            let field = printable(name)
            return fail(
                .unknownField, field,
                "Jobs have no such field; correct its name, put it into data, or begin it with x- to have "
                    + "it ignored."
            )
        }
        var ignored = JobToken()
        return value(&ignored, depth: 2)
    }

    /// A name from the job that is fit for a log: short, and without control characters.
    func printable(_ name: JobToken) -> String {
        let text = text(name).string
        let clean = String(
            text.unicodeScalars.prefix(64).map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
        return clean.utf8.count < text.utf8.count ? clean + "..." : clean
    }

    // MARK: Texts

    /// Refuses everything but a string, and says so.
    mutating func expectString(_ field: @autoclosure () -> String) -> Bool {
        peek == UInt8(ascii: "\"") ? true : wrongType(field(), "The field must be a string.")
    }

    /// Reads a text to show. An empty one counts as not given.
    private mutating func words(_ field: JobField, _ span: inout JobSpan, _ escapes: inout UInt32) -> Bool {
        guard expectString(field.name) else { return false }
        var token = JobToken()
        guard string(&token) else { return false }
        span = token.span
        if token.escaped { escapes |= field.bit }
        return true
    }

    /// Reads a name or an id: not empty, of at most `limit` bytes, without control characters.
    private mutating func word(
        _ field: JobField, _ limit: Int, _ span: inout JobSpan, _ escapes: inout UInt32
    ) -> Bool {
        var token = JobToken()
        guard identifier(&token, limit, field.name) else { return false }
        span = token.span
        if token.escaped { escapes |= field.bit }
        return true
    }

    /// Reads a string that names something: not empty, of at most `limit` bytes, without control characters.
    mutating func identifier(_ token: inout JobToken, _ limit: Int, _ field: @autoclosure () -> String)
        -> Bool
    {
        guard expectString(field()), string(&token) else { return false }
        guard token.end > token.start else {
            return fail(.emptyValue, field(), "The field is empty; give it a value or leave it out.")
        }
        if token.escaped || token.end - token.start > limit { return checkIdentifier(token, limit, field()) }
        if let base = unsafe bytes.baseAddress,
            unsafe memchr(base + token.start, 0x7F, token.end - token.start) != nil
        {
            return fail(.invalidText, field(), "The field holds a control character; remove it.")
        }
        return true
    }

    private mutating func checkIdentifier(_ token: JobToken, _ limit: Int, _ field: String) -> Bool {
        var reader = JSONUnescaper(text(token))
        var length = 0
        while let byte = reader.next() {
            guard byte >= 0x20, byte != 0x7F else {
                return fail(.invalidText, field, "The field holds a control character; remove it.")
            }
            length += 1
        }
        guard length <= limit else {
            return fail(.outOfRange, field, "The field has \(length) bytes; it may have \(limit).")
        }
        return true
    }

    private mutating func app(_ job: inout Job) -> Bool {
        var token = JobToken()
        guard identifier(&token, 64, "app") else { return false }
        for index in token.start..<token.end {
            let byte = unsafe bytes[index]
            let lower = byte | 0x20
            guard
                lower &- UInt8(ascii: "a") < 26 || byte &- 48 < 10 || byte == UInt8(ascii: ".")
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            else {
                return fail(
                    .invalidValue, "app", "An app's name may hold only letters, digits, '.', '_' and '-'.")
            }
        }
        job.appSpan = token.span
        return true
    }

    private mutating func sound(_ job: inout Job) -> Bool {
        guard peek == UInt8(ascii: "{") else { return word(.sound, 256, &job.soundSpan, &job.escapes) }
        var token = JobToken()
        guard value(&token, depth: 2) else { return false }
        guard unsafe JSONSlice(raw: raw(token), isEscaped: false).member("name")?.text != nil else {
            return fail(
                .missingField, "sound.name", "A sound that is an object needs a name; \"default\" will do.")
        }
        job.soundSpan = token.span
        job.flags.insert(.soundIsObject)
        return true
    }

    private mutating func tag(_ job: inout Job) -> Bool {
        let first = peek
        guard first == UInt8(ascii: "-") || first &- 48 < 10 else {
            return word(.tag, 256, &job.tagSpan, &job.escapes)
        }
        var token = JobToken()
        guard scalar(&token) else { return false }
        job.tagSpan = token.span
        job.flags.insert(.tagIsNumber)
        return true
    }

    // MARK: Numbers, words and times

    /// Reads a whole number in `range`.
    mutating func integer(_ field: JobField, _ range: ClosedRange<Int64>) -> Int64? {
        let first = peek
        guard first == UInt8(ascii: "-") || first &- 48 < 10 else {
            _ = wrongType(field.name, "The field must be a whole number.")
            return nil
        }
        var token = JobToken()
        guard scalar(&token) else { return nil }
        var magnitude: Int64 = 0
        for index in token.start..<token.end {
            let digit = unsafe bytes[index] &- 48
            if index == token.start, digit == UInt8(ascii: "-") &- 48 { continue }
            guard digit < 10 else {
                _ = fail(.wrongType, field.name, "The field must be a whole number.")
                return nil
            }
            // Far beyond every range already; more digits can't bring it back.
            if magnitude < 1_000_000_000_000 { magnitude = magnitude * 10 + Int64(digit) }
        }
        let number = first == UInt8(ascii: "-") ? -magnitude : magnitude
        guard range.contains(number) else {
            _ = fail(
                .outOfRange, field.name, "The field must be from \(range.lowerBound) to \(range.upperBound).")
            return nil
        }
        return number
    }

    private mutating func unread(_ job: inout Job) -> Bool {
        guard let number = integer(.unread, 0...10_000) else { return false }
        job.unread = Int32(truncatingIfNeeded: number)
        job.flags.insert(.hasUnread)
        return true
    }

    private mutating func ttl(_ job: inout Job) -> Bool {
        guard let number = integer(.ttl, 0...2_419_200) else { return false }
        job.ttlSeconds = UInt32(truncatingIfNeeded: number)
        job.flags.insert(.hasTTL)
        return true
    }

    private mutating func priority(_ job: inout Job) -> Bool {
        job.flags.insert(.priorityGiven)
        if peek == UInt8(ascii: "\"") {
            var token = JobToken()
            guard string(&token) else { return false }
            let text = text(token)
            if text.equals("high") { job.priority = .high; return true }
            if text.equals("normal") { job.priority = .normal; return true }
            if text.equals("low") { job.priority = .low; return true }
            return fail(
                .invalidValue, "priority", "The priority must be high, normal or low (or 10, 5 or 1).")
        }
        guard let number = integer(.priority, 1...10) else { return false }
        guard let priority = JobPriority(rawValue: UInt8(truncatingIfNeeded: number)) else {
            return fail(
                .invalidValue, "priority", "The priority must be high, normal or low (or 10, 5 or 1).")
        }
        job.priority = priority
        return true
    }

    private mutating func type(_ job: inout Job) -> Bool {
        guard expectString("type") else { return false }
        var token = JobToken()
        guard string(&token) else { return false }
        let text = text(token)
        for type in JobType.allCases where text.equals(type.word) {
            job.type = type
            job.flags.insert(.typeGiven)
            return true
        }
        return fail(
            .invalidValue, "type",
            "The type must be alert, background, encrypted, badge, voip, complication, fileprovider, "
                + "location, liveactivity, pushtotalk, widgets, controls or mdm.")
    }

    private mutating func time(
        _ field: JobField, _ flag: JobFlags, _ ms: inout Int64, _ flags: inout JobFlags
    )
        -> Bool
    {
        guard expectString(field.name) else { return false }
        var token = JobToken()
        guard string(&token) else { return false }
        guard !token.escaped, token.end - token.start <= 64,
            let value = unsafe Timestamp.parseRFC3339(raw(token))
        else {
            return fail(
                .invalidTime, field.name,
                "The time must be RFC 3339 with an offset, such as 2026-12-01T08:00:00+01:00.")
        }
        guard value > 0 else { return fail(.outOfRange, field.name, "The time must lie after 1970.") }
        ms = value
        flags.insert(flag)
        return true
    }
}
