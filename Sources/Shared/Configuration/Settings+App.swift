package import Rendering
import YAML

extension Settings {
    /// One app that sends.
    package struct App: Equatable, Sendable {
        /// Which deliveries leave an event on the outcome topic.
        package enum Outcomes: String, CaseIterable, Sendable { case all, failures, off }

        /// Which APNs a token belongs to when nobody said.
        package enum Environment: String, CaseIterable, Sendable { case production, sandbox }

        /// Whether pushes go out.
        package enum Delivery: String, CaseIterable, Sendable {
            /// To the providers that the app has credentials for; to the log when it has none.
            case real
            /// Each push is printed instead of sent.
            case log
        }

        /// What authenticates the app to one APNs environment: a key or a certificate.
        package struct APNsCredential: Equatable, Sendable {
            package var keyFile: String?
            package var keyID = ""
            package var teamID = ""
            package var certificateFile: String?
            package var certificateKeyFile: String?
        }

        /// What authenticates the app to FCM.
        package struct FCMCredential: Equatable, Sendable {
            package var serviceAccountFile: String
            /// nil for the one in the service account.
            package var projectID: String?
        }

        /// What authenticates the app to Web Push services (VAPID).
        package struct WebPushCredential: Equatable, Sendable {
            package var keyFile: String
            /// A mailto: or https: address of the sender.
            package var subject: String
        }

        package let name: String
        /// Shown where a notification has none.
        package var title: String
        /// How fields appear to the client.
        package var profile = PayloadProfile.plain
        package var delivery = Delivery.real
        /// The APNs topic: the bundle id.
        package var topic = ""
        package var environment = Environment.production
        package var apnsProduction: APNsCredential?
        /// nil when there is no credential for the sandbox.
        package var apnsSandbox: APNsCredential?
        package var fcm: FCMCredential?
        package var webPush: WebPushCredential?
        package var credentialSource = CredentialSource.auto
        /// nil when the app's users show no tokens.
        package var users: Users?
        /// What happens to a payload that is too large.
        package var oversize = OversizePolicy.reject
        package var outcomes = Outcomes.all
        /// What a text notification without `unread` adds to the recipient's counter.
        package var unreadDefault = 0
        /// Whether the counter is also kept by thread, so that one thread can be read.
        package var unreadByThread = false
        /// Whether the counter goes out as a badge.
        package var badge = true
        /// Whether the `concierge` profile shows the job's title, which is the team member's name.
        package var showTeamNames = true
        /// The sound of alerts that name none; nil for silence.
        package var defaultSound: String?
        /// What an encrypted push shows until the client has decrypted it; nil for no alert.
        package var encryptedTitle: String?
        /// The Android notification channel; nil leaves it to the client.
        package var androidChannel: String?
        /// By class, sorted.
        package var caps: [Cap] = []
        /// How long a second job of one id is dropped, in ms; 0 for never.
        package var dedupIDsMs: Int64 = 0
        /// Jobs with an id in such a time; it sizes what Redis keeps of them.
        package var dedupIDsExpected: Int64 = 1_000_000
        /// Notifications in a thousand seconds to APNs; nil for no bound.
        package var apnsQuota: Int64?
        /// Notifications in a thousand seconds to FCM; nil for the project's.
        package var fcmQuota: Int64?
        /// Which client's contract the gateway serves.
        package var contract = Contract.none
        /// Contract `wallet_alerts`: one `name:SHA-256 of the client key` a line.
        package var clientKeysFile: String?
        /// Contract `wallet_alerts`: the apps that send through this one, beside itself.
        package var senderIDs: [String] = []
        /// Contract `creator`: the hosts that links may lead to, in lower case.
        package var linkHosts: [String] = []
        /// Contract `wallet_requests`: the relay's public key in hexadecimal; nil for none.
        package var relayKey: String?

        package init(name: String) {
            self.name = name
            title = name
        }

        /// What the renderer needs to know about the app.
        package var renderSettings: RenderSettings {
            RenderSettings(
                profile: profile, appName: title, bundleID: topic, oversize: oversize,
                showTeamNames: showTeamNames, defaultSound: defaultSound, encryptedTitle: encryptedTitle,
                androidChannel: androidChannel)
        }

        /// Whether pushes are printed instead of sent, as far as the configuration alone says: an app without
        /// credential files may get one by upload (``Settings/takesUploads(_:)``).
        package var isLogOnly: Bool {
            delivery == .log || (credentialSource == .auto && !hasCredentialFiles)
        }

        /// Reads an app; nil when its name can't be one.
        init?(name: String, _ section: SectionReader) {
            let isName =
                !name.isEmpty && name.utf8.count <= 64
                && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
            guard isName else {
                // The name becomes part of Kafka keys and Redis hash tags, where '/', '{' and ':' have a
                // meaning.
                section.context.report(
                    .badValue, at: section.place,
                    "'\(name)' can't be an app's name; use at most 64 letters, digits, '.', '_' and '-'"
                )
                return nil
            }
            self.init(name: name)
            title = section.text("title", name)
            profile = section.choice("profile", profile)
            delivery = section.choice("provider", delivery)
            oversize = section.choice("oversize", oversize)
            outcomes = section.choice("outcomes", outcomes)
            showTeamNames = section.flag("show_team_names", showTeamNames)
            defaultSound = section.optionalText("default_sound")
            encryptedTitle = section.optionalText("encrypted_title")
            androidChannel = section.optionalText("android_channel")
            let unread = section.section("unread")
            unreadDefault = unread.integer("default", unreadDefault, in: 0...1000)
            unreadByThread = unread.flag("by_thread", profile == .concierge)
            badge = unread.flag("badge", badge)
            unread.finish()
            readAPNs(section.section("apns"))
            readFCM(section.section("fcm"))
            readWebPush(section.section("web_push"))
            credentialSource = section.choice("credentials", credentialSource)
            checkSource(section)
            users = Users(section.section("users"))
            readLimits(section)
            readContract(section)
            section.finish()
        }

        private mutating func readAPNs(_ section: SectionReader) {
            topic = section.text("topic", "")
            environment = section.choice("environment", environment)
            let credential = Self.credential(section, inherited: nil)
            let sandbox = section.section("sandbox")
            // A team key of the old kind serves both environments; a certificate or a new key serves one.
            let sandboxCredential = Self.credential(sandbox, inherited: credential)
            sandbox.finish()
            let isShared = section.flag("both_environments", false)
            if sandbox.isPresent {
                apnsSandbox = sandboxCredential
                apnsProduction = credential
            } else if isShared {
                apnsProduction = credential
                apnsSandbox = credential
            } else if environment == .sandbox {
                apnsSandbox = credential
            } else {
                apnsProduction = credential
            }
            if credential != nil || sandboxCredential != nil, topic.isEmpty {
                section.context.report(
                    .missing, at: section.place,
                    "\(section.name("topic")) is missing; write the app's bundle id")
            }
            section.finish()
        }

        private static func credential(_ section: SectionReader, inherited: APNsCredential?)
            -> APNsCredential?
        {
            var credential = APNsCredential()
            credential.keyFile = section.file("key_file")
            credential.keyID = section.text("key_id", inherited?.keyID ?? "")
            credential.teamID = section.text("team_id", inherited?.teamID ?? "")
            credential.certificateFile = section.file("certificate_file")
            credential.certificateKeyFile = section.file("certificate_key_file")
            func missing(_ key: String, _ what: String) {
                section.context.report(
                    .missing, at: section.place, "\(section.name(key)) is missing; write \(what)")
            }
            if credential.keyFile != nil {
                if credential.certificateFile != nil {
                    section.context.report(
                        .conflict, at: section.place,
                        "\(section.name("key_file")) and certificate_file exclude each other; keep one")
                }
                if credential.keyID.isEmpty { missing("key_id", "the key's 10 characters") }
                if credential.teamID.isEmpty { missing("team_id", "the team's 10 characters") }
                return credential
            }
            if credential.certificateFile != nil {
                if credential.certificateKeyFile == nil {
                    missing("certificate_key_file", "the path of the certificate's private key (PEM)")
                }
                return credential
            }
            if section.has("key_id") || section.has("certificate_key_file") {
                missing("key_file", "the path of the .p8 key, or certificate_file")
            }
            return nil
        }

        private mutating func readFCM(_ section: SectionReader) {
            let project = section.optionalText("project_id")
            if let file = section.file("service_account_file") {
                fcm = FCMCredential(serviceAccountFile: file, projectID: project)
            } else if project != nil {
                section.context.report(
                    .missing, at: section.place,
                    "\(section.name("service_account_file")) is missing; write the path of the JSON key file")
            }
            section.finish()
        }

        private mutating func readWebPush(_ section: SectionReader) {
            let subject = section.optionalText("subject")
            if let file = section.file("key_file") {
                let isAddress = subject.map { $0.hasPrefix("mailto:") || $0.hasPrefix("https:") } ?? false
                if !isAddress {
                    section.context.report(
                        .missing, at: section.place,
                        "\(section.name("subject")) must be a mailto: or https: address of the sender")
                }
                webPush = WebPushCredential(keyFile: file, subject: subject ?? "")
            } else if subject != nil {
                section.context.report(
                    .missing, at: section.place,
                    "\(section.name("key_file")) is missing; write the path of the VAPID key (PEM)")
            }
            section.finish()
        }
    }
}
