import Core
import Redis
import TestSupport
import Testing

@testable import Registry

@Suite struct PreferencesTests {
    @Test(arguments: [
        Preferences(), Preferences(mutedUntilMs: .max), Preferences(mutedUntilMs: 1_790_000_000_000),
        Preferences(
            mutedUntilMs: 5, mutedKinds: ["trade", "news:eu"], mutedTopics: ["a,b;c=d"],
            mutedThreads: ["%41", "cnv 1", "ü"], quietHours: "22:00-07:00", timeZone: "Europe/Berlin",
            locale: "de-DE"),
        Preferences(timeZone: "UTC"),
    ])
    func surviveTheWayThroughRedis(preferences: Preferences) throws {
        let shelf = try Shelf()
        try shelf.directory.setPreferences(preferences, of: "r")
        #expect(try shelf.directory.preferences(of: "r") == preferences)
        if preferences == Preferences() { #expect(try shelf.session.command("DBSIZE").integer == 0) }
    }

    private func contains(_ list: String, _ name: String) -> Bool {
        Array(list.utf8).withUnsafeBytes { list in
            Array(name.utf8).withUnsafeBytes { PreferencesView.contains(list, $0) }
        }
    }

    @Test func muteWholeNamesOnly() {
        for kind in ["a", "bc", "d"] { #expect(contains("a,bc,d", kind)) }
        for kind in ["", "b", "c", "bc,d", "e", "kinds"] { #expect(!contains("a,bc,d", kind)) }
        #expect(!contains("", "a"))
        #expect(contains("x%2Cy", "x,y"))
        #expect(!contains("x%2Cy", "x%2Cy"))
    }

    @Test func partsAreFoundByTheirWholeName() {
        let kinds = { (text: String) in
            Array(text.utf8).withUnsafeBytes {
                String(decoding: PreferencesView($0).mutedKinds, as: UTF8.self)
            }
        }
        #expect(kinds("xkinds=a") == "")
        #expect(kinds("zone=kinds;kinds=z") == "z")
        #expect(kinds("kinds=") == "")
        #expect(kinds("kinds=a;kinds=b") == "a")
    }

    @Test func nothingBreaksTheForm() {
        let preferences = Preferences(mutedKinds: ["a;b", "c,d", ";"], mutedThreads: ["muted=-1"])
        #expect(preferences.text == "kinds=a%3bb,c%2cd,%3b;threads=muted%3d-1")
    }

    @Test func sayWhatIsWrongWithThem() throws {
        #expect(Preferences(quietHours: "22:00-07:00", timeZone: "Europe/Berlin").fault == nil)
        let wrong = [
            Preferences(quietHours: "22-7"), Preferences(quietHours: "07:00-07:00"),
            Preferences(timeZone: "../etc/passwd"), Preferences(timeZone: "/UTC"),
            Preferences(locale: "de DE"), Preferences(mutedKinds: [""]),
            Preferences(mutedTopics: [String(repeating: "x", count: 257)]),
            Preferences(mutedThreads: (0...200).map { "t\($0)" }),
        ]
        let shelf = try Shelf()
        for preferences in wrong {
            #expect(preferences.fault != nil)
            #expect(throws: RedisFailure.self) { try shelf.directory.setPreferences(preferences, of: "r") }
        }
        #expect(try shelf.session.command("DBSIZE").integer == 0)
    }
}
