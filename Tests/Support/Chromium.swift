package import Core
internal import EventLoop
internal import Glibc

/// Why a browser did not do what a test wanted.
package struct ChromiumFailure: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// A headless Chromium of a test's own, driven by the DevTools protocol over a pair of pipes.
///
/// - Ownership: it ends with the object, and when the test's process ends: its pipe closes then.
/// - Threading: one thread; every call waits, at most a minute.
/// - Source: https://chromedevtools.github.io/devtools-protocol/
package final class Chromium {
    private static let deadlineMs: UInt64 = 60_000
    private static let candidates = [
        "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome",
    ]

    private let pid: pid_t
    private let input: Int32
    private let output: Int32
    private let profile: String
    private var lastID = 0
    private var received: [UInt8] = []
    /// What the browser told of itself and nobody has taken, at most ``eventsMax``.
    private var events: [JSONValue] = []
    private static let eventsMax = 10_000

    /// Starts a browser with a profile of its own.
    package init() throws {
        guard let program = Self.candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw ChromiumFailure("there is no chromium; make deps-test installs it")
        }
        profile = try Files.makeTemporaryDirectory(prefix: "peal-chromium")
        var commands: [Int32] = [0, 0]
        var answers: [Int32] = [0, 0]
        guard pipe(&commands) == 0, pipe(&answers) == 0 else { throw ChromiumFailure("no pipes are left") }
        for descriptor in commands + answers { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        input = commands[1]
        output = answers[0]
        pid = try Self.spawn(
            program,
            [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                "--no-first-run", "--disable-extensions", "--disable-background-networking",
                "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--lang=en",
                "--force-prefers-reduced-motion", "--user-data-dir=\(profile)", "about:blank",
            ], reads: commands[0], writes: answers[1])
        close(commands[0])
        close(answers[1])
    }

    deinit {
        kill(-pid, SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        close(input)
        close(output)
        Files.removeTree(profile)
    }

    /// Starts the program in a process group of its own; it reads commands from descriptor 3 and writes to 4.
    private static func spawn(
        _ program: String, _ arguments: [String], reads: Int32, writes: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor: Int32 in [0, 1, 2] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, reads, 3)
        posix_spawn_file_actions_adddup2(&actions, writes, 4)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, program, &actions, &attributes, &words, environ)
        guard code == 0 else { throw ChromiumFailure("chromium does not start: error \(code)") }
        return pid
    }

    /// Runs a method and gives its result. `parameters` are a JSON object.
    @discardableResult
    package func call(
        _ method: String, _ parameters: String = "{}", session: String? = nil
    ) throws -> JSONValue {
        lastID += 1
        let id = lastID
        var out = ByteBuffer()
        out.append(text: "{\"id\":\(id),\"method\":\"\(method)\",\"params\":\(parameters)")
        if let session { out.append(text: ",\"sessionId\":\"\(session)\"") }
        out.append("}\0")
        try write(out.array)
        let end = Clock.monotonicMs + Self.deadlineMs
        while true {
            let message = try next(until: end, method)
            if message["id"]?.integer == Int64(id) {
                if let error = message["error"] { throw ChromiumFailure("\(method): \(error.text)") }
                return message["result"] ?? .null
            }
            if message["method"] != nil, events.count < Self.eventsMax { events.append(message) }
        }
    }

    /// The parameters of the events of these names that came since the last call with them, in order.
    package func takeEvents(_ names: [String], session: String) -> [(name: String, value: JSONValue)] {
        var taken: [(name: String, value: JSONValue)] = []
        events.removeAll { event in
            guard let name = event["method"]?.string, names.contains(name),
                event["sessionId"]?.string == session
            else { return false }
            taken.append((name, event["params"] ?? .null))
            return true
        }
        return taken
    }

    private func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw ChromiumFailure("chromium has ended") }
            sent += max(0, count)
        }
    }

    private func next(until endMs: UInt64, _ method: String) throws -> JSONValue {
        while true {
            if let end = received.firstIndex(of: 0) {
                let text = String(decoding: received[..<end], as: UTF8.self)
                received.removeSubrange(...end)
                return try JSONValue.parse(text: text)
            }
            let now = Clock.monotonicMs
            guard now < endMs else { throw ChromiumFailure("chromium does not answer \(method)") }
            var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, Int32(endMs - now)) > 0 else { continue }
            var room = [UInt8](repeating: 0, count: 1 << 16)
            let count = read(output, &room, room.count)
            guard count > 0 else { throw ChromiumFailure("chromium has ended") }
            received.append(contentsOf: room[..<count])
        }
    }
}

/// One page of a browser.
///
/// - Threading: that of its browser.
package final class ChromiumPage {
    private let browser: Chromium
    private let session: String

    /// Opens an empty page. Sizes are in CSS pixels; one of at most 600 is a phone's.
    package init(_ browser: Chromium, width: Int = 1280, height: Int = 900, isDark: Bool = false) throws {
        self.browser = browser
        let target = try browser.call("Target.createTarget", #"{"url":"about:blank"}"#)["targetId"]?.string
        let attached = try browser.call(
            "Target.attachToTarget", "{\"targetId\":\"\(target ?? "")\",\"flatten\":true}")
        guard let session = attached["sessionId"]?.string else { throw ChromiumFailure("no page opens") }
        self.session = session
        for domain in ["Page", "Runtime", "Log", "DOM", "Accessibility"] { try call("\(domain).enable") }
        try resize(width: width, height: height)
        try prefer(dark: isDark)
    }

    /// Runs a method on this page.
    @discardableResult
    package func call(_ method: String, _ parameters: String = "{}") throws -> JSONValue {
        try browser.call(method, parameters, session: session)
    }

    package func resize(width: Int, height: Int) throws {
        try call(
            "Emulation.setDeviceMetricsOverride",
            "{\"width\":\(width),\"height\":\(height),\"deviceScaleFactor\":1,\"mobile\":\(width <= 600)}")
    }

    /// Sets what the system prefers.
    package func prefer(dark: Bool) throws {
        try call(
            "Emulation.setEmulatedMedia",
            "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"\(dark ? "dark" : "light")\"}]}")
    }

    package func open(_ url: String) throws { try call("Page.navigate", "{\"url\":\(Self.quoted(url))}") }

    /// The value of a JavaScript expression, as JSON; promises are waited for.
    @discardableResult
    package func evaluate(_ expression: String) throws -> JSONValue {
        let answer = try call(
            "Runtime.evaluate",
            "{\"expression\":\(Self.quoted(expression)),\"returnByValue\":true,\"awaitPromise\":true}")
        if let thrown = answer["exceptionDetails"] {
            throw ChromiumFailure("\(expression): \(thrown["exception"]?["description"]?.string ?? "")")
        }
        return answer["result"]?["value"] ?? .null
    }

    /// Waits until the expression is true; false after a minute.
    package func wait(for expression: String) throws -> Bool {
        let end = Clock.monotonicMs + 60_000
        while Clock.monotonicMs < end {
            if try evaluate(expression).bool == true { return true }
            usleep(30_000)
        }
        return false
    }

    /// The text of the first element that a selector finds.
    package func text(_ selector: String) throws -> String {
        try evaluate("document.querySelector(\(Self.quoted(selector)))?.innerText ?? ''").string ?? ""
    }

    /// Presses and releases a key by its name, such as `Tab`, `ArrowLeft`, `Enter` or ` `.
    package func press(_ key: String, shift: Bool = false) throws {
        let codes = [
            "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37,
            "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
        ]
        let text = key == "Enter" ? ",\"text\":\"\\r\"" : key == " " ? ",\"text\":\" \"" : ""
        let name = Self.quoted(key)
        for type in ["keyDown", "keyUp"] {
            try call(
                "Input.dispatchKeyEvent",
                "{\"type\":\"\(type)\",\"key\":\(name),\"code\":\(key == " " ? "\"Space\"" : name),"
                    + "\"modifiers\":\(shift ? 8 : 0),\"windowsVirtualKeyCode\":\(codes[key] ?? 0)"
                    + "\(type == "keyDown" ? text : "")}")
        }
    }

    /// Types a text into what has the focus.
    package func type(_ text: String) throws {
        try call("Input.insertText", "{\"text\":\(Self.quoted(text))}")
    }

    /// Errors that scripts threw or that stand in the console since the last call.
    package func takeErrors() -> [String] {
        browser.takeEvents(
            ["Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"], session: session
        ).compactMap { name, value in
            switch name {
            case "Runtime.exceptionThrown": value["exceptionDetails"]?.text
            case "Log.entryAdded":
                value["entry"]?["level"]?.string == "error" ? value["entry"]?.text : nil
            default: value["type"]?.string == "error" ? value.text : nil
            }
        }
    }

    /// A picture of the page as PNG; of all of it, or of what is to be seen.
    package func picture(isWhole: Bool = true) throws -> [UInt8] {
        let answer = try call(
            "Page.captureScreenshot", "{\"format\":\"png\",\"captureBeyondViewport\":\(isWhole)}")
        return Base64.decode((answer["data"]?.string ?? "").utf8) ?? []
    }

    private static func quoted(_ text: String) -> String {
        var out = ByteBuffer()
        out.append(jsonString: text)
        return out.text
    }
}
