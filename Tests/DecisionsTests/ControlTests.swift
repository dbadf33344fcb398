import Core
import Testing

@testable import Decisions

@Suite struct ControlTests {
    static let subjects: [(field: String, subject: ControlEntry.Subject)] = [
        ("app:shop", .app("shop")), ("provider:fcm", .provider(.fcm, app: nil)),
        ("provider:apns:shop", .provider(.apns, app: "shop")),
        ("campaign:shop:spring", .campaign(app: "shop", name: "spring")),
        ("campaign:shop:a:b", .campaign(app: "shop", name: "a:b")),
        ("job:shop:01J9ZK", .job(app: "shop", id: "01J9ZK")),
    ]

    @Test(arguments: subjects)
    func aFieldAndItsSubjectAreTheSameThing(field: String, subject: ControlEntry.Subject) {
        #expect(ControlEntry.Subject(field: field) == subject)
        #expect(subject.field == field)
    }

    @Test(arguments: ["", "app", "app:", "app:a:b", "provider:smoke", "campaign:shop", "job::x", "sun:moon"])
    func aFieldThatMeansNothingIsNoSubject(field: String) {
        #expect(ControlEntry.Subject(field: field) == nil)
        #expect(ControlState(fields: [(field: field, value: "{}")]).unknownFields == [field])
    }

    @Test(arguments: subjects)
    func anEntrySurvivesItsOwnText(field: String, subject: ControlEntry.Subject) {
        let action: ControlEntry.Action = subject.canBeCancelled ? .cancel : .pause
        let entry = ControlEntry(
            subject, action, by: "anna \"a\"", atMs: 1_700_000_000_000, reason: "wrong price\n", untilMs: 5)
        #expect(ControlEntry(field: field, value: entry.value) == entry)
    }

    @Test func textThatIsNoObjectIsTheReasonOfTheUsualAction() {
        #expect(
            ControlEntry(field: "app:shop", value: "broken")
                == ControlEntry(.app("shop"), .pause, reason: "broken"))
        #expect(
            ControlEntry(field: "job:shop:1", value: "1")
                == ControlEntry(.job(app: "shop", id: "1"), .cancel, reason: "1"))
    }

    @Test func anAppCanNotBeCancelledWhateverItsValueSays() {
        #expect(ControlEntry(field: "app:shop", value: #"{"action":"cancel"}"#)?.action == .pause)
        #expect(ControlEntry(field: "campaign:shop:x", value: #"{"action":"cancel"}"#)?.action == .cancel)
    }

    private func ruling(_ gate: ControlGate, app: Int32, campaign: String?, id: String?) -> ControlRuling {
        var a = Array((campaign ?? "").utf8)
        var b = Array((id ?? "").utf8)
        return a.withUnsafeMutableBytes { a in
            b.withUnsafeMutableBytes { b in
                gate.ruling(
                    app: app, campaign: { campaign == nil ? nil : UnsafeRawBufferPointer(a) },
                    id: { id == nil ? nil : UnsafeRawBufferPointer(b) })
            }
        }
    }

    private func gate(_ entries: [ControlEntry], nowMs: Int64 = 1000) -> ControlGate {
        ControlGate(ControlState(version: 3, entries: entries), apps: ["shop", "bank"], nowMs: nowMs)
    }

    @Test func anEmptyStateIsAnOpenGate() {
        #expect(gate([]).isOpen)
        #expect(ControlGate().isOpen)
        #expect(gate([]).version == 3)
    }

    @Test func entriesOfAppsThatAreNotHereLeaveTheGateOpen() {
        #expect(gate([ControlEntry(.app("other"), .pause)]).isOpen)
        #expect(gate([ControlEntry(.provider(.apns, app: "other"), .pause)]).isOpen)
        #expect(gate([ControlEntry(.job(app: "other", id: "1"), .cancel)]).isOpen)
    }

    @Test func aPausedAppPausesItsJobsAndNoOthers() {
        let gate = gate([ControlEntry(.app("shop"), .pause, atMs: 7)])
        #expect(!gate.isOpen)
        #expect(ruling(gate, app: 0, campaign: nil, id: nil) == .pause(sinceMs: 7))
        #expect(ruling(gate, app: 1, campaign: nil, id: nil) == .go)
        // An app that could not be told.
        #expect(ruling(gate, app: -1, campaign: nil, id: nil) == .go)
    }

    @Test(arguments: Provider.allCases) func aPausedProviderPausesItselfForOneAppOrForAll(paused: Provider) {
        let all = gate([ControlEntry(.provider(paused, app: nil), .pause, atMs: 9)])
        let one = gate([ControlEntry(.provider(paused, app: "bank"), .pause, atMs: 9)])
        for provider in Provider.allCases {
            let mine: ControlRuling = provider == paused ? .pause(sinceMs: 9) : .go
            #expect(all.ruling(provider, app: 0) == mine)
            #expect(all.ruling(provider, app: 1) == mine)
            #expect(one.ruling(provider, app: 0) == .go)
            #expect(one.ruling(provider, app: 1) == mine)
        }
        #expect(all.ruling(paused, app: 2) == .go)
        #expect(ruling(all, app: 0, campaign: nil, id: nil) == .go)
    }

    @Test func campaignsAndJobsAreToldApartByAppAndKind() {
        let gate = gate([
            ControlEntry(.campaign(app: "shop", name: "spring"), .pause, atMs: 4),
            ControlEntry(.campaign(app: "shop", name: "autumn"), .cancel),
            ControlEntry(.job(app: "shop", id: "j1"), .cancel),
        ])
        #expect(ruling(gate, app: 0, campaign: "spring", id: nil) == .pause(sinceMs: 4))
        #expect(ruling(gate, app: 0, campaign: "autumn", id: "j9") == .cancel)
        #expect(ruling(gate, app: 0, campaign: nil, id: "j1") == .cancel)
        #expect(ruling(gate, app: 0, campaign: "j1", id: "spring") == .go)
        #expect(ruling(gate, app: 1, campaign: "spring", id: "j1") == .go)
    }

    @Test func aCancellationWinsOverAPause() {
        let gate = gate([
            ControlEntry(.app("shop"), .pause, atMs: 1),
            ControlEntry(.campaign(app: "shop", name: "spring"), .cancel),
        ])
        #expect(ruling(gate, app: 0, campaign: "spring", id: nil) == .cancel)
        #expect(ruling(gate, app: 0, campaign: "other", id: nil) == .pause(sinceMs: 1))
        let rulings: [ControlRuling] = [.go, .pause(sinceMs: 2), .pause(sinceMs: 8), .cancel]
        for (a, one) in rulings.enumerated() {
            for (b, other) in rulings.enumerated() {
                #expect(one.stricter(other) == rulings[max(a, b)])
            }
        }
    }

    @Test func whatEndsByItselfIsLeftOutAndTheNextEndIsKnown() {
        let entries = [
            ControlEntry(.app("shop"), .pause, untilMs: 2000),
            ControlEntry(.app("bank"), .pause, untilMs: 3000),
        ]
        #expect(gate(entries, nowMs: 1999).validUntilMs == 2000)
        let later = gate(entries, nowMs: 2000)
        #expect(later.count == 1)
        #expect(later.validUntilMs == 3000)
        #expect(gate(entries, nowMs: 3000).isOpen)
        #expect(gate([ControlEntry(.app("shop"), .pause)]).validUntilMs == .max)
    }

    @Test func aWaitGrowsWithThePauseWithinItsBounds() {
        for random in [UInt64.min, UInt64.max / 3, UInt64.max] {
            for (age, step): (Int64, Int64) in [
                (0, 1000), (1, 1000), (4000, 4000), (30_000, 30_000), (60_000, 60_000), (86_400_000, 60_000),
            ] {
                let now: Int64 = 1_700_000_000_000
                let wait = RoundWait.waitMs(sinceMs: now - age, nowMs: now, random: random)
                #expect(wait <= step && wait >= max(1000, step - step / 8))
            }
            // A clock that runs behind, and an unknown time.
            #expect(RoundWait.waitMs(sinceMs: 5000, nowMs: 1000, random: random) == 1000)
            #expect(RoundWait.waitMs(sinceMs: 0, nowMs: 1_000_000, random: random) == 1000)
        }
    }
}
