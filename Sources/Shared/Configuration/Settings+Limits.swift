import YAML

/// What an app may send at most, and what it sends only once.
extension Settings.App {
    /// What becomes of a notification that a cap doesn't let through.
    package enum CapPolicy: String, CaseIterable, Sendable {
        /// It ends there.
        case drop
        /// It waits until the cap lets it through.
        case `defer`
        /// It waits as well, until a newer one of the class to that recipient takes its place.
        case replace
    }

    /// At most `count` notifications of a class to one recipient in any `perMs`.
    package struct Cap: Equatable, Sendable {
        package var className: String
        package var count: Int
        package var perMs: Int64
        package var policy = CapPolicy.drop

        package init(className: String, count: Int, perMs: Int64, policy: CapPolicy = .drop) {
            self.className = className
            self.count = count
            self.perMs = perMs
            self.policy = policy
        }

        /// Reads `5/1h` or `5/1h defer`; nil when it is no cap.
        init?(className: String, text: String) {
            let words = text.split(separator: " ")
            guard words.count == 1 || words.count == 2 else { return nil }
            let parts = words[0].split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, let count = Int(parts[0]), (1...10_000).contains(count),
                let per = Units.durationMs(String(parts[1])), (1000...2_592_000_000).contains(per)
            else { return nil }
            var policy = CapPolicy.drop
            if words.count == 2 {
                guard let named = CapPolicy(rawValue: String(words[1])) else { return nil }
                policy = named
            }
            self.init(className: className, count: count, perMs: per, policy: policy)
        }
    }

    /// Reads `caps`, `dedup_ids` and `quota`.
    mutating func readLimits(_ section: SectionReader) {
        readCaps(section.section("caps"))
        dedupIDsMs = section.duration("dedup_ids", dedupIDsMs, in: 0...604_800_000)
        dedupIDsExpected = Int64(
            section.integer("dedup_ids_expected", Int(dedupIDsExpected), in: 1000...1_000_000_000))
        let quota = section.section("quota")
        apnsQuota = Self.rate("apns", quota)
        fcmQuota = Self.rate("fcm", quota)
        quota.finish()
    }

    /// A cap is written `5/1h`: five in any hour; `5/1h defer` or `5/1h replace` lets the others wait.
    private mutating func readCaps(_ section: SectionReader) {
        for entry in section.otherEntries(than: []) {
            guard let found = section.find(entry.key) else { continue }
            guard let cap = Cap(className: entry.key, text: found.text) else {
                section.report(
                    .badValue, found, entry.key,
                    "'\(found.text)' is no cap; write it like 5/1h, 5/1h defer or 5/1h replace")
                continue
            }
            caps.append(cap)
        }
        caps.sort { $0.className < $1.className }
        section.finish()
    }

    /// A rate is written `500/s`, `30000/m` or `1000/10s`; here it counts a thousand seconds.
    private static func rate(_ key: String, _ section: SectionReader) -> Int64? {
        guard let found = section.find(key) else { return nil }
        let parts = found.text.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2, let count = Int64(parts[0]), (1...10_000_000).contains(count) {
            let unit = parts[1].first?.isNumber == true ? String(parts[1]) : "1\(parts[1])"
            if let per = Units.durationMs(unit), (1000...3_600_000).contains(per) {
                return max(1, count * 1_000_000 / per)
            }
        }
        section.report(
            .badValue, found, key, "'\(found.text)' is no rate; write it like 500/s or 30000/m")
        return nil
    }
}
