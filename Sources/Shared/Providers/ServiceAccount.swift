internal import Core
internal import EventLoop
package import Security

/// Why a credential file can't be used. The sentence names the file and what to fix, never its content.
package struct CredentialFailure: Error, Equatable, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// A Google service account, as in the JSON key file that the Firebase console hands out.
package struct ServiceAccount: Sendable {
    package let email: String
    package let keyID: String
    package let projectID: String
    /// Where the assertion is traded for an access token.
    package let tokenURI: String
    package let key: RS256PrivateKey

    /// Reads the JSON of a key file; `source` names it in errors.
    package init(json: String, source: String) throws(CredentialFailure) {
        let document: JSONValue
        do throws(JSONValue.Failure) {
            document = try JSONValue.parse(text: json)
        } catch {
            throw CredentialFailure("\(source) is not a service-account file: \(error)")
        }
        func field(_ name: String) throws(CredentialFailure) -> String {
            guard let value = document[name]?.string, !value.isEmpty else {
                throw CredentialFailure(
                    "\(source) has no \"\(name)\"; download the service account's JSON key again")
            }
            return value
        }
        email = try field("client_email")
        projectID = try field("project_id")
        keyID = document["private_key_id"]?.string ?? ""
        tokenURI = document["token_uri"]?.string ?? "https://oauth2.googleapis.com/token"
        let pem = try field("private_key")
        do throws(SecurityFailure) {
            key = try RS256PrivateKey(pem: pem)
        } catch {
            throw CredentialFailure("the private_key in \(source) can't be read: \(error)")
        }
    }

    /// Reads a key file.
    package init(path: String) throws(CredentialFailure) {
        let text: String
        do throws(SystemFailure) {
            text = try Files.readText(path: path, maxBytes: 1 << 20)
        } catch {
            throw CredentialFailure("\(error)")
        }
        try self.init(json: text, source: path)
    }
}

/// An APNs authentication key (.p8) with the ids that go with it.
package struct APNsKey: Sendable {
    package let keyID: String
    package let teamID: String
    package let key: ES256PrivateKey

    /// Reads a .p8 file.
    package init(path: String, keyID: String, teamID: String) throws(CredentialFailure) {
        let text: String
        do throws(SystemFailure) {
            text = try Files.readText(path: path, maxBytes: 1 << 20)
        } catch {
            throw CredentialFailure("\(error)")
        }
        try self.init(pem: text, source: path, keyID: keyID, teamID: teamID)
    }

    /// Reads the text of a .p8 file; `source` names it in errors.
    package init(pem: String, source: String, keyID: String, teamID: String) throws(CredentialFailure) {
        do throws(SecurityFailure) {
            key = try ES256PrivateKey(pem: pem)
        } catch {
            throw CredentialFailure("\(source) can't be used as an APNs key: \(error)")
        }
        self.keyID = keyID
        self.teamID = teamID
    }
}
