internal import Core
internal import EventLoop

/// One device of a recipient in the demo's input.
package struct DemoDevice: Sendable {
    package let id: String
    package let platform: String
    package let environment: String
    package let token: String
    package let locale: String
    package let timeZone: String
    package let appVersion: String
    /// The outcomes that deliveries to it may have; empty for `accepted`.
    package let expected: [String]
}

/// A recipient with its devices.
package struct DemoRecipient: Sendable {
    package let app: String
    package let name: String
    package let devices: [DemoDevice]
}

/// One line of the job file, cut where the round's suffix goes.
struct DemoTemplate: Sendable {
    let id: String
    let app: String
    /// nil when the job names a token.
    let recipient: String?
    let token: String?
    /// The device ids that the job names; nil for all.
    let devices: [String]?
    let unread: Int64
    /// Whether the payload carries the badge.
    let hasBadge: Bool
    /// The outcomes that the job may have; empty for `accepted`.
    let expected: [String]
    /// The job's text without the suffixes.
    let pieces: [[UInt8]]
}

/// The demo's two files: jobs and devices, as newline-delimited JSON.
///
/// A job may carry `x-expect`, a device `expect`: the outcome that is right for it when that isn't
/// `accepted`, or several joined by `|`.
package struct DemoInput: Sendable {
    let templates: [DemoTemplate]
    /// The recipients of the device file.
    package let recipients: [DemoRecipient]

    /// Reads both files.
    /// - Throws: `.files` with the file, the line and what is wrong there.
    package init(jobsPath: String, devicesPath: String) throws(StackFailure) {
        try self.init(
            jobs: try Self.read(jobsPath), devices: try Self.read(devicesPath), jobsName: jobsPath,
            devicesName: devicesPath)
    }

    init(
        jobs: String, devices: String, jobsName: String = "jobs", devicesName: String = "devices"
    ) throws(StackFailure) {
        var templates: [DemoTemplate] = []
        for (number, line) in Self.lines(jobs) {
            templates.append(try Self.template(line, place: "\(jobsName):\(number)"))
        }
        var recipients: [DemoRecipient] = []
        for (number, line) in Self.lines(devices) {
            recipients.append(try Self.recipient(line, place: "\(devicesName):\(number)"))
        }
        guard !templates.isEmpty else { throw StackFailure(.files, "\(jobsName) holds no job") }
        let ids = Set(templates.map(\.id))
        guard ids.count == templates.count else {
            throw StackFailure(.files, "\(jobsName): two jobs have the same id")
        }
        self.templates = templates
        self.recipients = recipients
    }

    private static func read(_ path: String) throws(StackFailure) -> String {
        do { return try Files.readText(path: path, maxBytes: 256 << 20) } catch {
            throw StackFailure(.files, "\(error)")
        }
    }

    private static func lines(_ text: String) -> [(number: Int, text: String)] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
            $0.element.allSatisfy { $0 == " " || $0 == "\r" } ? nil : ($0.offset + 1, String($0.element))
        }
    }

    private static func parse(_ line: String, _ place: String) throws(StackFailure) -> JSONValue {
        do { return try JSONValue.parse(text: line) } catch {
            throw StackFailure(.files, "\(place): not JSON: \(error)")
        }
    }

    private static func outcomes(_ value: JSONValue?) -> [String] {
        (value?.string ?? "").split(separator: "|").map(String.init)
    }
}

// MARK: - Jobs

extension DemoInput {
    /// Stands in a template's text where the round's suffix goes; no job can hold it, for JSON escapes it.
    private static let mark = "\u{1}"

    private static func template(_ line: String, place: String) throws(StackFailure) -> DemoTemplate {
        let job = try parse(line, place)
        guard let members = job.members, let app = job["app"]?.string, let to = job["to"] else {
            throw StackFailure(.files, "\(place): a job needs app and to")
        }
        let recipient = to["recipient"]?.string
        guard recipient != nil || to["token"]?.string != nil else {
            throw StackFailure(.files, "\(place): the demo sends to recipients and tokens only")
        }
        let id = job["id"]?.string ?? place
        var kept = members.filter { !["id", "to", "data", "x-expect"].contains($0.name) }
        kept.insert(JSONValue.Member(name: "id", value: .string(id + mark)), at: 0)
        kept.append(JSONValue.Member(name: "to", value: marked(to)))
        // The simulator's record is asked by this member, so every job carries its id in its data as well.
        var data = (job["data"]?.members ?? []).filter { $0.name != "peal_job" }
        data.append(JSONValue.Member(name: "peal_job", value: .string(id + mark)))
        kept.append(JSONValue.Member(name: "data", value: .object(data)))
        let text = JSONValue.object(kept).text
        return DemoTemplate(
            id: id, app: app, recipient: recipient, token: to["token"]?.string,
            devices: to["devices"]?.array?.compactMap(\.string), unread: job["unread"]?.integer ?? 0,
            hasBadge: job["unread"] != nil || job["type"]?.string == "badge",
            expected: outcomes(job["x-expect"]),
            pieces: text.split(separator: "\\u0001", omittingEmptySubsequences: false).map { Array($0.utf8) })
    }

    private static func marked(_ to: JSONValue) -> JSONValue {
        .object(
            (to.members ?? []).map { member in
                guard member.name == "recipient", let name = member.value.string else { return member }
                return JSONValue.Member(name: member.name, value: .string(name + mark))
            })
    }
}

// MARK: - Devices

extension DemoInput {
    private static func recipient(_ line: String, place: String) throws(StackFailure) -> DemoRecipient {
        let value = try parse(line, place)
        guard let app = value["app"]?.string, let name = value["recipient"]?.string,
            let listed = value["devices"]?.array
        else { throw StackFailure(.files, "\(place): a recipient needs app, recipient and devices") }
        var devices: [DemoDevice] = []
        for device in listed {
            guard let id = device["id"]?.string, let platform = device["platform"]?.string,
                let token = device["token"]?.string
            else { throw StackFailure(.files, "\(place): a device needs id, platform and token") }
            devices.append(
                DemoDevice(
                    id: id, platform: platform, environment: device["environment"]?.string ?? "production",
                    token: token, locale: device["locale"]?.string ?? "",
                    timeZone: device["time_zone"]?.string ?? "",
                    appVersion: device["app_version"]?.string ?? "", expected: outcomes(device["expect"])))
        }
        return DemoRecipient(app: app, name: name, devices: devices)
    }
}
