import EventLoop

/// One background thread that makes HTTP requests in order, for callers that must not wait.
///
/// - Ownership: `stop()` ends the thread; requests that still wait fail with `stopped`.
/// - Threading: `submit` from any thread. Completions run on the worker's thread: push into an `Inbox` and
///   return.
package final class HTTPWorker: Sendable {
    /// What becomes of a request.
    package typealias Outcome = Result<HTTPClientResponse, HTTPClientFailure>

    private struct Task: Sendable {
        let request: HTTPClientRequest
        let completion: @Sendable (Outcome) -> Void
    }

    private let tasks: BlockingQueue<Task>
    private let isStopping = Locked(false)
    private let thread = Locked<WorkerThread?>(nil)

    /// Starts the thread; at most `queueMax` requests wait.
    package init(_ options: HTTPClientOptions, queueMax: Int = 256, name: String = "http") {
        tasks = BlockingQueue(capacity: queueMax)
        let tasks = tasks
        let isStopping = isStopping
        let started = WorkerThread.start(name: name) {
            Self.run(options, tasks: tasks, isStopping: { isStopping.withLock { $0 } })
        }
        thread.withLock { $0 = started }
    }

    /// Queues a request; false (and no completion) when the queue is full or the worker has stopped.
    package func submit(_ request: HTTPClientRequest, completion: @escaping @Sendable (Outcome) -> Void)
        -> Bool
    {
        tasks.push(Task(request: request, completion: completion))
    }

    /// Requests that `submit` refused so far.
    package var refusedCount: UInt64 { tasks.refusedCount }

    /// Fails what waits and ends the thread; waits for the request under way, at most its total deadline.
    package func stop() {
        isStopping.withLock { $0 = true }
        tasks.close()
        let running = thread.withLock { (held: inout WorkerThread?) -> WorkerThread? in
            defer { held = nil }
            return held
        }
        running?.join()
    }

    private static func run(
        _ options: HTTPClientOptions, tasks: BlockingQueue<Task>, isStopping: () -> Bool
    ) {
        let client = HTTPClient(options)
        let stopped = HTTPClientFailure(
            code: .stopped, description: "The request was not sent: the process is stopping.",
            mayHaveArrived: false)
        var batch: [Task] = []
        while tasks.take(into: &batch, timeoutMs: 60_000) {
            for task in batch {
                guard !isStopping() else {
                    task.completion(.failure(stopped))
                    continue
                }
                task.completion(Result { () throws(HTTPClientFailure) in try client.send(task.request) })
            }
        }
    }
}
