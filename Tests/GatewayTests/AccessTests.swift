import Configuration
import Core
import EventLoop
import GatewayKit
import HTTPClient
import HTTPServer
import Testing

/// Takes tokens such as `user.<app>.<recipient>`.
private struct Verifier: UserTokenVerifier {
    func verify(_ token: String, app: String, nowMs: Int64) throws(Problem) -> String {
        let parts = token.split(separator: ".")
        guard parts.count == 3, parts[0] == "user", parts[1] == app else {
            throw .unauthorized("The token isn't one of this app.")
        }
        return String(parts[2])
    }
}

@Suite struct AccessTests {
    private static let accesses: [(name: String, access: Access)] = [
        ("open", .open), ("send", .key(.send)), ("register", .key(.register)), ("admin", .key(.admin)),
        ("either", .keyOrUser(.register)), ("user", .user), ("handler", .handler),
    ]

    private static func routes(_ gatekeeper: Gatekeeper) -> [GatewayRoute] {
        accesses.map { name, access in
            GatewayRoute(
                "GET", "/\(name)/{app}/{recipient}", name, access,
                .plain { call in .answer(.text(200, "\(call.principal)")) })
        }
    }

    /// What each credential is answered on `/<access>/shop/anna`, in the order of `accesses`.
    @Test(arguments: [
        // Nothing shown.
        ("", [200, 401, 401, 401, 401, 401, 200]),
        // Keys of the app with the scope, of the app with another, of another app, of all.
        ("Bearer shop-send-secret", [200, 200, 403, 403, 403, 401, 200]),
        ("Bearer shop-register-secret", [200, 403, 200, 403, 200, 401, 200]),
        ("Bearer bank-send-secret", [200, 403, 403, 403, 403, 401, 200]),
        ("Bearer two-secret", [200, 200, 403, 403, 403, 401, 200]),
        ("Bearer all-secret", [200, 200, 200, 200, 200, 401, 200]),
        // Keys that are none.
        ("Bearer shop-send-secre", [200, 401, 401, 401, 401, 401, 200]),
        ("Bearer shop-send-secret2", [200, 401, 401, 401, 401, 401, 200]),
        ("Bearer a b", [200, 401, 401, 401, 401, 401, 200]), ("Bearer", [200, 401, 401, 401, 401, 401, 200]),
        ("Basic shop-send-secret", [200, 401, 401, 401, 401, 401, 200]),
        // The recipient, another one, and the recipient's namesake in another app.
        ("Bearer user.shop.anna", [200, 401, 401, 401, 200, 200, 200]),
        ("Bearer user.shop.bert", [200, 401, 401, 401, 403, 200, 200]),
        ("Bearer user.bank.anna", [200, 401, 401, 401, 401, 401, 200]),
    ])
    func everyCredentialOpensWhatItShould(header: String, statuses: [Int]) throws {
        let rig = try Self.rig.get()
        for (place, (name, _)) in Self.accesses.enumerated() {
            let answer = try rig.send(
                "GET", "/\(name)/shop/anna", key: nil,
                headers: header.isEmpty ? [] : [("authorization", header)])
            #expect(answer.status == statuses[place], "\(name)")
            if answer.status == 401 { #expect(answer.header("www-authenticate") == "Bearer") }
            #expect(!answer.text.contains("secret"))
        }
    }

    /// The Kelvin sign is canonically equivalent to K, and another recipient.
    @Test func aTokenOpensNobodyWhoseNameOnlyLooksTheSame() throws {
        let rig = try Self.rig.get()
        for (name, access) in Self.accesses {
            guard case .keyOrUser = access else { continue }
            let bearer = [("authorization", "Bearer user.shop.K")]
            #expect(try rig.send("GET", "/\(name)/shop/K", key: nil, headers: bearer).status == 200)
            #expect(try rig.send("GET", "/\(name)/shop/%E2%84%AA", key: nil, headers: bearer).status == 403)
        }
    }

    @Test func aRefusalSaysTheSameWhetherTheAppExistsOrNot() throws {
        let rig = try Self.rig.get()
        let known = try rig.send("GET", "/send/bank/anna", headers: [("x-request-id", "same")])
        let unknown = try rig.send("GET", "/send/nowhere/anna", headers: [("x-request-id", "same")])
        #expect(known.status == 403 && known.text == unknown.text)
        #expect(known.header("x-request-id") == "same")
    }

    @Test func aKeyMayStandInAHeaderOfItsOwn() throws {
        let rig = try Self.rig.get()
        let answer = try rig.send(
            "GET", "/send/shop/anna", key: nil, headers: [("x-api-key", "shop-send-secret")])
        #expect(answer.status == 200 && answer.text == "key(\"shop-send\")\n")
    }

    @Test func segmentsAreDecodedOneByOne() throws {
        let rig = try Self.rig.get()
        let answer = try rig.send(
            "GET", "/either/shop/a%2Fb", headers: [("authorization", "Bearer user.shop.a/b")])
        #expect(answer.status == 401)
        let user = try rig.send(
            "GET", "/either/shop/a%2Fb", key: nil, headers: [("authorization", "Bearer user.shop.a/b")])
        #expect(user.status == 200 && user.text == "user(recipient: \"a/b\")\n")
        for path in [
            "/open/shop/%", "/open/shop/%zz", "/open/shop/%00", "/open/shop/%ff", "/open/shop/a?b=%0A",
        ] {
            let bad = try rig.send("GET", path)
            #expect(bad.status == 400 && bad.problem == "bad_request", "\(path)")
        }
        #expect(try rig.send("GET", "/open/shop/").status == 404)
        #expect(try rig.send("GET", "//open/shop/anna").status == 404)
        let method = try rig.send("PUT", "/open/shop/anna")
        #expect(method.status == 405 && method.header("allow") == "GET")
        let head = try rig.send("HEAD", "/open/shop/anna")
        #expect(head.status == 200 && head.body.isEmpty)
    }

    @Test(arguments: [
        ("/send/shop/anna", "", "Send an API key as X-Api-Key or Authorization: Bearer."),
        (
            "/either/shop/anna", "",
            "Send an API key as X-Api-Key or Authorization: Bearer, or the user's own token as "
                + "Authorization: Bearer."
        ),
        ("/user/shop/anna", "", "Send the user's token as Authorization: Bearer."),
        (
            "/send/shop/anna", "Bearer x",
            "The API key is not known here; send an API key as X-Api-Key or Authorization: Bearer."
        ),
        (
            "/send/shop/anna", "Basic x",
            "The headers can't be used; send an API key as X-Api-Key or Authorization: Bearer, in one header "
                + "and once."
        ),
    ])
    func aRefusalNamesTheHeader(path: String, header: String, sentence: String) throws {
        let rig = try Self.rig.get()
        let headers = header.isEmpty ? [] : [(name: "authorization", value: header)]
        let answer = try rig.send("GET", path, key: nil, headers: headers)
        #expect(answer.status == 401 && answer.json?["detail"]?.string == sentence)
    }

    @Test func whatNobodyKnowsIsRefusedAfterTheCaller() throws {
        let rig = try Self.rig.get()
        #expect(try rig.send("GET", "/send/shop/anna?lane=bulk", key: nil).status == 401)
        let answer = try rig.send("GET", "/send/shop/anna?lane=bulk")
        #expect(answer.status == 400 && answer.json?["field"]?.string == "lane")
        #expect(try rig.send("GET", "/send/shop/anna?").status == 200)
    }

    private static let rig = Rig.lasting {
        try Rig(verifier: Verifier(), more: { AccessTests.routes($0) })
    }

    @Test func aChangedFileIsInForceWithoutARestart() throws {
        let rig = try Rig()
        defer { rig.stop() }
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled").status == 200)
        try Rig.write(["other:shop:send"], to: "\(rig.directory)/keys")
        #expect(try rig.wait { try rig.send("GET", "/v1/apps/shop/scheduled").status == 401 })
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled", key: "other").status == 200)
        // A mistake changes nothing and shows.
        try Files.write(path: "\(rig.directory)/keys", text: "other:nonsense\n")
        rig.service.reload()
        #expect(try rig.send("GET", "/v1/apps/shop/scheduled", key: "other").status == 200)
        let ready = try rig.wait { try rig.send("GET", "/readyz").text.contains("line 1") }
        #expect(ready)
    }

    @Test func withoutKeysEverythingIsOpen() throws {
        let rig = try Rig(keys: nil, more: { Self.routes($0) })
        defer { rig.stop() }
        #expect(try rig.send("GET", "/admin/shop/anna", key: nil).text == "key(\"open\")\n")
        #expect(try rig.send("GET", "/user/shop/anna", key: nil).status == 401)
    }

    @Test func browsersAreOnlyLetInFromNamedOrigins() throws {
        let rig = try Rig(configure: { settings, _ in
            settings.gateway.corsOrigins = ["https://app.example.com"]
        })
        defer { rig.stop() }
        func ask(_ origin: String, _ method: String) throws -> HTTPClientResponse {
            try rig.send(
                method, "/v1/jobs", headers: [("origin", origin), ("access-control-request-method", "POST")])
        }
        let preflight = try ask("https://app.example.com", "OPTIONS")
        #expect(preflight.status == 204)
        #expect(preflight.header("access-control-allow-origin") == "https://app.example.com")
        #expect(preflight.header("access-control-allow-methods")?.contains("POST") == true)
        let headers = preflight.header("access-control-allow-headers")?.split(separator: ", ") ?? []
        #expect(headers.contains("idempotency-key") && !headers.contains("lane"))
        let other = try ask("https://evil.example.com", "OPTIONS")
        #expect(other.status == 405 && other.header("access-control-allow-origin") == nil)
        let plain = try ask("https://app.example.com", "POST")
        #expect(plain.header("access-control-allow-origin") == "https://app.example.com")
        #expect(plain.header("vary") == "origin")
    }
}

@Suite struct KeyTableTests {
    private let digest = Hex.encode(APIKey.digest(of: "k"))

    @Test func aLineBecomesAKey() throws {
        let table = try KeyTable(
            parsing:
                "# comment\n\n a:\(digest):shop,bank:send,register \r\n"
                + "b:\(Hex.encode(APIKey.digest(of: "l"))):*:admin"
        )
        #expect(table.count == 2)
        let key = try #require(table.key(text: "k"))
        #expect(key.name == "a" && key.scopes == [.send, .register])
        #expect(key.allows(app: "shop") && key.allows(app: "bank") && !key.allows(app: "other"))
        #expect(key.line == "a:\(digest):bank,shop:send,register")
        #expect(table.key(text: "l")?.allows(app: "any") == true)
        #expect(table.key(text: "m") == nil && table.key(text: "") == nil)
        #expect(table.key(named: "b")?.scopes == [.admin] && table.key(named: "c") == nil)
    }

    @Test(arguments: [
        "a", "a:b", "a:HASH:shop", "a:HASH:shop:send:more", ":HASH:shop:send", "a b:HASH:shop:send",
        "a:12:shop:send",
        "a:zz:shop:send", "a:HASH::send", "a:HASH:sh op:send", "a:HASH:shop,:send", "a:HASH:shop:",
        "a:HASH:shop:sent",
        "a:HASH:shop:send\na:HASH:shop:send",
    ])
    func aWrongLineIsNamedWithoutItsContent(text: String) {
        let fault = #expect(throws: KeyTable.Fault.self) {
            try KeyTable(parsing: "#\n" + text.replacing("HASH", with: digest))
        }
        #expect(fault?.line == (text.contains("\n") ? 3 : 2))
        #expect(fault?.description.contains(digest) == false)
    }

    @Test func madeKeysAreLongAndDifferent() {
        let one = APIKey.makeText()
        #expect(one.hasPrefix("peal_") && one.count == 48 && one != APIKey.makeText())
    }
}

@Suite struct SenderKeyTests {
    /// How many of five requests pass when an address may send one and a key as many as it likes.
    private func passed(_ access: Access, _ header: String, _ text: String) throws -> Int {
        let table = try KeyTable(parsing: "a:\(Hex.encode(APIKey.digest(of: "secret"))):*:send")
        let gatekeeper = Gatekeeper(
            ring: KeyRing(table), addressLimiter: RateLimiter(perThousandSeconds: 1))
        let request = HTTPRequest(method: "POST", path: "/", headers: [(header, text)], remote: "10.0.0.1")
        return (0..<5).count { _ in
            do throws(Problem) {
                _ = try gatekeeper.principal(
                    access, of: request, app: "", recipient: nil, nowMs: 0, isCounted: false)
                return true
            } catch {
                return error.status != 429
            }
        }
    }

    @Test func aKnownKeyOfASenderCountsAgainstItsOwnLimitWhereverItStands() throws {
        let byAddress = try passed(.handler, "x-dialect-api-key", "unknown")
        let byKey = try passed(.handler, "x-api-key", "secret")
        #expect(byAddress == 1 && byKey == 5)
        #expect(try passed(.handler, "x-dialect-api-key", "secret") == byKey)
        // It is read on the routes of contracts alone.
        #expect(try passed(.key(.send), "x-dialect-api-key", "secret") == byAddress)
    }
}

@Suite struct RateLimiterTests {
    @Test func aSecondsWorthMayComeAtOnceAndThenTheRate() {
        var limiter = RateLimiter(perThousandSeconds: 10_000)
        for _ in 0..<10 { #expect(limiter.take("a", nowMs: 1000) == nil) }
        #expect(limiter.take("a", nowMs: 1000) == 100)
        #expect(limiter.take("b", nowMs: 1000) == nil)
        #expect(limiter.take("a", nowMs: 1099) == 1)
        #expect(limiter.take("a", nowMs: 1100) == nil)
        #expect(limiter.take("a", nowMs: 1100) == 100)
        // A clock that stands or steps back gives nothing.
        #expect(limiter.take("a", nowMs: 900) == 100)
        for _ in 0..<10 { #expect(limiter.take("a", nowMs: .max) == nil) }
        #expect(limiter.take("a", nowMs: .max) == 100)
    }

    @Test func aSlowRateStillHasOneAndZeroIsNoLimit() {
        var limiter = RateLimiter(perThousandSeconds: 1)
        #expect(limiter.take("a", nowMs: 0) == nil)
        #expect(limiter.take("a", nowMs: 0) == 1_000_000)
        #expect(limiter.take("a", nowMs: 999_999) == 1)
        #expect(limiter.take("a", nowMs: 1_000_000) == nil)
        var off = RateLimiter(perThousandSeconds: 0)
        for _ in 0..<1000 { #expect(off.take("a", nowMs: 0) == nil) }
    }

    @Test func itsSizeIsBoundedAndWhoIsSeenStays() {
        var limiter = RateLimiter(perThousandSeconds: 1, namesMax: 100)
        for number in 0..<10_000 {
            _ = limiter.take("n\(number)", nowMs: 0)
            if number > 0 { #expect(limiter.take("busy", nowMs: 0) == nil || number > 1) }
            #expect(limiter.count <= 100)
        }
        #expect(limiter.take("busy", nowMs: 0) != nil)
    }

    @Test(arguments: [
        ("10.0.0.1", "10.0.0.1"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2"), ("2001:db8::1", "2001:db8:0:0"),
        ("::1", "0:0:0:0"), ("", ""),
    ])
    func anIPv6AddressCountsByItsNetwork(address: String, name: String) {
        #expect(Gatekeeper.limited(address) == name)
    }
}
