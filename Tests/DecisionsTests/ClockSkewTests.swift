import Testing

@testable import Decisions

private let wall: Int64 = 1_700_000_000_000

@Suite struct ClockSkewTests {
    /// Notes a date that is `skew` ahead of a local clock without steps, `at` ms after the start.
    private func note(_ clock: inout ClockSkew, skewMs: Int64, at: Int64, roundTripMs: Int64 = 100) {
        let server = wall + at + skewMs - roundTripMs / 2
        clock.note(
            dateMs: server / 1000 * 1000, wallMs: wall + at, sentSteadyMs: at - roundTripMs, steadyMs: at)
    }

    @Test func nothingIsKnownBeforeTheFirstAnswer() {
        let clock = ClockSkew()
        #expect(clock.skewMs(wallMs: wall, steadyMs: 0) == nil)
        #expect(!clock.isAlarming(wallMs: wall, steadyMs: 0))
        #expect(clock.correctedMs(wallMs: wall, steadyMs: 0) == wall)
    }

    @Test(arguments: [Int64(-7_200_000), -60_700, -59_000, -1000, 0, 1000, 59_000, 60_700, 7_200_000])
    func theSkewIsMeasuredToTheSecondAndCorrectedFromAMinuteOn(skewMs: Int64) throws {
        var clock = ClockSkew()
        note(&clock, skewMs: skewMs, at: 10_000)
        let measured = try #require(clock.skewMs(wallMs: wall + 20_000, steadyMs: 20_000))
        #expect(abs(measured - skewMs) <= 600)
        let isAlarming = abs(skewMs) >= 60_700
        #expect(clock.isAlarming(wallMs: wall + 20_000, steadyMs: 20_000) == isAlarming)
        let corrected = clock.correctedMs(wallMs: wall + 20_000, steadyMs: 20_000)
        if isAlarming {
            #expect(abs(corrected - (wall + 20_000 + skewMs)) <= 600)
        } else {
            #expect(corrected == wall + 20_000)
        }
    }

    @Test func aSlowAnswerAndANonsensicalDateSayNothing() {
        var clock = ClockSkew()
        note(&clock, skewMs: 300_000, at: 10_000, roundTripMs: 5_001)
        clock.note(dateMs: -1, wallMs: wall, sentSteadyMs: 0, steadyMs: 1)
        clock.note(dateMs: .max, wallMs: wall, sentSteadyMs: 0, steadyMs: 1)
        clock.note(dateMs: wall, wallMs: wall, sentSteadyMs: 2, steadyMs: 1)
        #expect(clock.skewMs(wallMs: wall + 10_000, steadyMs: 10_000) == nil)
    }

    @Test func oneWrongDateAmongManyChangesNothing() throws {
        var clock = ClockSkew()
        for at in [Int64(1000), 2000, 3000] { note(&clock, skewMs: 0, at: at) }
        note(&clock, skewMs: 86_400_000, at: 4000)
        #expect(!clock.isAlarming(wallMs: wall + 4000, steadyMs: 4000))
        for at in [Int64(5000), 6000] { note(&clock, skewMs: 86_400_000, at: at) }
        #expect(clock.isAlarming(wallMs: wall + 6000, steadyMs: 6000))
    }

    @Test func aSmallCorrectionOfTheWallClockShowsAtOnce() throws {
        var clock = ClockSkew()
        note(&clock, skewMs: 30_000, at: 1000)
        let mended = try #require(clock.skewMs(wallMs: wall + 2000 + 30_000, steadyMs: 2000))
        #expect(abs(mended) <= 600)
    }

    @Test(arguments: [Int64(-3_600_000), -60_000, 60_000, 3_600_000])
    func aStepOfTheWallClockForgetsWhatWasMeasured(stepMs: Int64) throws {
        var clock = ClockSkew()
        for at in [Int64(1000), 2000, 3000] { note(&clock, skewMs: 120_000, at: at) }
        #expect(clock.skewMs(wallMs: wall + 4000 + stepMs, steadyMs: 4000) == nil)
        #expect(clock.correctedMs(wallMs: wall + 4000 + stepMs, steadyMs: 4000) == wall + 4000 + stepMs)
        // The next answer measures the new clock, and the old answers don't count any more.
        clock.note(
            dateMs: (wall + 5000 + 120_000) / 1000 * 1000, wallMs: wall + 5000 + stepMs, sentSteadyMs: 5000,
            steadyMs: 5000)
        let measured = try #require(clock.skewMs(wallMs: wall + 5000 + stepMs, steadyMs: 5000))
        #expect(abs(measured - (120_000 - stepMs)) <= 600)
    }

    @Test func aMeasurementAges() {
        var clock = ClockSkew()
        note(&clock, skewMs: 120_000, at: 1000)
        let late = 1000 + ClockSkew.lifeMs
        #expect(clock.skewMs(wallMs: wall + late, steadyMs: late) != nil)
        #expect(clock.skewMs(wallMs: wall + late + 1, steadyMs: late + 1) == nil)
    }
}
