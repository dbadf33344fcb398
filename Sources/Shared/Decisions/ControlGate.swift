internal import Core

/// What an operator's entries mean for a job or a delivery.
package enum ControlRuling: Equatable, Sendable {
    case go
    /// It waits; the pause has been in force since this time (ms since 1970, 0 when unknown).
    case pause(sinceMs: Int64)
    /// It ends with the outcome `cancelled`.
    case cancel
}

/// The entries in force, arranged so that a job's question costs one test while nothing is paused.
///
/// A cancellation wins over a pause. Entries of apps that this process does not know are left out.
package struct ControlGate: Equatable, Sendable {
    private struct Named: Equatable, Sendable {
        let name: [UInt8]
        let ruling: ControlRuling
    }

    private static let campaignSeed: UInt64 = 0x6361_6D70
    private static let jobSeed: UInt64 = 0x6A6F_6273
    private static let providers = Provider.allCases.count

    /// The version of what it was made from.
    package let version: Int64
    /// Whether nothing at all is paused or cancelled here.
    package private(set) var isOpen = true
    /// When the next entry ends by itself, in ms since 1970; make the gate anew then.
    package private(set) var validUntilMs = Int64.max
    /// Entries in force.
    package private(set) var count = 0
    /// By app, then by app and provider.
    private var apps: [ControlRuling]
    private var routes: [ControlRuling]
    /// By app: whether one of its campaigns or jobs has an entry.
    private var hasCampaigns: [Bool]
    private var hasJobs: [Bool]
    private var names: [UInt64: [Named]] = [:]

    /// A gate that lets everything through.
    package init() { self.init(ControlState(), apps: [], nowMs: 0) }

    /// Arranges the entries that are in force for `apps`, whose indices the questions will name.
    package init(_ state: ControlState, apps known: [String], nowMs: Int64) {
        version = state.version
        apps = Array(repeating: .go, count: known.count)
        routes = Array(repeating: .go, count: known.count * Self.providers)
        hasCampaigns = Array(repeating: false, count: known.count)
        hasJobs = hasCampaigns
        let indices = Dictionary(
            known.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        for entry in state.entries where entry.isInForce(nowMs: nowMs) {
            guard add(entry, indices) else { continue }
            isOpen = false
            count += 1
            validUntilMs = min(validUntilMs, entry.untilMs ?? .max)
        }
    }

    private mutating func add(_ entry: ControlEntry, _ indices: [String: Int]) -> Bool {
        let ruling: ControlRuling = entry.action == .cancel ? .cancel : .pause(sinceMs: entry.atMs)
        switch entry.subject {
        case .app(let app):
            guard let index = indices[app] else { return false }
            apps[index] = .pause(sinceMs: entry.atMs)
        case .provider(let provider, let app):
            let chosen = app.map { name in indices[name].map { [$0] } ?? [] } ?? Array(apps.indices)
            for index in chosen {
                routes[index * Self.providers + Int(provider.rawValue)] = .pause(sinceMs: entry.atMs)
            }
            return !chosen.isEmpty
        case .campaign(let app, let name):
            guard let index = indices[app] else { return false }
            hasCampaigns[index] = true
            add(name, app: index, Self.campaignSeed, ruling)
        case .job(let app, let id):
            guard let index = indices[app] else { return false }
            hasJobs[index] = true
            add(id, app: index, Self.jobSeed, ruling)
        }
        return true
    }

    private mutating func add(_ name: String, app: Int, _ seed: UInt64, _ ruling: ControlRuling) {
        let key = Hash64.of(text: name, seed: seed &+ UInt64(app))
        names[key, default: []].append(Named(name: Array(name.utf8), ruling: ruling))
    }

    // MARK: Questions

    /// What holds for a whole job. The names are asked for only where they can matter; nil stands for none.
    package func ruling(
        app: Int32, campaign: () -> UnsafeRawBufferPointer?, id: () -> UnsafeRawBufferPointer?
    ) -> ControlRuling {
        let index = Int(app)
        guard apps.indices.contains(index) else { return .go }
        var found = apps[index]
        if hasJobs[index], let name = unsafe id() {
            found = found.stricter(unsafe ruling(of: name, app: index, Self.jobSeed))
        }
        if found != .cancel, hasCampaigns[index], let name = unsafe campaign() {
            found = found.stricter(unsafe ruling(of: name, app: index, Self.campaignSeed))
        }
        return found
    }

    /// What holds for an app's deliveries by one provider.
    package func ruling(_ provider: Provider, app: Int32) -> ControlRuling {
        let index = Int(app) * Self.providers + Int(provider.rawValue)
        return routes.indices.contains(index) ? routes[index] : .go
    }

    private func ruling(of name: UnsafeRawBufferPointer, app: Int, _ seed: UInt64) -> ControlRuling {
        guard let candidates = unsafe names[Hash64.of(name, seed: seed &+ UInt64(app))] else { return .go }
        for candidate in candidates where unsafe candidate.name.elementsEqual(name) {
            return candidate.ruling
        }
        return .go
    }
}

extension ControlRuling {
    /// The one that stops more.
    package func stricter(_ other: ControlRuling) -> ControlRuling {
        switch (self, other) {
        case (.cancel, _), (_, .cancel): .cancel
        case (.pause(let mine), .pause(let its)): .pause(sinceMs: max(mine, its))
        case (.pause, .go): self
        case (.go, _): other
        }
    }
}

/// How long something waits that is kept back and asked again: as long as it has been kept back already,
/// within bounds. The wait so doubles from round to round, and an early end is noticed early.
package enum RoundWait {
    package static let shortestMs: Int64 = 1000
    package static let longestMs: Int64 = 60_000

    /// The wait in ms: up to an eighth shorter than its step, so that not everything comes back at once.
    /// `sinceMs` is 0 when nobody knows.
    package static func waitMs(
        sinceMs: Int64, nowMs: Int64, longestMs: Int64 = longestMs, random: UInt64
    ) -> Int64 {
        let age = sinceMs > 0 ? nowMs &- sinceMs : 0
        let step = min(max(age, shortestMs), max(longestMs, shortestMs))
        return max(shortestMs, step - Int64(UInt64(step / 8).multipliedFullWidth(by: random).high))
    }
}
