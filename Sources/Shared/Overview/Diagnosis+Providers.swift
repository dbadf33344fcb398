internal import Decisions

/// What circuits and the reasons of the last minutes say about providers, credentials, tokens and jobs.
struct ProviderRules {
    private let overview: Overview
    private let limits: Diagnosis.Limits
    /// The last minutes together.
    private let recent: Overview.Counts
    /// Deliveries that ended or were retried in them.
    private let attempts: Int64

    init(_ overview: Overview, _ limits: Diagnosis.Limits) {
        self.overview = overview
        self.limits = limits
        recent = overview.sum(lastMinutes: limits.recentMinutes)
        attempts = recent.deliveries.adding(recent[.retried])
    }

    var findings: [Finding] {
        let circuits = openCircuits
        let open = Set(
            circuits.map(\.subject.name).compactMap { $0.split(separator: "/").first.map(String.init) })
        return circuits + failing(besides: open) + refused + quotas + tokens + stuck + poison
    }

    /// The reasons of the last minutes that belong to a cause, by provider (empty where the reason does not
    /// say which one).
    private func reasons(_ cause: Finding.Cause) -> [String: [(reason: Reason, count: Int64)]] {
        var found: [String: [(reason: Reason, count: Int64)]] = [:]
        for (label, count) in recent.reasons where count > 0 {
            guard let reason = Reason(label: label), reason.cause == cause else { continue }
            found[reason.providerName, default: []].append((reason, count))
        }
        return found.mapValues { list in
            list.sorted { ($1.count, $0.reason.rawValue) < ($0.count, $1.reason.rawValue) }
        }
    }

    private static func sum(_ list: [(reason: Reason, count: Int64)]) -> Int64 {
        list.reduce(Int64(0)) { $0.adding($1.count) }
    }

    private static func names(_ list: [(reason: Reason, count: Int64)]) -> String {
        Words.list(list.map { "\($0.reason.label)" })
    }

    /// Since when one of the reasons has been there in every minute, in ms since 1970.
    private func since(_ list: [(reason: Reason, count: Int64)]) -> Int64? {
        let labels = list.map { $0.reason.label.description }
        var start: Int64?
        for minute in overview.minutes.reversed() {
            let isThere = labels.contains { (minute.counts.reasons[$0] ?? 0) > 0 }
            if isThere {
                start = minute.startMs
            } else if start != nil {
                break
            }
        }
        return start
    }

    /// The apps whose deliveries are retried most, for a sentence; empty when none are.
    private var affected: String {
        let apps = overview.apps.filter { app in
            let retried = app.recent[.retried]
            return retried >= 5 && Words.reaches(retried, share: 0.1, of: app.recent.deliveries)
        }.sorted { ($1.recent[.retried], $0.name) < ($0.recent[.retried], $1.name) }
        return apps.isEmpty ? "" : "; it holds up \(Words.list(apps.map(\.name)))"
    }

    // MARK: Providers

    private var openCircuits: [Finding] {
        let workers = overview.workers
        var seen: [String: [Overview.Pod]] = [:]
        for (pod, facts) in workers {
            for route in Set(facts.circuits) { seen[route, default: []].append(pod) }
        }
        return seen.sorted { $0.key < $1.key }.map { route, pods in
            let provider = String(route.split(separator: "/").first ?? "")
            var why = "it answers with errors, or not at all"
            for pod in pods {
                let mark = "the circuit of \(route) is open: "
                if let at = pod.ready.firstRange(of: mark) {
                    why = Words.clause(String(pod.ready[at.upperBound...]))
                    break
                }
            }
            let whose = pods.count == workers.count ? "" : " on \(pods.count) of \(workers.count) workers"
            let list = reasons(.providerUnavailable)[provider] ?? []
            return Finding(
                pods.count == workers.count ? .critical : .warning, .providerUnavailable, .route(route),
                "\(Self.title(provider)) is not available by \(route)\(whose): \(why)\(affected).",
                sinceMs: since(list), lever: "peal check --connect")
        }
    }

    /// Providers that fail in part, without a circuit that is open.
    private func failing(besides open: Set<String>) -> [Finding] {
        var found: [Finding] = []
        let all = reasons(.providerUnavailable)
        let isNamed = all.contains { !$0.key.isEmpty && Self.sum($0.value) >= limits.answersMin }
        for (provider, list) in all.sorted(by: { $0.key < $1.key }) {
            let count = Self.sum(list)
            // What does not name a provider comes from one of those that are named, most likely.
            if open.contains(provider) || provider.isEmpty && (isNamed || !open.isEmpty) { continue }
            guard count >= limits.answersMin, Words.reaches(count, share: 0.01, of: attempts) else {
                continue
            }
            let severity: Finding.Severity =
                Words.reaches(count, share: 0.5, of: attempts)
                ? .critical : Words.reaches(count, share: 0.05, of: attempts) ? .warning : .info
            let who = provider.isEmpty ? "A provider" : Self.title(provider)
            found.append(
                Finding(
                    severity, .providerUnavailable, provider.isEmpty ? .everything : .provider(provider),
                    "\(who) failed in \(Words.share(count, of: attempts)) of the last minutes' attempts "
                        + "(\(Self.names(list)))\(affected).", sinceMs: since(list),
                    lever: "peal check --connect"))
        }
        return found
    }

    static func title(_ provider: String) -> String {
        switch provider {
        case "apns": "APNs"
        case "fcm": "FCM"
        case "web_push": "Web Push"
        default: provider.isEmpty ? "A provider" : provider
        }
    }

    // MARK: Credentials and quotas

    private var refused: [Finding] {
        reasons(.credentialRefused).sorted { $0.key < $1.key }.map { provider, list in
            let apps = Words.list(
                overview.apps.filter { app in
                    app.recent[.accepted] == 0 && app.recent[.retried].adding(app.recent.deadLetters) > 0
                }.map(\.name))
            let whom = apps.isEmpty ? "" : "; nothing is accepted for \(apps)"
            let who = provider.isEmpty ? "A provider" : Self.title(provider)
            return Finding(
                apps.isEmpty ? .warning : .critical, .credentialRefused,
                provider.isEmpty ? .everything : .provider(provider),
                "\(who) refuses a credential (\(Self.names(list)), "
                    + "\(Words.count(Self.sum(list), "delivery").ies))\(whom).",
                sinceMs: since(list), lever: "peal check")
        }
    }

    private var quotas: [Finding] {
        reasons(.quotaRefused).sorted { $0.key < $1.key }.compactMap { provider, list in
            let count = Self.sum(list)
            let isOwn = provider.isEmpty
            let perDevice = list.allSatisfy {
                $0.reason == .apnsTooManyRequests || $0.reason == .fcmDeviceQuotaExceeded
            }
            guard count >= limits.answersMin || !isOwn && !perDevice else { return nil }
            let sentence: String
            if isOwn {
                sentence =
                    "\(Words.count(count, "delivery").ies) waited for the configured quota of their app."
            } else if perDevice {
                sentence =
                    "\(Self.title(provider)) throttles single devices (\(Self.names(list)), "
                    + "\(Words.count(count, "delivery").ies)): somebody sends them too much."
            } else {
                sentence =
                    "\(Self.title(provider)) refuses for its quota (\(Self.names(list)), "
                    + "\(Words.count(count, "delivery").ies)): the rate is above what it allows\(affected)."
            }
            return Finding(
                isOwn || perDevice ? .info : .warning, .quotaRefused,
                isOwn ? .everything : .provider(provider), sentence, sinceMs: since(list))
        }
    }

    // MARK: Apps

    private var tokens: [Finding] {
        var found: [Finding] = []
        if let spared = recent.reasons["\(Reason.breakerOpen.label)"], spared > 0 {
            found.append(
                Finding(
                    .critical, .tokenStorm, .everything,
                    "Peal has stopped removing tokens (\(Words.number(spared)) spared): so many are refused "
                        + "that the configuration must be wrong, a topic or an environment.",
                    sinceMs: since([(.breakerOpen, spared)]), lever: "peal check"))
        }
        for app in overview.apps {
            let bad = app.recent[.invalidToken]
            guard bad >= 50, Words.reaches(bad, share: 0.2, of: app.recent.deliveries) else { continue }
            found.append(
                Finding(
                    Words.reaches(bad, share: 0.5, of: app.recent.deliveries) ? .critical : .warning,
                    .tokenStorm, .app(app.name),
                    "\(Words.share(bad, of: app.recent.deliveries)) of the tokens of \(app.name) "
                        + "are invalid: look whether its topic, environment or project is the right one.",
                    lever: "peal check"))
        }
        return found
    }

    private var stuck: [Finding] {
        let shares = recent.reasons["\(Reason.appShare.label)"] ?? 0
        let apps = overview.apps.filter { app in
            app.recent[.accepted] == 0 && app.recent.deliveries == 0 && app.recent[.retried] >= 20
        }
        return apps.map { app in
            Finding(
                .warning, .appStuck, .app(app.name),
                "Nothing of \(app.name) gets through: \(Words.number(app.recent[.retried])) deliveries "
                    + "of the last minutes had to be retried and none has ended.",
                lever: Words.shell(app.name).map { "peal control pause --app \($0)" } ?? "")
        }
            + (apps.isEmpty && shares >= limits.answersMin
                ? [
                    Finding(
                        .warning, .appStuck, .everything,
                        "An app's provider is so slow that the app fills its share of a worker "
                            + "(\(Words.count(shares, "delivery").ies) put off)\(affected).",
                        sinceMs: since([(.appShare, shares)]))
                ] : [])
    }

    private var poison: [Finding] {
        let dead = recent.deadLetters
        guard dead > 0 else { return [] }
        let list = reasons(.poisonJobs).values.flatMap { $0 }.sorted { $1.count < $0.count }
        let why = list.isEmpty ? "" : " (\(Self.names(list)))"
        let apps = overview.apps.filter { $0.recent.deadLetters > 0 }
            .sorted { ($1.recent.deadLetters, $0.name) < ($0.recent.deadLetters, $1.name) }.map(\.name)
        let whose = apps.isEmpty ? "" : " of \(Words.list(apps))"
        let isMany = dead >= 50 || Words.reaches(dead, share: 0.05, of: recent.deliveries)
        var start: Int64?
        for minute in overview.minutes.reversed() {
            if minute.counts.deadLetters > 0 { start = minute.startMs } else if start != nil { break }
        }
        let only = apps.count == 1 ? apps.first.flatMap(Words.shell).map { " --app \($0)" } : nil
        return [
            Finding(
                isMany ? .warning : .info, .poisonJobs, apps.count == 1 ? .app(apps[0]) : .everything,
                "\(Words.count(dead, "delivery").ies)\(whose) ended as dead letters\(why).", sinceMs: start,
                lever: "peal dead list\(only ?? "")")
        ]
    }
}

extension Overview.Counts {
    /// Deliveries whose job went to the dead letters.
    package var deadLetters: Int64 { self[.dead].adding(self[.rejected]) }
}

extension String {
    /// `1 delivery`, but `2 deliveries`.
    fileprivate var ies: String { hasSuffix("deliverys") ? dropLast(2) + "ies" : self }
}

extension Reason {
    /// What is wrong when deliveries end or are retried for this reason; nil for what is in order.
    var cause: Finding.Cause? {
        switch self {
        case .apnsBadCertificate, .apnsBadCertificateEnvironment, .apnsExpiredProviderToken, .apnsForbidden,
            .apnsInvalidProviderToken, .apnsMissingProviderToken, .apnsUnrelatedKeyIDInToken,
            .apnsBadEnvironmentKeyIDInToken, .apnsTopicMismatch, .apnsTopicDisallowed, .apnsFeatureNotEnabled,
            .fcmUnauthenticated, .fcmThirdPartyAuth, .fcmPermissionDenied, .fcmNotFound, .oauthInvalidGrant,
            .oauthInvalidClient, .oauthRefused, .webPushUnauthorized, .goAwayCredential, .credentialPaused,
            .noCredential:
            .credentialRefused
        case .apnsInternalServerError, .apnsServiceUnavailable, .apnsShutdown, .apnsServerError, .fcmInternal,
            .fcmUnavailable, .fcmServerError, .oauthUnavailable, .webPushServerError, .transportConnect,
            .transportTimeout, .transportReset, .circuitOpen:
            .providerUnavailable
        case .fcmQuotaExceeded, .apnsTooManyProviderTokenUpdates, .webPushThrottled, .quotaWait,
            .apnsTooManyRequests, .fcmDeviceQuotaExceeded:
            .quotaRefused
        case .apnsBadDeviceToken, .apnsDeviceTokenNotForTopic, .apnsUnregistered, .apnsExpiredToken,
            .fcmInvalidToken, .fcmSenderIDMismatch, .fcmUnregistered, .webPushGone, .breakerOpen:
            .tokenStorm
        case .appShare: .appStuck
        case .accepted, .expired, .muted, .quietHours, .capped, .replaced, .duplicate, .superseded, .noDevice,
            .cancelled, .paused, .transportUnprocessed, .apnsIdleTimeout:
            nil
        default: .poisonJobs
        }
    }

    /// The provider that the reason's name begins with; empty for others.
    var providerName: String {
        let text = label.description
        if self == .goAwayCredential || text.hasPrefix("apns_") { return "apns" }
        if text.hasPrefix("fcm_") || text.hasPrefix("oauth_") { return "fcm" }
        return text.hasPrefix("web_push_") ? "web_push" : ""
    }
}
