import Core
import Testing

@testable import HTTP2

/// Which implementation of a client session the running test drives.
enum SessionUnderTest {
    @TaskLocal static var kind = HTTP2SessionKind.framed
}

/// Runs each test of a suite once with every implementation of a client session.
struct BothSessions: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        for kind in HTTP2SessionKind.allCases {
            try await SessionUnderTest.$kind.withValue(kind) { try await function() }
        }
    }
}

extension Trait where Self == BothSessions {
    static var bothSessions: Self { BothSessions() }
}

extension ClientSession {
    /// Hands on what is serialised, for tests that look at the bytes.
    func produce(budget: Int, _ sink: (UnsafeRawBufferPointer) -> Void) -> Bool? {
        var out = ByteBuffer()
        let isDone = produce(budget: budget, into: &out)
        sink(out.bytes)
        return isDone
    }
}
