package import Core

/// A provider credential that was uploaded for an app, with its secret.
package struct StoredCredential: Equatable, Sendable, Secretive {
    /// What it is for; the `{kind}` of the admin API. An app has at most one of each.
    package enum Slot: String, Sendable, CaseIterable {
        case apns
        /// A credential of its own for APNs' sandbox.
        case apnsSandbox = "apns-sandbox"
        case fcm
    }

    /// What it consists of.
    package enum Form: String, Sendable, CaseIterable {
        /// An APNs authentication key (.p8).
        case key
        /// An APNs certificate and its key.
        case certificate
        /// A Google service account.
        case serviceAccount = "service_account"
    }

    /// Which of Apple's services it opens.
    package enum Environment: String, Sendable, CaseIterable {
        case production, sandbox, both
    }

    package var slot: Slot
    package var form: Form
    /// The .p8 key, the certificate's key, or the service account's JSON.
    package var secret: String
    /// The certificate chain in PEM; empty for other forms.
    package var certificate = ""
    /// Production for FCM.
    package var environment = Environment.production
    package var keyID = ""
    package var teamID = ""
    /// The bundle id; empty when the configuration has it.
    package var topic = ""
    /// The Firebase project.
    package var project = ""
    /// When a certificate expires, ms since 1970.
    package var expiryMs: Int64?
    /// The first bytes of the secret's SHA-256 in hexadecimal, which tell keys apart.
    package var fingerprint: String

    /// Makes one; the rest is set afterwards.
    package init(slot: Slot, form: Form, secret: String, fingerprint: String) {
        self.slot = slot
        self.form = form
        self.secret = secret
        self.fingerprint = fingerprint
    }

    /// What is sealed.
    var plain: [UInt8] {
        var members = publicMembers
        members.append(.init(name: "secret", value: .string(secret)))
        members.append(.init(name: "certificate", value: .string(certificate)))
        var buffer = ByteBuffer()
        JSONValue.object(members).append(to: &buffer)
        return buffer.array
    }

    /// Reads what ``plain`` made; nil when it is something else.
    init?(plain: [UInt8]) {
        guard let value = try? JSONValue.parse(text: String(decoding: plain, as: UTF8.self)),
            let secret = value["secret"]?.string, let certificate = value["certificate"]?.string
        else { return nil }
        self.init(publicMembers: value, secret: secret)
        self.certificate = certificate
    }

    private init?(publicMembers value: JSONValue, secret: String) {
        guard let slot = (value["kind"]?.string).flatMap({ Slot(rawValue: $0) }),
            let form = (value["form"]?.string).flatMap({ Form(rawValue: $0) }),
            let environment = (value["environment"]?.string).flatMap({ Environment(rawValue: $0) })
        else { return nil }
        self.init(slot: slot, form: form, secret: secret, fingerprint: value["sha256"]?.string ?? "")
        self.environment = environment
        keyID = value["key_id"]?.string ?? ""
        teamID = value["team_id"]?.string ?? ""
        topic = value["topic"]?.string ?? ""
        project = value["project"]?.string ?? ""
        expiryMs = value["expires_ms"]?.integer
    }

    /// What anybody may see of it.
    fileprivate var publicMembers: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init(name: "kind", value: .string(slot.rawValue)),
            .init(name: "form", value: .string(form.rawValue)),
            .init(name: "environment", value: .string(environment.rawValue)),
        ]
        for (name, text) in [
            ("key_id", keyID), ("team_id", teamID), ("topic", topic), ("project", project),
            ("sha256", fingerprint),
        ] where !text.isEmpty {
            members.append(.init(name: name, value: .string(text)))
        }
        if let expiryMs { members.append(.init(name: "expires_ms", value: .number(String(expiryMs)))) }
        return members
    }
}

/// What may be shown of an uploaded credential: everything but the secret.
package struct CredentialMetadata: Equatable, Sendable {
    package let slot: StoredCredential.Slot
    package let topic: String
    package let uploadedMs: Int64
    /// The name of the key that uploaded it.
    package let uploadedBy: String
    /// The name of the master key that it is sealed with.
    package let masterKeyID: String
    private let members: [JSONValue.Member]

    /// Notes who uploaded a credential.
    package init(
        _ credential: StoredCredential, uploadedMs: Int64, uploadedBy: String, masterKeyID: String
    ) {
        slot = credential.slot
        topic = credential.topic
        self.uploadedMs = uploadedMs
        self.uploadedBy = uploadedBy
        self.masterKeyID = masterKeyID
        members =
            credential.publicMembers + [
                .init(name: "uploaded_ms", value: .number(String(uploadedMs))),
                .init(name: "by", value: .string(uploadedBy)),
                .init(name: "master_key", value: .string(masterKeyID)),
            ]
    }

    /// Reads a stored value; nil when it is none.
    init?(stored: JSONValue) {
        guard let slot = (stored["kind"]?.string).flatMap({ StoredCredential.Slot(rawValue: $0) }),
            let all = stored.members, let uploaded = stored["uploaded_ms"]?.integer
        else { return nil }
        self.slot = slot
        topic = stored["topic"]?.string ?? ""
        uploadedMs = uploaded
        uploadedBy = stored["by"]?.string ?? ""
        masterKeyID = stored["master_key"]?.string ?? ""
        members = all.filter { $0.name != "sealed" }
    }

    /// The JSON object that the admin API shows.
    package var json: JSONValue { .object(members) }

    /// The stored value with what was sealed.
    func value(sealed: [UInt8]) -> String {
        JSONValue.object(members + [.init(name: "sealed", value: .string(Base64.encodeURL(sealed)))]).text
    }
}
