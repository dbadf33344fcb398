/// How the fields of a job appear to the client app.
package enum PayloadProfile: String, Sendable, CaseIterable {
    /// Fields under their own names, data at the top level.
    case plain
    /// Support chat: data in a `concierge` dictionary.
    case concierge
    /// Wallet alerts: data at the top level with `appId` and `notificationId`.
    case dialect
    /// Deep links: `target_url`, `kind` and `dedup_key` at the top level.
    case creator
    /// End-to-end encrypted: `message`, `topic` and `tag`; what isn't encrypted looks as in ``plain``.
    case wallet
}

/// What happens to a payload that is larger than the provider takes.
package enum OversizePolicy: String, Sendable, CaseIterable {
    /// The delivery is refused.
    case reject
    /// The body is shortened at the end of a character; nothing else is touched.
    case truncate
}

/// How one app's payloads are rendered.
package struct RenderSettings: Sendable, Equatable {
    /// How fields appear to the client app.
    package var profile: PayloadProfile
    /// The app's name: the title of the `concierge` profile when team names aren't shown.
    package var appName: String
    /// The app's bundle id: the APNs topic, less the suffix of the push type.
    package var bundleID: String
    /// What happens to a payload that is too large.
    package var oversize: OversizePolicy
    /// Whether the `concierge` profile shows the job's title (the team member's name).
    package var showTeamNames: Bool
    /// The sound of alerts that don't name one; nil for silence. The `dialect` profile plays `default` by
    /// itself.
    package var defaultSound: String?
    /// The title shown until the client app has decrypted an encrypted push; nil sends no alert at all.
    package var encryptedTitle: String?
    /// The Android notification channel; nil leaves it to the client app.
    package var androidChannel: String?

    package init(
        profile: PayloadProfile = .plain, appName: String = "", bundleID: String = "",
        oversize: OversizePolicy = .reject, showTeamNames: Bool = true, defaultSound: String? = nil,
        encryptedTitle: String? = nil, androidChannel: String? = nil
    ) {
        self.profile = profile
        self.appName = appName
        self.bundleID = bundleID
        self.oversize = oversize
        self.showTeamNames = showTeamNames
        self.defaultSound = defaultSound
        self.encryptedTitle = encryptedTitle
        self.androidChannel = androidChannel
    }
}
