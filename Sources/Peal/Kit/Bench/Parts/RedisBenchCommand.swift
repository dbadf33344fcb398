internal import Core
internal import EventLoop
internal import Redis
internal import Registry

/// A command that `peal bench redis` sends again and again.
struct RedisBenchCommand: Sendable {
    /// What redis-benchmark replaces by another number of twelve digits every time.
    static let placeholder = "__rand_int__"
    /// How many different numbers there are: users, and positions of a record.
    static let numbers: UInt64 = 10_000

    /// Its name in the JSON report.
    let key: String
    let title: String
    /// The command's words, some with the placeholder in them.
    let words: [String]
    private let pieces: [Piece]

    /// A word, cut where the number goes in; no tail without one.
    private struct Piece {
        let head: [UInt8]
        let tail: [UInt8]?
    }

    init(key: String, title: String, words: [String]) {
        self.key = key
        self.title = title
        self.words = words
        pieces = words.map { word in
            guard let at = word.firstRange(of: Self.placeholder) else {
                return Piece(head: Array(word.utf8), tail: nil)
            }
            return Piece(
                head: Array(word[..<at.lowerBound].utf8), tail: Array(word[at.upperBound...].utf8))
        }
    }

    /// Bytes of the encoded command.
    var byteCount: Int {
        var out = RedisCommandBuffer()
        var numbers = Numbers()
        encode(&numbers, into: &out)
        return out.count
    }

    /// The numbers that take the placeholders' place, as random as redis-benchmark's.
    struct Numbers {
        private var state: UInt64 = 1

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % RedisBenchCommand.numbers
        }
    }

    /// Appends the command with another number in the stead of each placeholder.
    func encode(_ numbers: inout Numbers, into out: inout RedisCommandBuffer) {
        out.begin(pieces.count)
        for piece in pieces {
            guard let tail = piece.tail else {
                out.argument(array: piece.head)
                continue
            }
            let number = numbers.next()
            out.argument {
                $0.append(array: piece.head)
                var unit: UInt64 = 100_000_000_000
                while unit > 0 {
                    $0.append(byte: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / unit % 10))
                    unit /= 10
                }
                $0.append(array: tail)
            }
        }
    }

    /// The words of a command as the registry encodes it.
    static func words(_ encode: (inout RedisCommandBuffer) -> Void) -> [String] {
        var out = RedisCommandBuffer()
        encode(&out)
        // `*<count>`, and then a length and a text for each word (RESP2); no word here holds a line end.
        let lines = String(decoding: out.encoded, as: UTF8.self).split(separator: "\r\n")
        return lines.enumerated().filter { $0.offset > 0 && $0.offset % 2 == 0 }.map { String($0.element) }
    }
}

extension RedisBenchCommand {
    /// Does nothing: what a call of a script costs by itself.
    static let emptyScript = RedisScript(name: "empty", source: "return 1")
    /// The recipient whose device is asked for.
    static let recipient = "user-0"

    /// The yardstick, and what a worker asks for a job to a recipient with one device.
    static var all: [RedisBenchCommand] {
        let position = JobPosition(
            lane: UInt8(ascii: "n"), topicHash: 0, partition: 0, offset: 1, timestampMs: Clock.wallMs)
        let admission = words { out in
            RecipientReference.with(app: BenchJobs.app, recipient: "user-\(placeholder)") { user in
                var admission = Admission(user)
                admission.position = position
                admission.unreadDelta = 1
                admission.encode(into: &out)
            }
        }.map {
            // Each time another partition, so that no record counts as seen.
            $0 == "0.0000" ? placeholder : $0
        }
        let devices = words { out in
            RecipientReference.with(app: BenchJobs.app, recipient: recipient) {
                RegistryCommands.devices($0, into: &out)
            }
        }
        return [
            RedisBenchCommand(key: "get", title: "GET of a missing key", words: ["GET", "peal:none"]),
            RedisBenchCommand(
                key: "empty", title: "EVALSHA of a script that only returns",
                words: admission.enumerated().map { $0.offset == 1 ? emptyScript.digest : $0.element }),
            RedisBenchCommand(key: "devices", title: "HGET of a recipient's one device", words: devices),
            RedisBenchCommand(
                key: "admit", title: "EVALSHA admit of a job that only counts", words: admission),
            RedisBenchCommand(
                key: "counter", title: "HINCRBY of a live counter",
                words: ["HINCRBY", RegistryKeys.totals(app: BenchJobs.app), "accepted", "1"]),
        ]
    }
}
