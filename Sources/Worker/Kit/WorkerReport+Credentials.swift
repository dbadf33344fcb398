internal import Core
internal import Decisions
internal import EventLoop
internal import HTTPServer
internal import Providers

/// The credentials' part of the report.
extension WorkerReport {
    /// Ready, with what an operator should know: one app's credential never takes the worker from the others.
    var readyWithCredentials: Health {
        var complaints = reloads.complaints(nowMs: Clock.wallMs)
        for entry in credentials.entries where !entry.fault.isEmpty {
            complaints.append("\(entry.name) has no usable token: \(entry.fault)")
        }
        if credentials.skew.isAlarming(wallMs: Clock.wallMs, steadyMs: Int64(nowMs)) {
            complaints.append("this machine's clock is far off the providers'")
        }
        return complaints.isEmpty ? .ok : .degraded(complaints.joined(separator: "; "))
    }

    /// Ages and lives of provider tokens, where they came from, and the clock.
    func appendCredentials(_ out: inout ByteBuffer) {
        let entries = credentials.entries
        family(&out, "peal_bearer_age_seconds", "gauge", "Age of the provider token in use.")
        for entry in entries {
            guard let minted = entry.mintedSteadyMs else { continue }
            seconds(&out, "peal_bearer_age_seconds", entry.name, Int64(nowMs) - minted)
        }
        family(
            &out, "peal_bearer_expiry_seconds", "gauge",
            "Seconds until the provider token in use expires; negative once it has.")
        for entry in entries {
            guard let expires = entry.expiresSteadyMs else { continue }
            seconds(&out, "peal_bearer_expiry_seconds", entry.name, expires - Int64(nowMs))
        }
        family(&out, "peal_bearer_shared", "gauge", "Whether the token in use is the one all pods share.")
        for entry in entries {
            sample(&out, "peal_bearer_shared", label(entry.name), entry.isShared ? 1 : 0)
        }
        family(&out, "peal_bearer_faulty", "gauge", "Whether the credential has no usable token.")
        for entry in entries {
            sample(&out, "peal_bearer_faulty", label(entry.name), entry.fault.isEmpty ? 0 : 1)
        }
        single(
            &out, "peal_bearers_minted_total", "counter", "Provider tokens signed or traded here.",
            credentials.minted)
        single(
            &out, "peal_bearers_adopted_total", "counter", "Provider tokens taken over from other pods.",
            credentials.adopted)
        single(
            &out, "peal_bearer_fallbacks_total", "counter",
            "Provider tokens made for this pod alone because Redis could not be used.",
            credentials.fallbacks)
        appendReloads(&out)
        if let skew = credentials.skew.skewMs(wallMs: Clock.wallMs, steadyMs: Int64(nowMs)) {
            family(
                &out, "peal_clock_skew_seconds", "gauge",
                "The providers' time less this machine's; negative when its clock is fast.")
            signed(&out, "peal_clock_skew_seconds", "", skew / 1000)
        }
    }

    private func appendReloads(_ out: inout ByteBuffer) {
        single(
            &out, "peal_credential_rotations_total", "counter",
            "Reloads that put a changed credential in force.",
            reloads.rotations)
        single(
            &out, "peal_credential_reload_failures_total", "counter",
            "Reloads refused because a file could not be used.", reloads.failures)
        single(
            &out, "peal_credential_reload_failed", "gauge", "Whether the last reload was refused.",
            reloads.failure.isEmpty ? 0 : 1)
        single(
            &out, "peal_uploaded_credentials_unusable", "gauge",
            "Apps whose uploaded credentials can't be used as they are stored.",
            UInt64(reloads.uploads.count))
        single(
            &out, "peal_rotation_fallbacks_total", "counter",
            "Deliveries sent by an old credential because the new one was refused.",
            sum { $0.rotationFallbacks })
        family(
            &out, "peal_routes_known", "gauge", "Routes that a shard knows of, the replaced ones included.")
        for (index, shard) in shards.enumerated() {
            sample(&out, "peal_routes_known", "shard=\"\(index)\"", UInt64(shard.routesKnown))
        }
        family(
            &out, "peal_credential_expiry_seconds", "gauge",
            "Seconds until a certificate expires; negative once it has.")
        for certificate in reloads.certificates {
            signed(
                &out, "peal_credential_expiry_seconds", "route=\"\(certificate.route)\"",
                (certificate.expiryMs - Clock.wallMs) / 1000)
        }
    }

    private func seconds(_ out: inout ByteBuffer, _ name: String, _ credential: String, _ ms: Int64) {
        signed(&out, name, label(credential), ms / 1000)
    }

    private func label(_ credential: String) -> String { "credential=\"\(credential)\"" }

    /// A sample that may be negative.
    private func signed(_ out: inout ByteBuffer, _ name: String, _ labels: String, _ value: Int64) {
        out.append(text: labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n")
    }
}
