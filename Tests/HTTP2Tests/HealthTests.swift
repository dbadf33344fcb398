import Testing

@testable import HTTP2

@Suite struct ConnectionHealthTests {
    private func complaint(
        _ health: ConnectionHealth, at nowMs: UInt64, waiting: Bool = true
    ) -> ConnectionMachine.Reason? {
        health.complaint(nowMs: nowMs, shrunkMs: 1_000, requestsWait: waiting)
    }

    @Test func aLimitThatFellAndStaysLowIsAComplaintOnlyWhileRequestsWait() {
        var health = ConnectionHealth()
        health.limited(to: 1, nowMs: 0)
        #expect(complaint(health, at: 10_000) == nil)
        health.limited(to: 1_000, nowMs: 100)
        health.limited(to: 1, nowMs: 200)
        health.limited(to: 2, nowMs: 900)
        #expect(complaint(health, at: 1_199) == nil)
        #expect(complaint(health, at: 1_200) == .shrunk)
        #expect(complaint(health, at: 1_200, waiting: false) == nil)
        health.limited(to: 1_000, nowMs: 1_300)
        #expect(complaint(health, at: 9_000) == nil)
    }

    @Test func aSmallerReductionIsNoComplaint() {
        var health = ConnectionHealth()
        health.limited(to: 1_000, nowMs: 0)
        health.limited(to: 251, nowMs: 0)
        #expect(complaint(health, at: 60_000) == nil)
        health.limited(to: 250, nowMs: 60_000)
        #expect(complaint(health, at: 61_000) == .shrunk)
    }

    @Test func mostRequestsFailingIsAComplaintAndRefusedTokensAreNot() {
        var health = ConnectionHealth()
        for _ in 0..<1_000 { health.answered(status: 400) }
        #expect(complaint(health, at: 0) == nil)
        for _ in 0..<16 { health.failed() }
        for _ in 0..<15 { health.answered(status: 503) }
        #expect(complaint(health, at: 0) == nil)
        health.failed()
        #expect(complaint(health, at: 0, waiting: false) == .faulty)
        for _ in 0..<64 { health.answered(status: 200) }
        #expect(complaint(health, at: 0) == nil)
    }
}

@Suite struct ConnectBudgetTests {
    @Test func aBurstIsAllowedAndThenOneInAWhile() {
        var budget = ConnectBudget(burst: 3, everyMs: 1_000, nowMs: 0)
        func take(_ nowMs: UInt64) -> Bool {
            guard budget.allows(nowMs: nowMs) else { return false }
            budget.spend()
            return true
        }
        let asked: [UInt64] = [
            0, 0, 0, 0, 999, 1_000, 1_999, 2_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000,
            // A clock that steps back earns nothing and breaks nothing.
            5,
        ]
        let given = asked.map { take($0) }
        #expect(
            given == [
                true, true, true, false, false, true, false, true, true, true, true, false, false,
            ])
    }

    @Test func withoutATimeThereIsNoBound() {
        var budget = ConnectBudget(burst: 1, everyMs: 0, nowMs: 0)
        for _ in 0..<1_000 {
            let isAllowed = budget.allows(nowMs: 0)
            #expect(isAllowed)
            budget.spend()
        }
    }
}

@Suite struct PoolPlanTests {
    private func plan(_ change: (inout PoolPlan) -> Void) -> PoolPlan.Decision {
        var plan = PoolPlan()
        change(&plan)
        return plan.decision
    }

    @Test func everyCombinationOfWhatAPoolKnowsHasItsDecision() {
        for usable in 0...3 {
            for unproven in 0...usable {
                for bits in 0..<16 {
                    let decision = plan {
                        $0.connectionsMin = 1
                        $0.connectionsMax = 2
                        $0.usable = usable
                        $0.unproven = unproven
                        $0.isConnecting = bits & 1 != 0
                        $0.isStarved = bits & 2 != 0
                        $0.isWanted = bits & 4 != 0
                        $0.hasComplaint = bits & 8 != 0
                    }
                    let expected: PoolPlan.Decision
                    if bits & 1 != 0 || bits & 4 == 0 {
                        expected = .none
                    } else if usable == 0 || (usable < 2 && bits & 2 != 0 && unproven < usable) {
                        expected = .grow
                    } else {
                        expected = bits & 8 != 0 ? .replace : .none
                    }
                    #expect(decision == expected, "usable \(usable), unproven \(unproven), bits \(bits)")
                }
            }
        }
    }

    @Test func aPoolWithoutAMinimumOpensNothingUntilThereIsWork() {
        #expect(plan { $0.connectionsMin = 0 } == .none)
        #expect(
            plan {
                $0.connectionsMin = 0
                $0.isStarved = true
            } == .grow)
    }
}

@Suite struct ProxyTunnelTests {
    private let endpoint = HTTP2Endpoint(host: "api.push.apple.com", port: 443)

    private func answer(_ text: String) -> ProxyTunnel.Progress {
        var tunnel = ProxyTunnel(to: endpoint)
        return tunnel.receive(Array(text.utf8))
    }

    private func why(_ text: String) -> (text: String, isFinal: Bool)? {
        guard case .refused(let why, let isFinal) = answer(text) else { return nil }
        return (why, isFinal)
    }

    @Test func theRequestNamesTheTargetAndBearsTheCredentials() {
        let tunnel = ProxyTunnel(to: endpoint)
        let plain = tunnel.request(HTTP2Proxy(host: "p", port: 3128))
        #expect(
            String(decoding: plain, as: UTF8.self)
                == "CONNECT api.push.apple.com:443 HTTP/1.1\r\nHost: api.push.apple.com:443\r\n\r\n")
        let known = tunnel.request(HTTP2Proxy(host: "p", port: 3128, credentials: "Aladdin:open sesame"))
        #expect(
            String(decoding: known, as: UTF8.self).contains(
                "\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"))
        let numeric = ProxyTunnel(to: HTTP2Endpoint(host: "::1", port: 8443))
        let bracketed = numeric.request(HTTP2Proxy(host: "p", port: 1))
        #expect(String(decoding: bracketed, as: UTF8.self).hasPrefix("CONNECT [::1]:8443 HTTP/1.1\r\n"))
    }

    @Test func anAnswerOpensTheTunnelHoweverItIsCut() {
        let bytes = Array("HTTP/1.1 200 Connection established\r\nVia: p\r\n\r\n".utf8)
        for cut in 1..<bytes.count {
            var tunnel = ProxyTunnel(to: endpoint)
            let first = tunnel.receive(bytes[..<cut])
            let second = tunnel.receive(bytes[cut...])
            #expect(first == .wantsMore && second == .open)
        }
    }

    @Test func everyOtherAnswerSaysWhatIsWrong() {
        #expect(why("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")?.text.contains("407") == true)
        #expect(why("HTTP/1.1 407 x\r\n\r\n")?.isFinal == true)
        #expect(why("HTTP/1.1 403 Forbidden\r\n\r\n")?.isFinal == true)
        #expect(why("HTTP/1.1 503 Busy\r\n\r\n")?.isFinal == false)
        #expect(why("HTTP/1.1 503 Busy\r\n\r\n")?.text.contains("api.push.apple.com:443") == true)
        #expect(why("SSH-2.0-OpenSSH_9.2\r\n\r\n")?.isFinal == true)
        #expect(why("HTTP/1.1 9999 x\r\n\r\n") != nil)
        #expect(why("HTTP/1.1 200 OK\r\n\r\nmore") != nil)
        #expect(answer("") == .wantsMore)
        #expect(why("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 9_000)) != nil)
    }
}
