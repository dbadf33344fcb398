internal import Core
internal import Kafka

/// One part of a broadcast while this process expands it.
final class PartWork {
    /// The most shards that are read in one go.
    private static let pageShardsMax = 1024

    /// A number unlike that of any other part in memory, which names it in Redis tags.
    let number: UInt32
    /// What names a part.
    struct Key: Hashable {
        let broadcast: BroadcastIdentity
        let part: Int
    }

    /// Where it stands.
    enum Stage: Equatable {
        /// Redis is to be asked how far it has got.
        case opening
        /// Pages are read, produced and stored.
        case expanding
        /// It was cancelled: what is out is waited for.
        case cancelling
    }

    let key: Key
    let record: HeldRecord
    let template: BroadcastTemplate
    /// What the keys of its records begin with: the app and a slash.
    let appPrefix: [UInt8]
    /// How many parts the broadcast has.
    let parts: Int
    let shards: Range<Int>
    var stage = Stage.opening
    /// The gate's number for the app.
    var app: Int32 = 0
    /// Whether an operator holds it back.
    var isPaused = false
    /// Pages in the order of their shards.
    var pages: [RecipientPage] = []
    /// The next shard to read.
    var next: Int
    /// The next shard as Redis knows it, and the recipients before it.
    var stored: Int
    var storedCount: Int64 = 0
    /// What a question that is under way will store.
    var storing: (next: Int, count: Int64)?
    /// Whether Redis was asked and has not answered.
    var isAsking = false
    /// When Redis is asked again after a failure, in ms of the loop's clock.
    var retryAtMs: UInt64 = 0
    /// Shards that make a page, by what the last page held.
    private var shardsPerPage = 64

    init(
        number: UInt32, _ record: HeldRecord, _ template: BroadcastTemplate, _ range: PartRange,
        shardCount: Int
    ) {
        self.number = number
        parts = range.parts
        appPrefix = Array("\(template.identity.app)/".utf8)
        key = Key(broadcast: template.identity, part: range.part)
        self.record = record
        self.template = template
        shards = range.shards(of: shardCount)
        next = shards.lowerBound
        stored = shards.lowerBound
    }

    /// Starts over at the place that Redis knows.
    func begin(at place: Int?, count: Int64?) {
        stored = min(max(place ?? shards.lowerBound, shards.lowerBound), shards.upperBound)
        storedCount = max(0, count ?? 0)
        next = stored
        stage = .expanding
    }

    /// The shards of the next page; nil when all are read.
    var nextPage: Range<Int>? {
        next < shards.upperBound ? next..<min(next + shardsPerPage, shards.upperBound) : nil
    }

    /// Notes how dense the shards are.
    func learn(from page: RecipientPage, target: Int) {
        let perShard = max(1, page.count / max(1, page.shards.count))
        shardsPerPage = min(max(target / perShard, 1), Self.pageShardsMax)
    }

    /// What can be stored: the pages at the front that are complete.
    var progress: (next: Int, count: Int64, pages: Int)? {
        var place = stored
        var count = storedCount
        var pages = 0
        for page in self.pages {
            guard page.isComplete else { break }
            place = page.shards.upperBound
            count += Int64(page.count)
            pages += 1
        }
        return pages > 0 ? (place, count, pages) : nil
    }

    /// Notes that everything before `next` is stored; the pages that are done with.
    func store(_ place: (next: Int, count: Int64)) -> [RecipientPage] {
        stored = place.next
        storedCount = place.count
        let done = pages.prefix { $0.shards.upperBound <= place.next }
        pages.removeFirst(done.count)
        return Array(done)
    }

    /// Gives back the pages of which nothing is out; they are read again when the part goes on.
    func retreat() -> [RecipientPage] {
        guard let place = pages.firstIndex(where: { !$0.isBegun && !$0.isComplete }) else { return [] }
        let dropped = pages[place...]
        pages.removeLast(dropped.count)
        next = dropped.first?.shards.lowerBound ?? next
        return Array(dropped)
    }

    /// Forgets all that was read, to ask Redis again where to begin.
    func restart() -> [RecipientPage] {
        defer { pages = [] }
        storing = nil
        stage = .opening
        return pages
    }

    /// Whether nothing of it is out or on its way into Redis.
    var isQuiet: Bool { pages.isEmpty && !isAsking }
}
