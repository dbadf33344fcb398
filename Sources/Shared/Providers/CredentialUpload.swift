internal import Core
package import Registry
internal import Security

/// Why an uploaded credential is refused. It never repeats a part of a secret.
package struct UploadRefusal: Error, Equatable {
    /// The member of the body that is wrong; empty for the whole.
    package let field: String
    /// A sentence that says what to fix.
    package let sentence: String
}

/// Reads the body of an upload and checks that the credential can be used: a decision without I/O.
package enum CredentialUpload {
    /// The largest body, in bytes; a chain of certificates is the longest that comes.
    package static let bytesMax = 64 << 10

    /// Reads a JSON body. `topic` is the configured one, empty for none.
    /// - Throws: what to fix.
    package static func read(
        _ body: [UInt8], slot: StoredCredential.Slot, topic: String, nowMs: Int64
    ) throws(UploadRefusal) -> StoredCredential {
        guard body.count <= bytesMax else {
            throw UploadRefusal(field: "", sentence: "The body is larger than \(bytesMax) bytes.")
        }
        guard let text = String(validating: body, as: UTF8.self) else {
            throw UploadRefusal(field: "", sentence: "The body is no UTF-8.")
        }
        let document: JSONValue
        do throws(JSONValue.Failure) {
            document = try JSONValue.parse(text: text)
        } catch {
            // Only where, never what: a syntax error may stand in the middle of a key.
            throw UploadRefusal(field: "", sentence: "The body is no JSON: \(error).")
        }
        guard let members = document.members else {
            throw UploadRefusal(field: "", sentence: "The body must be a JSON object.")
        }
        guard Set(members.map(\.name)).count == members.count else {
            throw UploadRefusal(field: "", sentence: "A name stands twice in the body.")
        }
        switch slot {
        case .fcm: return try serviceAccount(document)
        case .apns, .apnsSandbox: return try apns(document, slot, topic, nowMs)
        }
    }

    // MARK: APNs

    private static func apns(
        _ document: JSONValue, _ slot: StoredCredential.Slot, _ configured: String, _ nowMs: Int64
    ) throws(UploadRefusal) -> StoredCredential {
        try allow(
            ["key", "key_id", "team_id", "certificate", "private_key", "topic", "environment"], document)
        let isCertificate = document["certificate"] != nil || document["private_key"] != nil
        if isCertificate, document["key"] != nil {
            throw UploadRefusal(
                field: "key", sentence: "Send either a key (.p8) or a certificate and its private_key.")
        }
        var credential =
            isCertificate ? try certificate(document, slot, nowMs) : try key(document, slot)
        credential.environment = try environment(document, slot)
        credential.topic = try text("topic", document, isRequired: configured.isEmpty) ?? ""
        guard credential.topic.utf8.count <= 128, credential.topic.utf8.allSatisfy(isTopicCharacter) else {
            throw UploadRefusal(
                field: "topic", sentence: "topic must be the app's bundle id: letters, digits, '.' and '-'.")
        }
        return credential
    }

    private static func key(
        _ document: JSONValue, _ slot: StoredCredential.Slot
    ) throws(UploadRefusal) -> StoredCredential {
        let pem = try text("key", document, isRequired: true) ?? ""
        do throws(SecurityFailure) {
            _ = try ES256PrivateKey(pem: pem)
        } catch {
            throw UploadRefusal(
                field: "key",
                sentence: "key is no APNs key: it must be the text of a .p8 file, an EC key on P-256 in PEM.")
        }
        var credential = StoredCredential(
            slot: slot, form: .key, secret: pem, fingerprint: fingerprint(pem))
        credential.keyID = try identifier("key_id", document)
        credential.teamID = try identifier("team_id", document)
        return credential
    }

    private static func certificate(
        _ document: JSONValue, _ slot: StoredCredential.Slot, _ nowMs: Int64
    ) throws(UploadRefusal) -> StoredCredential {
        let chain = try text("certificate", document, isRequired: true) ?? ""
        let pem = try text("private_key", document, isRequired: true) ?? ""
        for name in ["key_id", "team_id"] where document[name] != nil {
            throw UploadRefusal(
                field: name, sentence: "\(name) goes with a key (.p8), not with a certificate.")
        }
        // A key among the certificates would be shown to nobody, but it has no business there.
        guard !chain.contains("PRIVATE KEY-----") else {
            throw UploadRefusal(
                field: "certificate", sentence: "certificate holds a private key; send it as private_key.")
        }
        let validity: ClosedRange<Int64>
        do throws(SecurityFailure) {
            validity = try ClientIdentity(certificatePEM: chain, keyPEM: pem).check()
        } catch {
            let isCertificate = error.code == .badCertificate
            throw UploadRefusal(
                field: isCertificate ? "certificate" : "private_key",
                sentence: isCertificate
                    ? "certificate can't be read: it must be PEM, the app's own certificate first."
                    : "private_key is not the certificate's key in PEM (without a passphrase).")
        }
        guard nowMs < validity.upperBound * 1000 else {
            throw UploadRefusal(
                field: "certificate", sentence: "The certificate has expired; renew it first.")
        }
        var credential = StoredCredential(
            slot: slot, form: .certificate, secret: pem, fingerprint: fingerprint(chain + pem))
        credential.certificate = chain
        credential.expiryMs = validity.upperBound * 1000
        return credential
    }

    private static func environment(
        _ document: JSONValue, _ slot: StoredCredential.Slot
    ) throws(UploadRefusal) -> StoredCredential.Environment {
        let word = try text("environment", document, isRequired: false)
        if slot == .apnsSandbox {
            guard word == nil || word == "sandbox" else {
                throw UploadRefusal(
                    field: "environment",
                    sentence:
                        "A credential of the kind apns-sandbox is for the sandbox; leave environment out.")
            }
            return .sandbox
        }
        guard let word else { return .production }
        guard let environment = StoredCredential.Environment(rawValue: word) else {
            throw UploadRefusal(
                field: "environment", sentence: "environment must be production, sandbox or both.")
        }
        return environment
    }

    // MARK: FCM

    /// Either the account's file itself, or `{"service_account": <file or its text>, "project_id": ...}`.
    private static func serviceAccount(_ document: JSONValue) throws(UploadRefusal) -> StoredCredential {
        var account = document
        var project: String?
        if let inner = document["service_account"] {
            try allow(["service_account", "project_id"], document)
            project = try text("project_id", document, isRequired: false)
            account = inner
            if let text = inner.string {
                guard let parsed = try? JSONValue.parse(text: text) else {
                    throw UploadRefusal(
                        field: "service_account", sentence: "service_account is a text that is no JSON.")
                }
                account = parsed
            }
        }
        let json = account.text
        let parsed: ServiceAccount
        do throws(CredentialFailure) {
            parsed = try ServiceAccount(json: json, source: "The service account")
        } catch {
            throw UploadRefusal(
                field: "service_account",
                sentence: "This is no service account: it needs client_email, project_id and an RSA "
                    + "private_key. Send the JSON key file of the Firebase console.")
        }
        // Google's have 2,048. A longer one would take the time of everybody's tokens.
        guard (2048...4096).contains(parsed.key.bits) else {
            throw UploadRefusal(
                field: "service_account", sentence: "The private_key must have 2,048 to 4,096 bits.")
        }
        let name = project ?? parsed.projectID
        guard !name.isEmpty, name.utf8.count <= 128, name.utf8.allSatisfy(\.isProjectCharacter) else {
            throw UploadRefusal(
                field: "project_id", sentence: "project_id has characters that no project id has.")
        }
        guard parsed.email.utf8.count <= 256, parsed.email.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw UploadRefusal(field: "service_account", sentence: "client_email is no e-mail address.")
        }
        var credential = StoredCredential(
            slot: .fcm, form: .serviceAccount, secret: json, fingerprint: fingerprint(json))
        credential.project = name
        credential.keyID = String(parsed.keyID.filter { $0.isASCII && $0.isHexDigit }.prefix(64))
        return credential
    }

    // MARK: Members

    private static func allow(_ names: [String], _ document: JSONValue) throws(UploadRefusal) {
        for member in document.members ?? [] where !names.contains(member.name) {
            throw UploadRefusal(
                field: String(member.name.prefix(64)),
                sentence: "This member is not known here; known are \(names.joined(separator: ", ")).")
        }
    }

    private static func text(
        _ name: String, _ document: JSONValue, isRequired: Bool
    ) throws(UploadRefusal) -> String? {
        guard let value = document[name] else {
            guard isRequired else { return nil }
            throw UploadRefusal(field: name, sentence: "\(name) is missing.")
        }
        guard let text = value.string, !text.isEmpty else {
            throw UploadRefusal(field: name, sentence: "\(name) must be a text that isn't empty.")
        }
        return text
    }

    /// Apple's ids: ten letters and digits.
    private static func identifier(_ name: String, _ document: JSONValue) throws(UploadRefusal) -> String {
        let text = try text(name, document, isRequired: true) ?? ""
        guard text.utf8.count == 10, text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            throw UploadRefusal(field: name, sentence: "\(name) must be Apple's ten letters and digits.")
        }
        return text
    }

    private static func isTopicCharacter(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// 64 bits: enough to tell keys apart, and nothing about them.
    private static func fingerprint(_ secret: String) -> String {
        Hex.encode(SHA256.hash(text: secret).prefix(8))
    }
}
