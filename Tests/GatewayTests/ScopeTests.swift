import Foundation
import Testing

@testable import GatewayKit

@Suite struct AlertScopeTests {
    @Test func everyStateTakesEveryInput() {
        // Each state, with each step that can be taken from it.
        let states: [(AlertScope, String?)] = [
            (.all, nil), (.none, ""), (AlertScope(text: "a"), "a"), (AlertScope(text: "a,b"), "a,b"),
            (AlertScope(text: "*,!a"), "*,!a"),
        ]
        for (state, text) in states { #expect(state.text == text) }
        let steps: [(from: String?, subscribe: Bool, id: String?, to: String?)] = [
            (nil, true, nil, nil), (nil, true, "a", nil), (nil, false, nil, ""), (nil, false, "a", "*,!a"),
            ("", true, nil, nil), ("", true, "a", "a"), ("", false, nil, ""), ("", false, "a", ""),
            ("a", true, nil, nil), ("a", true, "b", "a,b"), ("a", true, "a", "a"), ("a", false, nil, ""),
            ("a", false, "a", ""), ("a", false, "b", "a"),
            ("*,!a", true, nil, nil), ("*,!a", true, "a", nil), ("*,!a", true, "b", "*,!a"),
            ("*,!a", false, nil, ""), ("*,!a", false, "a", "*,!a"), ("*,!a", false, "b", "*,!a,!b"),
        ]
        for step in steps {
            var scope = AlertScope(text: step.from)
            let isDone = step.subscribe ? scope.subscribe(step.id) : scope.unsubscribe(step.id)
            #expect(isDone)
            #expect(scope.text == step.to, "\(step)")
        }
    }

    @Test func whatIsTaken() {
        #expect(AlertScope.all.takes("a"))
        #expect(!AlertScope.none.takes("a"))
        #expect(AlertScope.none.isNone)
        #expect(AlertScope(text: "a,b").takes("b"))
        #expect(!AlertScope(text: "a,b").takes("c"))
        #expect(AlertScope(text: "*,!a").takes("b"))
        #expect(!AlertScope(text: "*,!a").takes("a"))
        #expect(!AlertScope(text: "*,!a").isNone)
    }

    @Test func aDeviceMayNotNameTooMany() {
        var scope = AlertScope.none
        for number in 0..<AlertScope.idsMax {
            let fits = scope.subscribe("a\(number)")
            #expect(fits)
        }
        let fits = scope.subscribe("one-more")
        #expect(!fits)
    }

    @Test(
        arguments: [
            ([], []),
            ([nil, nil], ["@alerts/*"]),
            ([nil, "a"], ["@alerts/~*"]),
            (["*,!a"], ["@alerts/~*"]),
            (["a"], ["@alerts/=a"]),
            (["a,b", "a"], ["@alerts/=a", "@alerts/~b"]),
            (["a", "b"], ["@alerts/~a", "@alerts/~b"]),
        ] as [([String?], Set<String>)])
    func theTopicsOfAWallet(scopes: [String?], topics: Set<String>) {
        #expect(AlertAudience.topics(scopes.map { AlertScope(text: $0) }) == topics)
    }

    @Test func whoeverTakesASendersAlertsIsReachedByItsBroadcast() {
        // A broadcast of a sender goes to these topics; in the mixed ones the devices are looked at.
        let choices: [String?] = [nil, "a", "b", "a,b", "*,!a", "*,!b"]
        for first in choices {
            for second in choices {
                let scopes = [first, second].map { AlertScope(text: $0) }
                let topics = AlertAudience.topics(scopes)
                for sender in ["a", "b", "c"] {
                    let whole =
                        topics.contains(AlertAudience.everything)
                        || topics.contains(AlertAudience.whole(sender))
                    let looked =
                        topics.contains(AlertAudience.mixed)
                        || topics.contains(AlertAudience.part(sender))
                    let takers = scopes.filter { $0.takes(sender) }.count
                    #expect(!(whole && looked))
                    if whole { #expect(takers == 2) }
                    if takers > 0 { #expect(whole || looked, "\(scopes) \(sender)") }
                }
            }
        }
    }
}

@Suite struct LinkRuleTests {
    private let rule = LinkRule(hosts: ["dialed.evo.co"])

    @Test(arguments: [
        "/", "/brands/123/hub", "/a?b=c&d=%20#e", "https://dialed.evo.co", "https://dialed.evo.co/brands/123",
        "HTTPS://Dialed.EVO.co/x", "https://dialed.evo.co?x", "https://dialed.evo.co#x",
        "/javascript:alert(1)",
    ])
    func goodLinks(link: String) { #expect(rule.fault(in: link) == nil) }

    @Test(arguments: [
        "", "brands/1", "//evil.example/x", "/\\evil.example", "\\\\evil", "http://dialed.evo.co/x",
        "javascript:alert(1)", "data:text/html,x", "https://evil.example/",
        "https://dialed.evo.co.evil.example/",
        "https://dialed.evo.co@evil.example/", "https://user@dialed.evo.co/", "https://dialed.evo.co:8443/",
        "https:///x", "https:/dialed.evo.co", "/a b", "/a\tb", "/a\u{0}", "/é", "ftp://dialed.evo.co/",
        " /x", "https://dialed.evo.co\\@evil.example/", "https://",
    ])
    func badLinks(link: String) { #expect(rule.fault(in: link) != nil) }

    @Test func aLinkHasABound() {
        #expect(rule.fault(in: "/" + String(repeating: "a", count: LinkRule.bytesMax - 1)) == nil)
        #expect(rule.fault(in: "/" + String(repeating: "a", count: LinkRule.bytesMax)) != nil)
    }
}
