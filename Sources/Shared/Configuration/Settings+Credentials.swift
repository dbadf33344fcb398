extension Settings {
    /// The secrets that the admin API takes and workers read: how they are sealed in Redis.
    package struct Credentials: Equatable, Sendable {
        /// The key that they are sealed with; nil when none are taken.
        package var masterKeyFile: String?
        /// Keys that still open what they sealed.
        package var formerKeyFiles: [String] = []

        package init() {}

        init(_ section: SectionReader) {
            masterKeyFile = section.file("master_key_file")
            formerKeyFiles = section.files("former_key_files")
            if masterKeyFile == nil, !formerKeyFiles.isEmpty {
                section.context.report(
                    .missing, at: section.place,
                    "\(section.name("master_key_file")) is missing; former keys only open, they don't seal")
            }
            section.finish()
        }
    }

    /// Whether the app sends with what was uploaded for it: it has no credential files of its own.
    package func takesUploads(_ app: App) -> Bool {
        credentials.masterKeyFile != nil && app.delivery == .real && !app.hasCredentialFiles
    }
}

extension Settings.App {
    /// Where the app's credentials come from.
    package enum CredentialSource: String, CaseIterable, Sendable {
        /// The files of the configuration, else what was uploaded; with neither, pushes are printed.
        case auto
        /// What was uploaded; without it, pushes wait.
        case uploaded
    }

    /// Whether the configuration names a file with a credential for a provider.
    package var hasCredentialFiles: Bool {
        apnsProduction != nil || apnsSandbox != nil || fcm != nil || webPush != nil
    }

    /// Checks what depends on more than one section of the app.
    func checkSource(_ section: SectionReader) {
        guard credentialSource == .uploaded, hasCredentialFiles else { return }
        section.context.report(
            .conflict, at: section.place,
            "\(section.name("credentials")) is 'uploaded', but credential files are named as well; "
                + "keep one of them")
    }
}
