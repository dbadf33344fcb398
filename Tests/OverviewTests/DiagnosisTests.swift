import Testing

@testable import Overview

@Suite struct DiagnosisTests {
    @Test func aPipelineInOrderHasNoFindings() { #expect(findings { _ in } == []) }

    @Test func anEmptyRedisHasNoWorkersAndNothingElse() {
        let found = Diagnosis.findings(in: Overview(nowMs: now))
        #expect(found.map(\.cause) == [.podsNone])
        #expect(found.first?.severity == .critical && found.first?.sinceMs == nil)
    }

    @Test func everyCodeOfTheContractHasAName() {
        #expect(
            Set(Finding.Cause.allCases.map(\.rawValue)) == [
                "provider_unavailable", "credential_refused", "credential_expiring", "redis_away",
                "kafka_away", "app_stuck", "poison_jobs", "bulk_backlog", "lag_growing", "token_storm",
                "clock_skew", "worker_gone", "retry_backlog", "paused", "quota_refused", "broadcast_stuck",
                "pods_none",
            ])
    }

    // MARK: Pods

    @Test func aWorkerThatFellSilentIsNamed() {
        let found = findings { $0.pod("a:1") { $0.beatMs = now - 40_000 } }
        #expect(found.map(\.cause) == [.workerGone])
        #expect(found.first?.subject == .pod("a:1") && found.first?.severity == .warning)
        #expect(found.first?.sinceMs == now - 40_000)
        #expect(found.first?.sentence.contains("Worker a:1 has not been heard of for 40 s") == true)
        #expect(findings { $0.pod("a:1") { $0.beatMs = now - 14_000 } } == [])
    }

    @Test func aSuccessorOrAnHourMakesAGoneWorkerHarmless() {
        let replaced = findings { overview in
            overview.pod("a:1") { $0.beatMs = now - 40_000 }
            var heir = Overview.Pod(name: "a:9", role: "worker", beatMs: now, detail: .worker(.init()))
            heir.startedMs = now - 30_000
            overview.pods.append(heir)
        }
        #expect(replaced.map(\.severity) == [.info])
        #expect(replaced.first?.lever == "redis-cli HDEL peal:pods a:1")
        let old = findings { $0.pod("a:1") { $0.beatMs = now - 5 * 3_600_000 } }
        #expect(old.map(\.severity) == [.info])
    }

    @Test func withoutAnyWorkerNothingIsSent() {
        let found = findings { overview in
            for name in ["a:1", "b:2"] { overview.pod(name) { $0.beatMs = now - 60_000 } }
        }
        #expect(found.map(\.cause) == [.podsNone])
        #expect(found.first?.sentence.contains("60 s ago") == true)
        let silent = findings { overview in
            for name in ["a:1", "b:2", "r:1"] { overview.pod(name) { $0.beatMs = now - 60_000 } }
        }
        #expect(silent.first?.cause == .podsNone)
        #expect(silent.first?.sentence.contains("All 3 pods fell silent at the same moment") == true)
    }

    @Test func redisTroubleIsToldOnceForAllThatHaveIt() {
        let one = findings { $0.worker("a:1") { $0.redis = "OOM command not allowed" } }
        #expect(one.map(\.cause) == [.redisAway] && one.first?.severity == .warning)
        #expect(one.first?.sentence == "Worker a:1 can't use Redis: OOM command not allowed.")
        let both = findings { overview in
            for name in ["a:1", "b:2"] { overview.worker(name) { $0.redis = "READONLY" } }
            overview.pod("r:1") { $0.ready = "fine" }
        }
        #expect(both.map(\.cause) == [.redisAway] && both.first?.severity == .critical)
        #expect(both.first?.sentence == "2 of 2 worker pods can't use Redis: READONLY.")
        let stage = findings { overview in
            overview.pods.append(
                Overview.Pod(name: "e:1", role: "expand", beatMs: now, detail: .expand(.init())))
            overview.pod("e:1") { $0.ready = "Redis does not answer. refused" }
        }
        #expect(stage.map(\.cause) == [.redisAway])
    }

    @Test func kafkaTroubleIsToldButNotWhileAPodStarts() {
        let away = findings { $0.pod("a:1") { $0.ready = "lane urgent can't reach Kafka: refused" } }
        #expect(away.map(\.cause) == [.kafkaAway])
        let text = "lane urgent has not joined its consumer group yet"
        func joining(_ age: Int64) -> [Finding.Cause] {
            causes { overview in
                overview.pod("a:1") {
                    $0.ready = text
                    $0.startedMs = now - age
                }
            }
        }
        #expect(joining(5000) == [] && joining(90_000) == [.kafkaAway])
        #expect(
            causes { $0.pod("r:1") { $0.ready = "No Kafka broker answers; records wait." } } == [.kafkaAway])
    }

    @Test func aClockThatIsFarOffIsNotAPodThatIsGone() {
        #expect(causes { $0.pod("a:1") { $0.beatMs = now + 9000 } } == [.clockSkew])
        #expect(causes { $0.pod("a:1") { $0.beatMs = now + 3000 } } == [])
        #expect(
            causes { $0.worker("a:1") { $0.faults = ["this machine's clock is far off the providers'"] } }
                == [.clockSkew])
        // A clock that is slow: the line looks old, but it changes.
        var diagnosis = Diagnosis()
        var overview = well()
        overview.pod("a:1") { $0.beatMs = now - 60_000 }
        #expect(diagnosis.take(overview).map(\.cause) == [.workerGone])
        overview.nowMs += 1000
        for name in ["b:2", "r:1", "a:1"] { overview.pod(name) { $0.beatMs += 1000 } }
        let found = diagnosis.take(overview)
        #expect(found.map(\.cause) == [.clockSkew])
        #expect(found.first?.sentence.contains("60 s behind") == true)
    }

    // MARK: Credentials

    @Test func complaintsAboutCredentialsAreSorted() {
        let token = findings { overview in
            for name in ["a:1", "b:2"] {
                overview.worker(name) { $0.faults = ["apns T/K has no usable token: the key is refused"] }
            }
        }
        #expect(token.map(\.cause) == [.credentialRefused] && token.first?.severity == .critical)
        #expect(token.first?.subject == .route("apns T/K"))
        #expect(token.first?.sentence == "Apns T/K has no usable token: the key is refused.")
        let soon = findings {
            $0.worker("a:1") {
                $0.faults = ["the certificate of apns/production/x expires in 3 days and 2 hours"]
            }
        }
        #expect(soon.map(\.cause) == [.credentialExpiring] && soon.first?.severity == .warning)
        #expect(soon.first?.subject == .route("apns/production/x"))
        #expect(soon.first?.sentence.hasSuffix("(a:1).") == true)
        let over = findings {
            $0.worker("a:1") { $0.faults = ["the certificate of apns/production/x has expired"] }
        }
        #expect(over.map(\.cause) == [.credentialRefused] && over.first?.severity == .critical)
        let reload = findings { $0.worker("a:1") { $0.faults = ["the last reload was refused: no PEM"] } }
        #expect(reload.map(\.cause) == [.credentialRefused] && reload.first?.severity == .warning)
    }

    @Test func aRefusedCredentialNamesProviderReasonAndApp() {
        let found = findings { overview in
            overview.reason("apns_invalid_provider_token", 40)
            overview.app("bank") { $0[.retried] = 80 }
        }
        #expect(found.first?.cause == .credentialRefused && found.first?.severity == .critical)
        #expect(found.first?.subject == .provider("apns"))
        #expect(found.first?.sentence.contains("nothing is accepted for bank") == true)
        #expect(found.first?.sinceMs == (now / 60_000 - 1) * 60_000)
        // The app's own standstill is the consequence, and comes after.
        #expect(found.map(\.cause) == [.credentialRefused, .appStuck])
    }

    // MARK: Providers

    @Test func anOpenCircuitSaysWhichProviderWhyAndWhoSuffers() {
        let found = findings { overview in
            for name in ["a:1", "b:2"] {
                overview.worker(name) { $0.circuits = ["fcm/p/e"] }
            }
            overview.pod("b:2") { $0.ready = "the circuit of fcm/p/e is open: connection refused" }
            overview.reason("fcm_unavailable", 500)
            overview.reason("circuit_open", 300)
            overview.app("shop") { $0[.retried] = 900 }
        }
        #expect(found.map(\.cause) == [.providerUnavailable] && found.first?.severity == .critical)
        #expect(
            found.first?.sentence
                == "FCM is not available by fcm/p/e: connection refused; it holds up shop.")
        let half = findings { $0.worker("a:1") { $0.circuits = ["apns/production/T/K"] } }
        #expect(half.first?.severity == .warning)
        #expect(half.first?.sentence.contains("on 1 of 2 workers") == true)
    }

    @Test func aProviderThatFailsInPartIsToldByItsShare() {
        func severity(_ count: Int64) -> Finding.Severity? {
            findings { overview in
                overview.reason("apns_service_unavailable", count)
                overview.last(.retried, count)
            }.first { $0.cause == .providerUnavailable }?.severity
        }
        #expect(severity(5) == nil && severity(20) == .info && severity(120) == .warning)
        #expect(severity(4000) == .critical)
    }

    @Test func quotasOfTheProviderAndOnesOwnDiffer() {
        #expect(findings { $0.reason("fcm_quota_exceeded", 3) }.map(\.severity) == [.warning])
        #expect(findings { $0.reason("quota_wait", 300) }.map(\.severity) == [.info])
        #expect(causes { $0.reason("quota_wait", 300) } == [.quotaRefused])
        #expect(causes { $0.reason("quota_wait", 3) } == [])
        #expect(findings { $0.reason("apns_too_many_requests", 30) }.map(\.severity) == [.info])
    }

    // MARK: Apps

    @Test func massInvalidTokensAreAStorm() {
        let found = findings {
            $0.app("shop") {
                $0[.failed] = 5000; $0[.invalidToken] = 3000
            }
        }
        #expect(found.map(\.cause) == [.tokenStorm] && found.first?.subject == .app("shop"))
        #expect(
            causes {
                $0.app("shop") {
                    $0[.failed] = 40; $0[.invalidToken] = 40
                }
            } == [])
        let stopped = findings { $0.reason("breaker_open", 7) }
        #expect(stopped.map(\.cause) == [.tokenStorm] && stopped.first?.severity == .critical)
    }

    @Test func anAppThatGetsNothingThroughIsStuck() {
        let found = findings { $0.app("bank") { $0[.retried] = 25 } }
        #expect(found.map(\.cause) == [.appStuck] && found.first?.lever == "peal control pause --app bank")
        #expect(
            causes {
                $0.app("bank") {
                    $0[.retried] = 25; $0[.accepted] = 1
                }
            } == [])
        #expect(causes { $0.reason("app_share", 60) } == [.appStuck])
        // A name that no command line should hold has no lever.
        let odd = findings { $0.app("x\u{1B}[2J") { $0[.retried] = 25 } }
        #expect(odd.first?.lever == "")
        let quoted = findings { $0.app("it's; rm") { $0[.retried] = 25 } }
        #expect(quoted.first?.lever == "peal control pause --app 'it'\\''s; rm'")
    }

    @Test func deadLettersSayWhyAndWhose() {
        let found = findings { overview in
            overview.last(.dead, 3)
            overview.last(.failed, 3)
            overview.reason("malformed_job", 3)
            overview.app("shop") { $0[.dead] = 6 }
        }
        #expect(found.map(\.cause) == [.poisonJobs] && found.first?.severity == .info)
        #expect(
            found.first?.sentence == "6 deliveries of shop ended as dead letters (malformed_job).")
        #expect(found.first?.lever.hasSuffix(" --app shop") == true)
        #expect(found.first?.sinceMs == (now / 60_000 - 1) * 60_000)
        let many = findings { overview in
            overview.last(.dead, 30)
            overview.last(.failed, 30)
        }
        #expect(many.map(\.severity) == [.warning])
    }
}
