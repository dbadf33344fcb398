import Core
import Redis
import TestSupport
import Testing

@testable import Registry

/// The unread counter and those of its threads, as they should be.
private struct ThreadModel {
    var unread: Int64 = 0
    var threads: [String: Int64] = [:]

    mutating func count(_ delta: Int64, _ thread: String?) {
        unread = max(0, unread + delta)
        if let thread, threads[thread] != nil || threads.count < RegistryScripts.threadsMax {
            put(thread, max(0, threads[thread, default: 0] + delta))
        }
        trim()
    }

    mutating func set(_ count: Int64) {
        unread = max(0, count)
        trim()
    }

    mutating func setThread(_ thread: String, _ count: Int64) {
        let old = threads[thread]
        guard old != nil || (count > 0 && threads.count < RegistryScripts.threadsMax) else { return }
        put(thread, max(0, count))
        unread = max(0, unread + max(0, count) - (old ?? 0))
        trim()
    }

    private mutating func put(_ thread: String, _ count: Int64) {
        threads[thread] = count > 0 ? count : nil
    }

    private mutating func trim() {
        var over = threads.values.reduce(0, +) - unread
        for (name, count) in threads.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) where over > 0 {
            let cut = min(over, count)
            put(name, count - cut)
            over -= cut
        }
    }
}

@Suite struct ThreadTests {
    private func admit(_ shelf: Shelf, _ delta: Int64, _ offset: Int64, _ thread: String?) throws -> Int64? {
        let name = thread.map { Array($0.utf8) } ?? []
        return try name.withUnsafeBytes { name in
            try shelf.admit {
                $0.position = Shelf.position(offset, at: offset)
                $0.unreadDelta = delta
                if thread != nil { $0.thread = name }
            }
        }.unread
    }

    @Test func aReadOfAThreadTakesItsShare() throws {
        let shelf = try Shelf()
        #expect(try admit(shelf, 2, 1, "a") == 2)
        #expect(try admit(shelf, 1, 2, "b") == 3)
        #expect(try admit(shelf, 1, 3, nil) == 4)
        // A record that comes again is counted in neither.
        #expect(try admit(shelf, 1, 2, "b") == 4)
        #expect(try shelf.directory.unreadByThread(of: "r") == ["a": 2, "b": 1])
        let read = { (change: UnreadChange) in
            try shelf.directory.read(change, of: "r", device: "", claimMs: 60_000)
        }
        let first = try read(.setThread("a", 0))
        #expect(first.unread == 2 && first.isOurs)
        let second = try read(.setThread("a", 0))
        #expect(second.unread == 2 && !second.isOurs)
        #expect(try read(.setThread("nobody's", 0)).unread == 2)
        #expect(try read(.setThread("b", 5)).unread == 6)
        #expect(try read(.setThread("pn", 3)).unread == 9)
        #expect(try shelf.directory.unreadByThread(of: "r") == ["b": 5, "pn": 3])
        #expect(try read(.set(0, asOfMs: 0)).unread == 0)
        #expect(try shelf.directory.unreadByThread(of: "r").isEmpty)
    }

    @Test func anOlderStatementChangesNoThread() throws {
        let shelf = try Shelf()
        #expect(try shelf.directory.setUnread(1, asOfMs: 10, of: "r") == 1)
        #expect(try admit(shelf, 4, 1, "a") == 5)
        #expect(try shelf.directory.setUnread(0, asOfMs: 9, of: "r") == 5)
        #expect(try shelf.directory.unreadByThread(of: "r") == ["a": 4])
    }

    @Test func theThreadsOfARecipientAreBounded() throws {
        let shelf = try Shelf()
        let most = RegistryScripts.threadsMax
        for number in 0..<most + 3 { _ = try admit(shelf, 1, Int64(number), "t\(number)") }
        #expect(try shelf.directory.unreadByThread(of: "r").count == most)
        let read = { (thread: String, count: Int64) in
            try shelf.directory.read(.setThread(thread, count), of: "r", device: "", claimMs: 1).unread
        }
        #expect(try read("t\(most + 1)", 0) == Int64(most + 3))
        #expect(try read("t\(most + 1)", 9) == Int64(most + 3))
        #expect(try read("t0", 0) == Int64(most + 2))
        #expect(try read("t\(most + 1)", 9) == Int64(most + 11))
        #expect(try shelf.directory.unreadByThread(of: "r").count == most)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func anyChangesKeepTheSums(seed: UInt64) throws {
        let shelf = try Shelf()
        var model = ThreadModel()
        var random = seed
        func next(_ bound: UInt64) -> Int64 {
            random = Hash64.mix(random &+ 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F)
            return Int64(random % bound)
        }
        for step in 0..<600 {
            let thread = ["a", "b", "c", "d"][Int(next(4))]
            switch next(6) {
            case 0, 1:
                let delta = next(8) - 2
                model.count(delta, thread)
                #expect(try admit(shelf, delta, Int64(step), thread) == model.unread)
            case 2:
                let delta = next(8) - 4
                model.count(delta, nil)
                #expect(try admit(shelf, delta, Int64(step), nil) == model.unread)
            case 3:
                let delta = next(9) - 6
                model.count(delta, nil)
                #expect(try shelf.directory.addUnread(delta, of: "r") == model.unread)
            case 4:
                let count = next(12)
                model.set(count)
                #expect(try shelf.directory.setUnread(count, of: "r") == model.unread)
            default:
                let count = next(6)
                model.setThread(thread, count)
                let answer = try shelf.directory.read(
                    .setThread(thread, count), of: "r", device: "", claimMs: 1)
                #expect(answer.unread == model.unread)
            }
            let threads = try shelf.directory.unreadByThread(of: "r")
            #expect(threads == model.threads)
            #expect(threads.values.reduce(0, +) <= model.unread)
        }
    }
}
