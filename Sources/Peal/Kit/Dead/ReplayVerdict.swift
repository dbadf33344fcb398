/// What becomes of a letter that is to be replayed.
enum ReplayVerdict: String, CaseIterable {
    /// Its job is published again, or would be.
    case replay = "replayed"
    /// It was replayed before.
    case already
    /// Its job still can't be read.
    case unreadable
    /// The configuration has no such app.
    case unknownApp = "unknown_app"
    /// Its deadline has passed.
    case expired
    /// The recipient has no device any more.
    case noDevice = "no_device"
    /// The devices that it is about are gone.
    case deviceGone = "device_gone"
    /// The recipient has muted it.
    case muted
    /// A job of its dedup key was delivered.
    case duplicate
    /// Kafka did not take it.
    case refused

    /// For people.
    var words: String {
        switch self {
        case .replay: "published again"
        case .already: "replayed before; --again does it once more"
        case .unreadable: "still not a job that can be read"
        case .unknownApp: "of an app that the configuration does not have"
        case .expired: "past their deadline"
        case .noDevice: "to recipients without a device"
        case .deviceGone: "to devices that are gone"
        case .muted: "muted by their recipients"
        case .duplicate: "of a dedup key that was delivered meanwhile"
        case .refused: "not taken by Kafka; run it again"
        }
    }

    /// Everything that is known of one letter, and nothing that has to be asked for.
    struct Facts: Equatable {
        var wasReplayed = false
        /// Whether it is to be replayed although it was before.
        var again = false
        var isReadable = true
        var isAppKnown = true
        /// When its job is worthless, in ms since 1970; nil for never.
        var deadlineMs: Int64?
        var nowMs: Int64 = 0
        /// The ids of the recipient's devices; nil for a job that has no recipient.
        var devices: Set<String>?
        /// The ids that it is about; empty for all.
        var wanted: Set<String> = []
        var isMuted = false
        var isDedupDone = false
    }

    /// Decides; the first reason against it counts.
    init(_ facts: Facts) {
        if facts.wasReplayed, !facts.again {
            self = .already
        } else if !facts.isReadable {
            self = .unreadable
        } else if !facts.isAppKnown {
            self = .unknownApp
        } else if let deadline = facts.deadlineMs, deadline <= facts.nowMs {
            self = .expired
        } else if let devices = facts.devices, devices.isEmpty {
            self = .noDevice
        } else if let devices = facts.devices, !facts.wanted.isEmpty, devices.isDisjoint(with: facts.wanted) {
            self = .deviceGone
        } else if facts.isMuted {
            self = .muted
        } else if facts.isDedupDone {
            self = .duplicate
        } else {
            self = .replay
        }
    }
}
