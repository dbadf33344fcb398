import CMicrohttpd
import EventLoop
import Glibc

/// One request that waits for its answer, which may come later and from any thread.
///
/// - Ownership: the server keeps it until the answer is sent; answering after the server stopped does
///   nothing.
/// - Threading: any; the first answer counts.
package final class HTTPExchange: Sendable {
    /// The request.
    package let request: HTTPRequest
    private let state: HTTPExchangeState

    init(request: HTTPRequest, state: HTTPExchangeState) {
        self.request = request
        self.state = state
    }

    /// Answers the request; a second answer is ignored.
    package func respond(_ response: HTTPResponse) { state.answer(response) }
}

/// What the server knows of one request while libmicrohttpd works on it.
///
/// - Threading: the variables that aren't private belong to the server's thread of the connection. The
///   others are guarded by `lock`.
/// - Safety: `connection` is only touched between `suspend` and the one `resume`, while libmicrohttpd keeps
///   it alive.
@safe final class HTTPExchangeState: @unchecked Sendable {
    /// Whose request it is.
    let owner: HTTPConnection?
    let headers: [(name: String, value: String)]
    var received: [UInt8] = []
    /// Bytes that were counted among the server's.
    var counted = 0
    /// Bytes that were thrown away.
    var overflow = 0
    /// Whether they were thrown away because all requests together are too large.
    var isTooMuch = false
    var started = false
    /// The stream that answers it.
    var stream: HTTPStream?

    private enum Phase { case handling, suspended, answered, finished }
    private let lock = Lock()
    private var phase = Phase.handling
    private var response: HTTPResponse?
    private var connection: OpaquePointer?

    init(connection: HTTPConnection?, headers: [(name: String, value: String)]) {
        owner = connection
        self.headers = headers
    }

    /// Keeps the answer and wakes the connection when it is suspended.
    func answer(_ response: HTTPResponse) {
        lock.withLock {
            guard self.response == nil, phase == .handling || phase == .suspended else { return }
            self.response = response
            if phase == .suspended, let waiting = unsafe connection { unsafe MHD_resume_connection(waiting) }
            phase = .answered
            unsafe connection = nil
        }
    }

    /// Suspends the connection when there is no answer yet; returns the answer otherwise.
    func takeOrSuspend(_ connection: OpaquePointer) -> HTTPResponse? {
        lock.withLock {
            if let response { return response }
            if phase == .handling {
                phase = .suspended
                unsafe self.connection = connection
                unsafe MHD_suspend_connection(connection)
            }
            return nil
        }
    }

    /// The connection is done with, whatever became of it.
    func finish() {
        lock.withLock {
            phase = .finished
            unsafe connection = nil
        }
    }
}
