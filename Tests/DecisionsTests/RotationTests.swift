import Testing

@testable import Decisions

@Suite struct RotationOverlapTests {
    private static let endMs: Int64 = 10_000_000
    private static let restMs = RotationOverlap.firstRestMs

    /// A fresh overlap, one that has fallen back at 0, a proven one and one whose time was up.
    private static func make(_ state: RotationOverlap.State) -> RotationOverlap {
        var overlap = RotationOverlap(endMs: endMs)
        switch state {
        case .trying: break
        case .fallenBack: _ = overlap.refused(nowMs: 0)
        case .proven: overlap.accepted()
        case .over: _ = overlap.usesOld(nowMs: endMs, isUsable: true)
        }
        #expect(overlap.state == state)
        return overlap
    }

    static let states: [RotationOverlap.State] = [.trying, .fallenBack(untilMs: restMs), .proven, .over]

    @Test(arguments: states)
    func anAcceptedRequestProvesTheNewOne(state: RotationOverlap.State) {
        var overlap = Self.make(state)
        overlap.accepted()
        #expect(overlap.state == (state == .over ? .over : .proven))
        #expect(overlap.isDone)
        let usesOld = overlap.usesOld(nowMs: 1, isUsable: false)
        #expect(!usesOld)
        let fallsBack = overlap.refused(nowMs: 1)
        #expect(!fallsBack)
    }

    @Test(arguments: states)
    func aRefusalFallsBackOnlyWhileNothingIsProvenAndTimeIsLeft(state: RotationOverlap.State) {
        var overlap = Self.make(state)
        let isOpen = state != .proven && state != .over
        let fallsBack = overlap.refused(nowMs: 1)
        #expect(fallsBack == isOpen)
        let usesOld = overlap.usesOld(nowMs: 2, isUsable: true)
        #expect(usesOld == isOpen)
        var late = Self.make(state)
        let fallsBackLate = late.refused(nowMs: Self.endMs)
        #expect(!fallsBackLate)
        #expect(late.isDone)
    }

    @Test(arguments: states, [false, true])
    func theOldOneSendsWhileTheNewOneCannotOrRests(state: RotationOverlap.State, isUsable: Bool) {
        var overlap = Self.make(state)
        let during = overlap.usesOld(nowMs: Self.restMs - 1, isUsable: isUsable)
        switch state {
        case .trying: #expect(during == !isUsable)
        case .fallenBack: #expect(during)
        case .proven, .over: #expect(!during)
        }
        // After the rest the new one has another chance.
        let after = overlap.usesOld(nowMs: Self.restMs, isUsable: isUsable)
        #expect(after == (!overlap.isDone && !isUsable))
        let atTheEnd = overlap.usesOld(nowMs: Self.endMs, isUsable: false)
        #expect(!atTheEnd)
        #expect(overlap.isDone)
    }

    @Test func refusalsOfRequestsThatWereUnderWayTogetherCountOnceAndRestsDouble() {
        var overlap = RotationOverlap(endMs: Self.endMs)
        var now: Int64 = 0
        for (refusals, rest) in [Int64(60_000), 120_000, 240_000, 480_000, 600_000, 600_000].enumerated() {
            for _ in 0..<100 {
                let fallsBack = overlap.refused(nowMs: now)
                #expect(fallsBack)
            }
            #expect(overlap.refusals == refusals + 1)
            #expect(overlap.state == .fallenBack(untilMs: now + rest))
            now += rest
            let usesOld = overlap.usesOld(nowMs: now, isUsable: true)
            #expect(!usesOld)
        }
    }
}

@Suite struct ExpiryWatchTests {
    private static let day: Int64 = 86_400_000

    @Test(arguments: [
        (31 * day, ExpiryWatch.Stage.fine), (30 * day + 1, .fine), (30 * day, .month), (7 * day + 1, .month),
        (7 * day, .week), (day + 1, .week), (day, .day), (1, .day), (0, .expired), (-day, .expired),
    ])
    func stagesBeginAtThirtySevenAndOneDays(leftMs: Int64, stage: ExpiryWatch.Stage) {
        #expect(ExpiryWatch.Stage(leftMs: leftMs) == stage)
    }

    @Test func eachStageIsToldOnceAndANewCertificateStartsOver() {
        var watch = ExpiryWatch()
        var told: [ExpiryWatch.Stage] = []
        for left in stride(from: 40 * Self.day, through: -Self.day, by: Int(-Self.day / 2)) {
            if let stage = watch.note(leftMs: left) { told.append(stage) }
        }
        #expect(told == [.month, .week, .day, .expired])
        let fine = watch.note(leftMs: 365 * Self.day)
        #expect(fine == nil)
        let month = watch.note(leftMs: 20 * Self.day)
        #expect(month == .month)
    }
}
