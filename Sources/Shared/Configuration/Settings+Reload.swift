/// What of a configuration may change while a worker runs.
extension Settings {
    /// These settings with the providers' credentials of `fresh` for the apps that are in both.
    package func adoptingCredentials(of fresh: Settings) -> Settings {
        var merged = self
        for index in merged.apps.indices {
            guard let app = fresh.app(merged.apps[index].name) else { continue }
            merged.apps[index].apnsProduction = app.apnsProduction
            merged.apps[index].apnsSandbox = app.apnsSandbox
            merged.apps[index].fcm = app.fcm
        }
        // Another master key takes effect at once; having one at all decides how apps are set up.
        if credentials.masterKeyFile != nil, fresh.credentials.masterKeyFile != nil {
            merged.credentials = fresh.credentials
        }
        merged.log.level = fresh.log.level
        merged.log.levels = fresh.log.levels
        merged.files = fresh.files
        return merged
    }

    /// What differs in `fresh` and takes effect only at the next start, by name.
    package func needsRestart(for fresh: Settings) -> [String] {
        var names: [String] = []
        func note(_ name: String, _ differs: Bool) { if differs { names.append(name) } }
        note("kafka", kafka != fresh.kafka)
        note("redis", redis != fresh.redis)
        note("topics", topics != fresh.topics)
        note("worker", worker != fresh.worker)
        note("retry", retry != fresh.retry)
        note("http", http != fresh.http)
        note("gateway", gateway != fresh.gateway)
        note("providers", providers != fresh.providers)
        note("otlp", otlp != fresh.otlp)
        note("log.format", log.format != fresh.log.format)
        note(
            "credentials", (credentials.masterKeyFile == nil) != (fresh.credentials.masterKeyFile == nil))
        let merged = adoptingCredentials(of: fresh)
        for app in merged.apps {
            guard let other = fresh.app(app.name) else {
                names.append("apps.\(app.name) (gone)")
                continue
            }
            note("apps.\(app.name)", app != other)
        }
        for app in fresh.apps where self.app(app.name) == nil { names.append("apps.\(app.name) (new)") }
        return names
    }
}
