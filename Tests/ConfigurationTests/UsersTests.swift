import Configuration
import Testing

@Suite struct UsersTests {
    private func parse(_ text: String) throws -> Settings {
        try Configuration.parse(Array(text.utf8), file: "/etc/peal/peal.yaml")
    }

    private func problem(_ text: String) -> String {
        do throws(ConfigurationFailure) {
            _ = try Configuration.parse(Array(text.utf8), file: "peal.yaml")
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func everySettingIsRead() throws {
        let settings = try parse(
            """
            credentials: {master_key_file: master.key, former_key_files: [old.key, /older.key]}
            apps:
              shop:
                credentials: uploaded
                users:
                  jwks_file: jwks.json
                  audience: [a, b]
                  issuer: https://id.example
                  subject_claim: user_id
                  did_key: true
            """)
        #expect(settings.credentials.masterKeyFile == "/etc/peal/master.key")
        #expect(settings.credentials.formerKeyFiles == ["/etc/peal/old.key", "/older.key"])
        let shop = try #require(settings.app("shop"))
        #expect(shop.credentialSource == .uploaded && !shop.isLogOnly && settings.takesUploads(shop))
        #expect(shop.users?.jwksFile == "/etc/peal/jwks.json")
        #expect(shop.users?.audiences == ["a", "b"])
        #expect(shop.users?.issuer == "https://id.example")
        #expect(shop.users?.subjectClaim == "user_id")
        #expect(shop.users?.acceptsDIDKeys == true)
        #expect(
            settings.files == [
                "/etc/peal/peal.yaml", "/etc/peal/jwks.json", "/etc/peal/master.key", "/etc/peal/old.key",
                "/older.key",
            ])
    }

    @Test func anAppTakesUploadsOnlyWithoutFilesAndWithAMasterKey() throws {
        func takes(_ text: String) throws -> Bool {
            let settings = try parse(text)
            return settings.takesUploads(try #require(settings.app("shop")))
        }
        let key = "credentials: {master_key_file: k}\n"
        #expect(try takes(key + "apps: {shop: {}}"))
        #expect(try !takes("apps: {shop: {}}"))
        #expect(try !takes(key + "apps: {shop: {provider: log}}"))
        #expect(try !takes(key + "apps: {shop: {fcm: {service_account_file: a.json}}}"))
        #expect(try parse("apps: {shop: {}}").app("shop")?.users == nil)
        #expect(try parse(key + "apps: {shop: {}}").app("shop")?.isLogOnly == true)
    }

    @Test(arguments: [
        ("apps: {shop: {users: {audience: a}}}", "apps.shop.users.jwks_file is missing"),
        ("apps: {shop: {users: {secret_file: s}}}", "apps.shop.users.audience is missing"),
        ("apps: {shop: {users: {secret_file: s, jwks_file: j, audience: a}}}", "exclude each other"),
        (
            "apps: {shop: {users: {secret_file: s, audience: a, subject_claim: \"\"}}}",
            "subject_claim is empty"
        ),
        ("apps: {shop: {users: {secret_fil: s}}}", "unknown key 'apps.shop.users.secret_fil'"),
        ("apps: {shop: {credentials: uploaded}}", "credentials.master_key_file is missing"),
        ("apps: {shop: {credentials: upload}}", "must be one of auto, uploaded"),
        ("credentials: {former_key_files: [a]}", "credentials.master_key_file is missing"),
        (
            "credentials: {master_key_file: k}\napps: {shop: {credentials: uploaded, fcm: {service_account_file: a}}}",
            "credential files are named as well"
        ),
    ])
    func mistakesAreNamed(_ text: String, _ sentence: String) {
        #expect(problem(text).contains(sentence), "\(problem(text))")
    }
}
