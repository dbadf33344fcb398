extension Settings.App {
    /// How the app's users prove who they are to the gateway.
    package struct Users: Equatable, Sendable {
        /// A JWK set with public keys.
        package var jwksFile: String?
        /// The secret of HS256.
        package var secretFile: String?
        /// One public key in PEM.
        package var publicKeyFile: String?
        /// Tokens must be meant for one of these.
        package var audiences: [String] = []
        /// Who must have made them; nil for anyone who has a key.
        package var issuer: String?
        /// The claim that names the recipient.
        package var subjectClaim = "sub"
        /// Whether a client may name itself by its own key, `did:key:z6Mk...`.
        package var acceptsDIDKeys = false

        package init() {}

        /// The files that it names.
        package var files: [String] { [jwksFile, secretFile, publicKeyFile].compactMap { $0 } }

        /// Reads the section; nil when there is none.
        init?(_ section: SectionReader) {
            jwksFile = section.file("jwks_file")
            secretFile = section.file("secret_file")
            publicKeyFile = section.file("public_key_file")
            audiences = section.texts("audience", [])
            issuer = section.optionalText("issuer")
            subjectClaim = section.text("subject_claim", subjectClaim)
            acceptsDIDKeys = section.flag("did_key", acceptsDIDKeys)
            section.finish()
            guard section.isPresent else { return nil }
            if files.count > 1 {
                section.context.report(
                    .conflict, at: section.place,
                    "\(section.name("jwks_file")), secret_file and public_key_file exclude each other; "
                        + "keep one")
            }
            if files.isEmpty, !acceptsDIDKeys {
                section.context.report(
                    .missing, at: section.place,
                    "\(section.name("jwks_file")) is missing; write the path of a JWK set, or secret_file, "
                        + "public_key_file or did_key: true")
            }
            if audiences.isEmpty {
                // Without it, a token made for another service of the same issuer would be good here.
                section.context.report(
                    .missing, at: section.place,
                    "\(section.name("audience")) is missing; write what the tokens' aud must be")
            }
            if subjectClaim.isEmpty {
                section.context.report(
                    .badValue, at: section.place, "\(section.name("subject_claim")) is empty; name a claim")
            }
        }
    }
}
