import Core
import EventLoop
import Security

/// The keys, certificate and service account that a simulator makes for itself and its clients.
package struct ThrowAwayCredentials: Sendable {
    /// The authority that clients must trust.
    package let caPEM: String
    /// Apple's .p8 file.
    package let apnsKeyPEM: String
    package let keyID: String
    package let teamID: String
    /// Google's service-account file.
    package internal(set) var serviceAccountJSON = ""
    package let projectID: String
    package let serviceAccountEmail: String
    package let privateKeyID: String
    let certificatePEM: String
    let certificateKeyPEM: String
    let serviceAccountKeyPEM: String
    let apnsKey: ES256PrivateKey
    let serviceAccountKey: RS256PrivateKey

    /// Makes new ones.
    static func make(_ settings: SimulatorSettings) throws(SecurityFailure) -> ThrowAwayCredentials {
        var hosts = ["localhost", "127.0.0.1", "::1"]
        for host in [settings.host] + settings.certificateHosts
        where !hosts.contains(host) && host != "0.0.0.0" {
            hosts.append(host)
        }
        let identity = try ThrowAwayIdentity.make(hosts: hosts)
        let apnsKey = try ES256PrivateKey.generate()
        let accountKey = try RS256PrivateKey.generate()
        return try ThrowAwayCredentials(
            settings: settings, caPEM: identity.caPEM, certificatePEM: identity.certificatePEM,
            certificateKeyPEM: identity.keyPEM, apnsKey: apnsKey, accountKey: accountKey,
            privateKeyID: Hex.encode(RandomSource.bytes(20)))
    }

    private init(
        settings: SimulatorSettings, caPEM: String, certificatePEM: String, certificateKeyPEM: String,
        apnsKey: ES256PrivateKey, accountKey: RS256PrivateKey, privateKeyID: String
    ) throws(SecurityFailure) {
        self.caPEM = caPEM
        self.certificatePEM = certificatePEM
        self.certificateKeyPEM = certificateKeyPEM
        self.apnsKey = apnsKey
        apnsKeyPEM = try apnsKey.pem()
        keyID = settings.keyID
        teamID = settings.teamID
        projectID = settings.projectID
        serviceAccountEmail = "simulator@\(settings.projectID).iam.gserviceaccount.com"
        self.privateKeyID = privateKeyID
        serviceAccountKey = accountKey
        serviceAccountKeyPEM = try accountKey.pem()
    }

    /// Fills in the service-account file once the token endpoint's address is known.
    mutating func setTokenURI(_ uri: String) {
        let rows: [(String, String)] = [
            ("type", "service_account"), ("project_id", projectID), ("private_key_id", privateKeyID),
            ("private_key", serviceAccountKeyPEM), ("client_email", serviceAccountEmail),
            ("client_id", "100000000000000000001"), ("token_uri", uri),
        ]
        var buffer = ByteBuffer()
        for (index, row) in rows.enumerated() {
            buffer.append(index == 0 ? "{\n  " : ",\n  ")
            buffer.append(jsonString: row.0)
            buffer.append(": ")
            buffer.append(jsonString: row.1)
        }
        buffer.append("\n}\n")
        serviceAccountJSON = buffer.text
    }

    /// The names of the files that ``write(to:)`` makes; the last two are the simulator's own.
    package static let fileNames = (
        ca: "ca.pem", key: "apns-key.p8", account: "service-account.json", certificate: "server.pem",
        certificateKey: "server-key.pem"
    )

    /// Writes the files, the secret ones readable by the owner only.
    func write(to directory: String) throws(SystemFailure) {
        let names = Self.fileNames
        try Files.write(path: "\(directory)/\(names.ca)", text: caPEM, mode: 0o644)
        try Files.write(path: "\(directory)/\(names.key)", text: apnsKeyPEM, mode: 0o600)
        try Files.write(path: "\(directory)/\(names.account)", text: serviceAccountJSON, mode: 0o600)
        try Files.write(path: "\(directory)/\(names.certificate)", text: certificatePEM, mode: 0o644)
        try Files.write(path: "\(directory)/\(names.certificateKey)", text: certificateKeyPEM, mode: 0o600)
    }

    /// Reads what an earlier simulator wrote, so that its clients need not be told anew; nil when there is
    /// nothing or when the certificate is about to expire.
    static func load(from directory: String, _ settings: SimulatorSettings) -> ThrowAwayCredentials? {
        let names = Self.fileNames
        func text(_ name: String) -> String? { try? Files.readText(path: "\(directory)/\(name)") }
        guard FileAge.seconds(path: "\(directory)/\(names.certificate)") < 9 * 86_400,
            let ca = text(names.ca), let key = text(names.key), let account = text(names.account),
            let certificate = text(names.certificate), let certificateKey = text(names.certificateKey),
            let parsed = try? JSONValue.parse(text: account),
            parsed["project_id"]?.string == settings.projectID,
            let accountPEM = parsed["private_key"]?.string, let keyID = parsed["private_key_id"]?.string,
            let apnsKey = try? ES256PrivateKey(pem: key),
            let accountKey = try? RS256PrivateKey(pem: accountPEM)
        else { return nil }
        return try? ThrowAwayCredentials(
            settings: settings, caPEM: ca, certificatePEM: certificate, certificateKeyPEM: certificateKey,
            apnsKey: apnsKey, accountKey: accountKey, privateKeyID: keyID)
    }
}
