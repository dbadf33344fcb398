import Core
import Testing

@Suite struct TraceContextTests {
    static let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test func aHeaderIsReadAndWrittenBack() throws {
        let context = try #require(TraceContext(text: Self.good))
        #expect(context.trace == TraceID(high: 0x4bf9_2f35_77b3_4da6, low: 0xa3ce_929d_0e0e_4736))
        #expect(context.span == 0x00f0_67aa_0ba9_02b7 && context.isSampled)
        var out = ByteBuffer()
        context.append(to: &out)
        #expect(out.text == Self.good)
        #expect(context.trace.text == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(TraceContext(text: Self.good.dropLast() + "0")?.isSampled == false)
        // Other flags are not ours to judge.
        #expect(TraceContext(text: Self.good.dropLast(2) + "ff")?.isSampled == true)
        // A later version may say more.
        #expect(TraceContext(text: "01" + Self.good.dropFirst(2) + "-more") != nil)
    }

    @Test(arguments: [
        "", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
    ])
    func whatIsNoneIsNoTrace(text: String) { #expect(TraceContext(text: text) == nil) }

    private func trace(_ app: String, _ job: String) -> TraceID {
        var (app, job) = (app, job)
        return app.withUTF8 { app in
            job.withUTF8 { TraceID(app: UnsafeRawBufferPointer(app), job: UnsafeRawBufferPointer($0)) }
        }
    }

    @Test func aJobsOwnTraceFollowsFromItsAppAndItsID() {
        #expect(trace("shop", "j1") == trace("shop", "j1"))
        #expect(trace("shop", "j1") != trace("shop", "j2"))
        #expect(trace("shop", "j1") != trace("bank", "j1"))
    }

    @Test func aShareOfTheTracesIsAboutThatShareAndALargerOneHoldsIt() {
        var counts: [Double: Int] = [:]
        let shares = [0, 0.01, 0.25, 0.5, 1]
        for number in 0..<20_000 {
            let id = trace("shop", "job-\(number)")
            var wasIn = false
            for share in shares {
                let isIn = id.isWithin(share: share)
                #expect(isIn || !wasIn)
                wasIn = isIn
                if isIn { counts[share, default: 0] += 1 }
            }
        }
        #expect(counts[0] == nil && counts[1] == 20_000)
        for share in [0.01, 0.25, 0.5] {
            let expected = share * 20_000
            #expect(abs(Double(counts[share] ?? 0) - expected) < 0.1 * expected + 60)
        }
    }
}
