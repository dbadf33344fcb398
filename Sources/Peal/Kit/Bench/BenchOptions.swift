/// What `peal bench` measures and how long.
struct BenchOptions: Sendable {
    /// Connections and streams on each, for one transport comparison.
    struct Shape: Equatable, Sendable {
        let connections: Int
        let streams: Int
    }

    var hasTransport = true
    var hasPipeline = true
    /// Requests of one transport run.
    var requests = 300_000
    /// Transport runs of each side.
    var pairs = 5
    /// The first one gives the headline figures.
    var shapes = [
        Shape(connections: 1, streams: 100), Shape(connections: 4, streams: 100),
        Shape(connections: 1, streams: 1000),
    ]
    /// Bytes of a request's body in transport runs and of h2load's everywhere.
    var bodyBytes = 228
    /// Jobs of one pipeline run.
    var jobs = 200_000
    /// Pipeline runs of each kind of job.
    var rounds = 3
    var recipients = 10_000
    var shards = 1
    var partitions = 64
    /// How long one run may take, in ms.
    var runDeadlineMs: UInt64 = 300_000
    var isVerbose = true
    var keepsDirectory = false
}
