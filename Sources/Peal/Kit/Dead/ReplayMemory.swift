internal import Redis

/// Which letters have been replayed: one bit a letter in Redis.
///
/// - Cost: 8 KiB for 65,536 letters of an hour and partition.
/// - The hour is that of the letter's record, so that a topic which was made again, and counts its offsets
///   from 0, meets no bits of its former life.
struct ReplayMemory {
    /// How long it is remembered after the last replay of the same 65,536 letters, in ms.
    static let lifeMs: Int64 = 30 * 86_400_000
    private static let segment: Int64 = 65_536
    private static let hourMs: Int64 = 3_600_000

    /// The dead-letter topic's name.
    let topic: String

    /// The key and the bit of a letter.
    func place(_ letter: DeadLetter) -> (key: String, bit: Int64) {
        let hour = max(0, letter.record.timestampMs) / Self.hourMs
        let (segment, bit) = letter.place.offset.quotientAndRemainder(dividingBy: Self.segment)
        return ("peal:replayed:\(topic):\(letter.place.partition):\(segment):\(hour)", bit)
    }

    /// The command that asks whether the letter was replayed; its answer is 1 or 0.
    func question(_ letter: DeadLetter) -> [String] {
        let (key, bit) = place(letter)
        return ["GETBIT", key, "\(bit)"]
    }

    /// Remembers the letters.
    func remember(_ letters: [DeadLetter], _ session: RedisSession) throws(RedisFailure) {
        var commands: [[String]] = []
        var keys: Set<String> = []
        for letter in letters {
            let (key, bit) = place(letter)
            commands.append(["SETBIT", key, "\(bit)", "1"])
            keys.insert(key)
        }
        commands += keys.map { ["PEXPIRE", $0, "\(Self.lifeMs)"] }
        for case .error(let failure) in try session.pipeline(commands) { throw failure }
    }
}
