internal import Core
internal import EventLoop
internal import Glibc
internal import HTTPClient

/// `peal-simulator --accept-all` as a process of its own, so that its CPU can be told from the others'.
final class BenchSimulator {
    let process: ChildProcess
    let apnsPort: UInt16
    let sandboxPort: UInt16
    let fcmPort: UInt16
    /// Where its credentials are.
    let credentialDirectory: String
    private let adminURL: String
    private let client: HTTPClient

    /// The authority that signed its certificate.
    var caFile: String { "\(credentialDirectory)/ca.pem" }

    /// What points a worker at it.
    var environment: [String: String] {
        [
            "PEAL_PROVIDERS_APNS_PRODUCTION_PORT": "\(apnsPort)",
            "PEAL_PROVIDERS_APNS_SANDBOX_PORT": "\(sandboxPort)",
            "PEAL_PROVIDERS_FCM_ENDPOINT_PORT": "\(fcmPort)",
            "PEAL_PROVIDERS_FCM_TOKEN_ENDPOINT_PORT": "\(fcmPort)",
        ]
    }

    /// Starts it and waits for its addresses.
    /// - Parameters:
    ///   - directory: where its credentials and its log go.
    ///   - arguments: further words of its command line.
    ///   - recordMax: requests that it keeps.
    ///   - programDirectory: where it is; nil for the directory of this process's own executable.
    /// - Throws: `.simulator` when it doesn't say its addresses within ten seconds.
    init(
        directory: String, arguments: [String] = [], recordMax: Int = 0, programDirectory: String? = nil
    ) throws(StackFailure) {
        credentialDirectory = "\(directory)/credentials"
        let ports = ["apns", "sandbox", "fcm", "admin"].flatMap { ["--\($0)-port", "0"] }
        process = try ChildProcess(
            name: "simulator", program: "\(programDirectory ?? StackOptions.ownDirectory)/peal-simulator",
            arguments: ports + [
                "--certificate-dir", credentialDirectory, "--accept-all", "--record-max", "\(recordMax)",
                "--json",
            ] + arguments, logPath: "\(directory)/simulator.log")
        let addresses = try Self.addresses(of: process)
        apnsPort = try Self.port("apns", addresses)
        sandboxPort = try Self.port("apns_sandbox", addresses)
        fcmPort = try Self.port("fcm", addresses)
        adminURL = addresses["admin"]?.string ?? ""
        var options = HTTPClientOptions()
        options.connectTimeoutMs = 1_000
        options.totalTimeoutMs = 10_000
        // A page of the record is some megabytes.
        options.responseBytesMax = 32 << 20
        options.proxy = ""
        client = HTTPClient(options)
    }

    private static func addresses(of process: ChildProcess) throws(StackFailure) -> JSONValue {
        let end = Clock.monotonicMs + 10_000
        while Clock.monotonicMs < end, process.isRunning {
            if let line = process.logTail().split(separator: "\n").first(where: { $0.hasPrefix("{") }),
                let value = try? JSONValue.parse(text: String(line))
            {
                return value
            }
            usleep(10_000)
        }
        throw StackFailure(.simulator, "the simulator did not start; its log ends:\n\(process.logTail())")
    }

    private static func port(_ name: String, _ addresses: JSONValue) throws(StackFailure) -> UInt16 {
        guard let digits = addresses[name]?.string?.split(separator: ":").last, let port = UInt16(digits)
        else {
            throw StackFailure(.simulator, "the simulator did not say where \(name) is")
        }
        return port
    }

    /// Requests answered so far; nil when it doesn't say.
    func requestCount() -> Int? {
        guard let answer = try? client.send(HTTPClientRequest(url: "\(adminURL)/stats")),
            let stats = try? JSONValue.parse(text: String(decoding: answer.body, as: UTF8.self)),
            let count = stats["requests"]?.integer
        else { return nil }
        return Int(clamping: count)
    }

    /// Replaces the fault script; an empty one ends all faults.
    /// - Throws: `.simulator` when it doesn't take it.
    func setFaults(_ script: String) throws(StackFailure) {
        try order(HTTPClientRequest(method: "POST", url: "\(adminURL)/faults", body: Array(script.utf8)))
    }

    /// Forgets the requests seen so far.
    /// - Throws: `.simulator` when it doesn't answer.
    func clearRecord() throws(StackFailure) {
        try order(HTTPClientRequest(method: "DELETE", url: "\(adminURL)/record"))
    }

    /// A page of its record as JSON, one request a line.
    /// - Throws: `.simulator` when it doesn't answer.
    func record(from: Int, limit: Int) throws(StackFailure) -> [UInt8] {
        try order(HTTPClientRequest(url: "\(adminURL)/record?from=\(from)&limit=\(limit)"))
    }

    @discardableResult
    private func order(_ request: HTTPClientRequest) throws(StackFailure) -> [UInt8] {
        let answer: HTTPClientResponse
        do throws(HTTPClientFailure) {
            answer = try client.send(request)
        } catch {
            throw StackFailure(.simulator, "the simulator does not answer: \(error)")
        }
        guard answer.status == 200 else {
            throw StackFailure(
                .simulator, "the simulator refused an order: \(String(decoding: answer.body, as: UTF8.self))")
        }
        return answer.body
    }
}
