import Configuration
import Decisions
import Foundation
import Rendering
import Testing

func load(_ text: String, _ environment: [String: String] = [:]) throws -> Settings {
    try Configuration.parse(Array(text.utf8), file: "/etc/peal/peal.yaml", environment: environment)
}

func problems(_ text: String, _ environment: [String: String] = [:]) -> [String] {
    do throws(ConfigurationFailure) {
        _ = try Configuration.parse(Array(text.utf8), file: "peal.yaml", environment: environment)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

@Suite("Configuration") struct ConfigurationTests {
    @Test("an empty file and no file give the defaults")
    func defaults() throws {
        var expected = Settings()
        #expect(try Configuration.load(environment: [:]) == expected)
        expected.files = ["/etc/peal/peal.yaml"]
        #expect(try load("") == expected)
        #expect(try load("kafka:\nworker: ~\n") == expected)
    }

    @Test("the example has every default, and nothing that is unknown")
    func example() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let path = root.appending(path: "deploy/examples/peal.yaml").path()
        var settings = try Configuration.load(path: path, environment: [:])
        #expect(settings.warnings == [])
        #expect(settings.apps.map(\.name) == ["playground", "shop"])
        #expect(settings.files.count == 6)
        let shop = try #require(settings.app("shop"))
        #expect(shop.title == "Example Shop")
        #expect(shop.profile == .creator)
        #expect(shop.topic == "com.example.shop")
        #expect(shop.apnsProduction?.keyID == "ABC1234567")
        #expect(shop.apnsSandbox?.keyID == "XYZ9876543")
        #expect(shop.apnsSandbox?.teamID == "DEF7654321")
        #expect(
            shop.apnsSandbox?.keyFile?.hasSuffix("/deploy/examples/secrets/AuthKey_XYZ9876543.p8") == true)
        #expect(shop.fcm?.projectID == "example-shop")
        #expect(
            shop.users?.subjectClaim == "user_id" && shop.users?.audiences == ["https://push.example.com"])
        #expect(shop.webPush?.subject == "mailto:push@example.com")
        #expect(
            shop.renderSettings
                == RenderSettings(
                    profile: .creator, appName: "Example Shop", bundleID: "com.example.shop",
                    oversize: .truncate,
                    showTeamNames: true, defaultSound: "default", encryptedTitle: "New message",
                    androidChannel: "orders"))
        #expect(shop.caps.map(\.className) == ["marketing", "social"])
        #expect(shop.caps.first?.perMs == 86_400_000)
        #expect(shop.caps.map(\.policy) == [.drop, .defer])
        #expect(shop.dedupIDsMs == 3_600_000)
        #expect(shop.apnsQuota == 5_000_000 && shop.fcmQuota == 5_000_000)
        #expect(!shop.isLogOnly)
        #expect(settings.app("playground")?.isLogOnly == true)
        settings.apps = []
        settings.files = []
        #expect(settings == Settings())
    }

    @Test("every value in the example can be misspelt, and is then found")
    func everyKeyIsChecked() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "deploy/examples/peal.yaml"), encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var checked = 0
        for (index, line) in lines.enumerated() {
            let body = line.drop { $0 == " " }
            guard let colon = body.firstIndex(of: ":"), !body.hasPrefix("#") else { continue }
            let key = body[..<colon]
            // A cap's or app's name is the user's own.
            if ["marketing", "social", "shop", "playground"].contains(String(key)) { continue }
            var changed = lines
            changed[index] = Substring(line.replacing(key + ":", with: "\(key)zq:", maxReplacements: 1))
            let found = problems(changed.joined(separator: "\n"))
            #expect(
                found.contains {
                    $0.hasPrefix("peal.yaml:\(index + 1): unknown key") && $0.contains("\(key)zq'")
                },
                "\(key): \(found)")
            checked += 1
        }
        #expect(checked > 90)
    }

    @Test("an unknown key is named with its line and the nearest known one")
    func unknownKeys() {
        #expect(
            problems("kafka:\n  borkers: x\nredsi: {}\n") == [
                "peal.yaml:2: unknown key 'kafka.borkers'; did you mean 'brokers'?",
                "peal.yaml:3: unknown key 'redsi'; did you mean 'redis'?",
            ])
        #expect(
            problems("log: {colour: yes}") == [
                "peal.yaml:1: unknown key 'log.colour'; known here: format, level, levels"
            ])
        #expect(
            problems("apps: {shop: {apns: {sandbox: {tpoic: x}}}}").first?.contains(
                "apps.shop.apns.sandbox.tpoic")
                == true)
    }

    @Test(
        "the environment wins over the file",
        arguments: [
            "", "redis: {url: \"redis://file:1\"}\nkafka: {brokers: [a:1, b:2]}\nlog: {level: debug}\n",
        ])
    func environment(_ text: String) throws {
        let settings = try load(
            text,
            [
                "PEAL_REDIS_URL": "rediss://env:2/3", "PEAL_KAFKA_BROKERS": "x:1, y:2",
                "PEAL_LOG_LEVEL": "warning", "PEAL_WORKER_DRAIN_DEADLINE": "3s",
                "PEAL_PROVIDERS_APNS_PRODUCTION_PORT": "2197", "PEAL_TOPICS_RETRY_TIERS": "2s,5s",
                "PEAL_HTTP_WORKER": "off",
            ])
        #expect(settings.redis.url == "rediss://env:2/3")
        #expect(settings.kafka.brokers == "x:1,y:2")
        #expect(settings.log.level == .warning)
        #expect(settings.worker.drainDeadlineMs == 3000)
        #expect(settings.providers.apnsProduction.port == 2197)
        #expect(settings.topics.retryTiers.map(\.delayMs) == [2000, 5000])
        #expect(settings.http.worker == nil)
        #expect(settings.warnings == [])
    }

    @Test("an app's values come from the environment too")
    func appEnvironment() throws {
        let settings = try load(
            "apps: {my-shop: {}}",
            ["PEAL_APPS_MY_SHOP_FCM_SERVICE_ACCOUNT_FILE": "x.json", "PEAL_APPS_MY_SHOP_PROFILE": "wallet"])
        #expect(settings.app("my-shop")?.fcm?.serviceAccountFile == "x.json")
        #expect(settings.app("my-shop")?.profile == .wallet)
    }

    @Test("a variable that is no setting is a warning, one that Kubernetes made is not")
    func strayVariables() throws {
        let settings = try load(
            "",
            [
                "PEAL_REDSI_URL": "x", "PEAL_WORKER_SERVICE_HOST": "10.0.0.1", "PEAL_WORKER_PORT": "tcp://x",
                "PEAL_WORKER_PORT_9101_TCP_ADDR": "x", "PEAL_KAFKA_PORT_9092_TCP": "x",
                "PEAL_KAFKA_SERVICE_PORT": "9092", "PEAL_CONFIG": "x", "HOME": "/",
            ])
        #expect(
            settings.warnings == ["PEAL_REDSI_URL is set but is no setting; did you mean PEAL_REDIS_URL?"])
        #expect(settings.kafka.properties == [])
    }

    @Test("librdkafka properties pass as they are, and what Peal owns is refused")
    func kafkaProperties() throws {
        let settings = try load(
            "kafka:\n  security.protocol: SASL_SSL\n  debug: broker\n  sasl.username: a\n",
            ["PEAL_KAFKA_SASL_USERNAME": "b", "PEAL_KAFKA_LOG_LEVEL": "7"])
        #expect(
            settings.kafka.properties == [
                .init(name: "security.protocol", value: "SASL_SSL"), .init(name: "debug", value: "broker"),
                .init(name: "log_level", value: "7"), .init(name: "sasl.username", value: "b"),
            ])
        #expect(
            problems("kafka:\n  group.id: x\n") == [
                "peal.yaml:2: kafka.group.id can't be set: it comes from worker.group, retry.group and "
                    + "expand.group"
            ])
        #expect(
            problems("", ["PEAL_KAFKA_ENABLE_AUTO_COMMIT": "true"]).first?.hasPrefix(
                "PEAL_KAFKA_ENABLE_AUTO_COMMIT")
                == true)
        #expect(problems("kafka: {ssl.ca.location: [x]}").count == 1)
        #expect(try load("kafka: {sasl.password: x}").warnings.count == 1)
    }

    @Test(
        "a bad value is named with its place and what would do",
        arguments: [
            ("worker: {shards: many}", "worker.shards: 'many' must be a whole number from 0 to 256"),
            ("worker: {shards: 257}", "worker.shards: '257' must be a whole number from 0 to 256"),
            ("worker: {shards: [1]}", "worker.shards is a list; write a single value"),
            ("worker: {drain_deadline: 10}", "'10' is no duration; write it like 500ms, 10s, 15m or 1h"),
            ("worker: {drain_deadline: 1h}", "1h must lie between 100ms and 10m"),
            ("worker: {lanes: [urgent, slow]}", "'slow' is no lane; choose from urgent, normal, bulk"),
            ("worker: {lanes: []}", "worker.lanes is empty"),
            ("worker: {urgent_reserve: 2}", "'2' must be a number from 0.0 to 0.9"),
            (
                "worker: {assignment: egaer}",
                "'egaer' must be one of eager, cooperative (did you mean eager?)"
            ),
            ("worker: 7", "'worker' is text; write a mapping of settings under it"),
            (
                "redis: {url: \"http://x:secret@y\"}",
                "redis.url: must begin with redis://, rediss:// (TLS) or unix:/path"
            ),
            ("redis: {verify: perhaps}", "'perhaps' is neither true nor false"),
            ("http: {worker: nowhere}", "'nowhere' is no address"),
            ("http: {worker: \":70000\"}", "':70000' is no address"),
            ("topics: {retry_tiers: [1s, soon]}", "'soon' is no duration up to 1d"),
            ("topics: {retry_tiers: [60s, 1m]}", "'1m' stands twice"),
            ("topics: {retry_tiers: [soon]}", "'soon' is no duration up to 1d"),
            ("topics: {retry_tiers: []}", "topics.retry_tiers needs at least one duration"),
            ("topics: {prefix: \"a b\"}", "use letters, digits, '.', '_' and '-'"),
            ("gateway: {body_max: big}", "must be a size from 1024 to"),
            ("kafka: {brokers: []}", "kafka.brokers is empty"),
            ("kafka: {brokers: [[x]]}", "a list in the list; write text"),
            (
                "providers: {apns: {production: {host: \"https://x\"}}}",
                "is no host name; write it without scheme"
            ),
            (
                "providers: {fcm: {connections_min: 17}}",
                "providers.fcm.connections_min is above connections_max (16)"
            ),
            ("apps: {\"a/b\": {}}", "'a/b' can't be an app's name"),
            (
                "apps: {a: {profile: walet}}",
                "'walet' must be one of plain, concierge, dialect, creator, wallet (did you mean wallet?)"
            ),
            ("apps: {a: {apns: {key_file: x, team_id: T, topic: t}}}", "apps.a.apns.key_id is missing"),
            ("apps: {a: {apns: {key_file: x, key_id: K, topic: t}}}", "apps.a.apns.team_id is missing"),
            (
                "apps: {a: {apns: {key_file: x, key_id: K, team_id: T}}}",
                "apps.a.apns.topic is missing; write the app's bundle id"
            ),
            ("apps: {a: {apns: {key_id: K, topic: t}}}", "apps.a.apns.key_file is missing"),
            (
                "apps: {a: {apns: {certificate_file: x, topic: t}}}",
                "apps.a.apns.certificate_key_file is missing"
            ),
            ("apps: {a: {fcm: {project_id: p}}}", "apps.a.fcm.service_account_file is missing"),
            (
                "apps: {a: {web_push: {key_file: k}}}",
                "apps.a.web_push.subject must be a mailto: or https: address"
            ),
            ("apps: {a: {caps: {x: lots}}}", "'lots' is no cap; write it like 5/1h"),
            ("apps: {a: {caps: {x: 5/1h later}}}", "'5/1h later' is no cap"),
            ("apps: {a: {caps: {x: 5/1h defer now}}}", "'5/1h defer now' is no cap"),
            ("apps: {a: {caps: {x: 10001/1h}}}", "'10001/1h' is no cap"),
            ("apps: {a: {caps: {x: 1/31d}}}", "'1/31d' is no cap"),
            ("apps: {a: {quota: {fcm: 0/s}}}", "'0/s' is no rate; write it like 500/s or 30000/m"),
            ("apps: {a: {quota: {fcm: 500}}}", "'500' is no rate"),
            ("apps: {a: {quota: {apns: 5/2h}}}", "'5/2h' is no rate"),
            ("apps: {a: {quota: {sms: 5/s}}}", "unknown key"),
            ("apps: {a: {dedup_ids: 8d}}", "8d must lie between"),
            ("apps: {a: {unread: {by_thread: maybe}}}", "apps.a.unread.by_thread"),
            ("registry: {stale_after: 1h}", "1h must lie between"),
            ("registry: {devices_max: 0}", "must be a whole number from 1"),
            ("registry: {stale: 1d}", "unknown key 'registry.stale'"),
            ("apps: {a: {dedup_ids_expected: 5}}", "must be a whole number from 1000"),
            ("apps: [a]", "'apps' is a list; write a mapping of settings under it"),
        ])
    func badValues(_ text: String, _ expected: String) {
        let found = problems(text)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.hasPrefix("peal.yaml:1: ") == true)
        #expect(found.first?.contains(expected) == true, "\(found)")
        #expect(found.first?.contains("secret") == false)
    }

    @Test("the registry's rules, and which apps count by thread")
    func registry() throws {
        let text = """
            registry: {stale_after: 30d, devices_max: 5}
            apps: {a: {profile: concierge}, b: {}, c: {profile: concierge, unread: {by_thread: false}}, d: {unread: {by_thread: true}}}
            """
        let settings = try load(text, ["TZDIR": "/zones"])
        #expect(settings.registry.staleAfterMs == 30 * 86_400_000)
        #expect(settings.registry.devicesMax == 5)
        #expect(settings.registry.zoneFolder == "/zones")
        #expect(settings.apps.map(\.unreadByThread) == [true, false, false, true])
        let own = try load("registry: {zone_folder: /mine}", ["TZDIR": "/zones"])
        #expect(own.registry.zoneFolder == "/mine")
    }

    @Test("limits of an app are read as they are written")
    func limits() throws {
        let text = "apps: {a: {caps: {x: 5/1h replace, y: 1/90s}, quota: {apns: 90/m, fcm: 7/10s}}}"
        let variables = ["PEAL_APPS_A_DEDUP_IDS": "2h", "PEAL_APPS_A_CAPS_Y": "2/1m drop"]
        let app = try #require(try load(text, variables).app("a"))
        #expect(
            app.caps == [
                .init(className: "x", count: 5, perMs: 3_600_000, policy: .replace),
                .init(className: "y", count: 2, perMs: 60_000, policy: .drop),
            ])
        #expect(app.apnsQuota == 1500 && app.fcmQuota == 700)
        #expect(app.dedupIDsMs == 7_200_000 && app.dedupIDsExpected == 1_000_000)
    }

    @Test("a bad value from the environment names the variable")
    func badVariable() {
        #expect(
            problems("", ["PEAL_WORKER_SHARDS": "many"]) == [
                "PEAL_WORKER_SHARDS: worker.shards: 'many' must be a whole number from 0 to 256"
            ])
    }

    @Test("a key and a certificate exclude each other")
    func keyAndCertificate() {
        let found = problems(
            "apps: {a: {apns: {key_file: x, key_id: K, team_id: T, topic: t, certificate_file: y}}}")
        #expect(found.count == 1)
        #expect(found.first?.contains("exclude each other") == true)
    }

    @Test("one credential serves the default environment, or both when it is said so")
    func environments() throws {
        let key = "key_file: x, key_id: K, team_id: T, topic: t"
        func app(_ more: String) throws -> Settings.App {
            try #require(try load("apps: {a: {apns: {\(key)\(more)}}}").app("a"))
        }
        let production = try app("")
        #expect(production.apnsProduction?.keyFile == "/etc/peal/x")
        #expect(production.apnsSandbox == nil)
        let sandbox = try app(", environment: sandbox")
        #expect(sandbox.apnsProduction == nil)
        #expect(sandbox.apnsSandbox != nil)
        let both = try app(", both_environments: true")
        #expect(both.apnsProduction == both.apnsSandbox)
        #expect(both.apnsProduction != nil)
    }

    @Test("a credential that is there is not used by an app that only logs")
    func logOnly() throws {
        let settings = try load("apps: {a: {provider: log, fcm: {service_account_file: /x}}}")
        #expect(settings.app("a")?.isLogOnly == true)
    }

    @Test("paths in the file are relative to the file, paths in the environment are not")
    func paths() throws {
        let settings = try load(
            "redis: {password_file: pw, ca_file: /abs/ca}\nkafka: {password_file: kp}",
            ["PEAL_KAFKA_PASSWORD_FILE": "here"])
        #expect(settings.redis.passwordFile == "/etc/peal/pw")
        #expect(settings.redis.caFile == "/abs/ca")
        #expect(settings.kafka.passwordFile == "here")
        #expect(settings.files == ["/etc/peal/peal.yaml", "/abs/ca", "/etc/peal/pw", "here"])
    }

    @Test(
        "a file that is no configuration is refused in one sentence",
        arguments: [
            ("a: [", "peal.yaml:2: "),
            ("- a\n- b\n", "peal.yaml:1: the file holds a list; write a mapping of settings"),
            ("x: 1\nx: 2\n", "peal.yaml:2: the key 'x' stands twice, first on line 1; remove one of them"),
        ])
    func notConfiguration(_ text: String, _ expected: String) {
        #expect(problems(text).count == 1)
        #expect(problems(text).first?.hasPrefix(expected) == true, "\(problems(text))")
    }

    @Test("a missing file, a directory and PEAL_CONFIG are told apart")
    func files() {
        func failure(_ path: String?, _ environment: [String: String] = [:]) -> String? {
            do throws(ConfigurationFailure) {
                _ = try Configuration.load(path: path, environment: environment)
                return nil
            } catch {
                return error.description
            }
        }
        #expect(failure("/nonexistent/peal.yaml") == "/nonexistent/peal.yaml: there is no such file")
        #expect(failure("/tmp") == "/tmp: it is a directory, not a file")
        #expect(failure(nil, ["PEAL_CONFIG": "/nonexistent/y"]) == "/nonexistent/y: there is no such file")
    }

    @Test("topics have their documented names")
    func topicNames() throws {
        let topics = try load("topics: {prefix: push, retry_tiers: [1m, 1s]}").topics
        #expect(
            topics.all == [
                "push.jobs.urgent", "push.jobs.normal", "push.jobs.bulk", "push.retry.1s", "push.retry.1m",
                "push.broadcast", "push.broadcast.parts", "push.dead", "push.outcomes",
            ])
    }

    @Test("the broadcast stage has a section and an address of its own")
    func expand() throws {
        let settings = try load(
            "expand: {group: g, parts: 8, parts_active: 2, recipients_max: 2048, drain_deadline: 3s}\n"
                + "http: {expand: \"127.0.0.1:9\"}")
        #expect(settings.expand.group == "g" && settings.expand.parts == 8)
        #expect(settings.expand.partsActive == 2 && settings.expand.recipientsMax == 2048)
        #expect(settings.expand.drainDeadlineMs == 3_000)
        #expect(settings.http.expand?.port == 9)
        #expect(Settings().http.expand?.port == 9103)
        #expect(problems("expand: {parts: 2000}").count == 1)
        #expect(problems("expand: {recipients_max: 10}").count == 1)
        #expect(problems("expand: {pages: 1}").count == 1)
    }

    @Test("at most twenty-five problems are told")
    func manyProblems() {
        let text = (0..<100).map { "key\($0): x\n" }.joined()
        #expect(problems(text).count == 25)
    }
}

@Suite("Units and secrets") struct UnitTests {
    @Test(
        "durations",
        arguments: [
            ("500ms", Int64(500)), ("10s", 10_000), ("15m", 900_000), ("1h", 3_600_000), ("2d", 172_800_000),
            ("0", 0),
            ("10 s", 10_000), ("10", nil), ("", nil), ("s", nil), ("-1s", nil), ("1.5s", nil), ("1w", nil),
            ("99999999999999999999s", nil), ("9223372036854775807d", nil), ("٣s", nil),
        ])
    func durations(_ text: String, _ expected: Int64?) { #expect(Units.durationMs(text) == expected) }

    @Test(
        "sizes",
        arguments: [
            ("4096", Int64(4096)), ("64KiB", 65_536), ("1MB", 1_000_000), ("4 MiB", 4_194_304), ("1B", 1),
            ("1X", nil),
            ("", nil), ("KiB", nil), ("9223372036854775807GB", nil),
        ])
    func sizes(_ text: String, _ expected: Int64?) { #expect(Units.bytes(text) == expected) }

    @Test("a duration is written in its largest unit")
    func text() {
        #expect(Units.text(durationMs: 3_600_000) == "1h")
        #expect(Units.text(durationMs: 90_000) == "90s")
        #expect(Units.text(durationMs: 1500) == "1500ms")
        #expect(Units.text(durationMs: 0) == "0")
    }

    @Test(
        "addresses are read",
        arguments: [
            ("1.2.3.4:80", "1.2.3.4:80"), (":80", "0.0.0.0:80"), ("[::1]:80", "[::1]:80"),
            ("host:0", "host:0"),
            ("::1:80", nil), ("host", nil), ("host:", nil), ("host:-1", nil), ("host:65536", nil), ("", nil),
        ])
    func addresses(_ text: String, _ expected: String?) {
        #expect(ListenAddress(text)?.description == expected)
    }

    @Test("a secret is read without its line end, and a fault never shows it")
    func secrets() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "peal-secret-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        func write(_ name: String, _ bytes: [UInt8]) throws -> String {
            let file = directory.appending(path: name)
            try Data(bytes).write(to: file)
            return file.path()
        }
        #expect(try SecretFile.readLine(try write("a", Array("pass word\r\n".utf8))) == "pass word")
        #expect(try SecretFile.read(try write("b", [1, 2, 10])) == [1, 2, 10])
        let bad = [
            try write("c", []), try write("d", [10]), try write("e", [0xFF, 0xFE]),
            try write("f", [UInt8](repeating: 65, count: SecretFile.bytesMax + 1)),
            directory.path() + "/none",
        ]
        for path in bad {
            #expect(throws: ConfigurationFailure.self) { try SecretFile.readLine(path) }
        }
    }
}
