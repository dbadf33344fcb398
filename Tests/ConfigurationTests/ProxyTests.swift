import Configuration
import EventLoop
import Testing

@Suite struct ProxySettingsTests {
    @Test func oneProxyServesBothProvidersUnlessOneHasItsOwn() throws {
        let both = try load("providers: {proxy: {url: 'http://proxy.corp:3128', credentials_file: p.txt}}")
        let expected = Settings.Proxy(
            host: "proxy.corp", port: 3128, credentialsFile: "/etc/peal/p.txt")
        #expect(both.providers.apnsProxy == expected)
        #expect(both.providers.fcmProxy == expected)
        #expect(expected.url == "http://proxy.corp:3128")
        let own = try load(
            """
            providers:
              proxy: {url: "http://proxy.corp:3128", credentials_file: p.txt}
              apns: {proxy: {url: none}}
              fcm: {proxy: {url: "http://[fd00::1]:8080/"}}
            """)
        #expect(own.providers.apnsProxy == nil)
        // Another proxy's credentials are not its own.
        #expect(own.providers.fcmProxy == Settings.Proxy(host: "fd00::1", port: 8080))
        #expect(own.providers.fcmProxy?.url == "http://[fd00::1]:8080")
        #expect(try load("").providers.apnsProxy == nil)
    }

    @Test func theEnvironmentOverridesTheFile() throws {
        let loaded = try load(
            "providers: {proxy: {url: 'http://a:1'}}",
            ["PEAL_PROVIDERS_PROXY_URL": "http://b:2", "PEAL_PROVIDERS_FCM_PROXY_URL": "none"])
        #expect(loaded.providers.apnsProxy == Settings.Proxy(host: "b", port: 2))
        #expect(loaded.providers.fcmProxy == nil)
    }

    @Test(arguments: [
        "https://proxy:3128", "proxy:3128", "http://proxy", "http://user:word@proxy:3128", "http://:3128",
        "http://proxy:0", "http://proxy:3128/path", "http://pro xy:3128",
    ])
    func anotherKindOfAddressIsRefusedWithoutRepeatingIt(url: String) {
        let found = problems("providers: {proxy: {url: '\(url)'}}")
        #expect(found.count == 1)
        #expect(found.first?.contains("providers.proxy.url") == true)
        #expect(found.first?.contains("word@") == false)
    }

    @Test func credentialsWithoutAProxyAreAConflict() {
        #expect(problems("providers: {proxy: {credentials_file: p.txt}}").count == 1)
    }

    @Test func theFileMustHoldUserAndPassword() throws {
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-proxy-")
        defer { Files.removeTree(folder) }
        func credentials(_ text: String) throws -> String {
            try Files.write(path: folder + "/c", text: text)
            return try Settings.Proxy(host: "p", port: 1, credentialsFile: folder + "/c").credentials()
        }
        #expect(try credentials("peal:se:cret\n") == "peal:se:cret")
        for bad in ["nocolon", "two:lines\nmore", ""] {
            let failure = #expect(throws: ConfigurationFailure.self) { try credentials(bad) }
            #expect(failure.map { "\($0)" }?.contains("nocolon") == false)
        }
        #expect(try Settings.Proxy(host: "p", port: 1).credentials() == "")
    }
}
