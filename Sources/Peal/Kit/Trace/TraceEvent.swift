/// One thing that the log says of a job.
struct TraceEvent: Equatable {
    enum Kind: Equatable {
        /// The job lies in a lane; by the lane's name.
        case lane(String)
        /// It waits in a retry topic; by the tier's name.
        case retry(String)
        /// It was handed to the broadcast stage.
        case broadcast
        case dead
        /// A delivery ended so.
        case outcome(String)
    }

    var kind: Kind
    var topic: String
    var partition: Int32
    var offset: Int64
    /// In ms since 1970: of an outcome when it was reached, else the record's own.
    var atMs: Int64
    /// Where the job was first published: `topic/partition/offset`.
    var origin: String
    var attempt: Int64 = 0
    /// When what waits is due, in ms since 1970.
    var dueMs: Int64 = 0
    var reason = ""
    /// The devices that it is about; empty for all.
    var devices: [String] = []
    var provider = ""
    var apnsID = ""
    /// Requests to a provider.
    var requests = 0
    /// The sentence of a dead letter.
    var detail = ""

    /// `topic/partition/offset` of the record.
    var place: String { "\(topic)/\(partition)/\(offset)" }

    /// Whether a delivery, or the whole job, ends with it.
    var isEnd: Bool {
        switch kind {
        case .outcome, .dead: true
        case .lane, .retry, .broadcast: false
        }
    }
}

/// What the log's first record of a job says about it.
struct TraceJob: Equatable {
    var app = ""
    /// Nil for a token and a broadcast.
    var recipient: String?
    var campaign: String?
    var dedup: String?
    var isBroadcast = false
    var key: [UInt8] = []
    /// When it was first published, in ms since 1970.
    var publishedMs: Int64 = 0
}
