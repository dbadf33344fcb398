package import Redis

/// Registers and removes devices over a blocking session: for the gateway, tools and tests.
///
/// A token's owner and a recipient's devices lie on different cluster slots, so a registration is several
/// steps. Their order makes every crash between two of them harmless once the client registers again, which
/// clients do at each start: the former owner loses the token before the new one gets it.
/// - Threading: that of its session.
package struct DeviceDirectory {
    /// Recipients unheard of for so long are forgotten: 270 days.
    package static let keepMs: Int64 = 270 * 86_400_000

    let session: RedisSession
    let app: String
    let maximumDevices: Int

    /// Makes a directory of an app over a session that loads ``RegistryScripts/all``.
    package init(session: RedisSession, app: String, maximumDevices: Int = 20) {
        self.session = session
        self.app = app
        self.maximumDevices = max(1, maximumDevices)
    }

    /// Registers a device, or refreshes its registration; a token that another recipient or device had moves
    /// here.
    /// - Throws: `.refused` when the device id or the token can't be used, else what Redis says.
    package func register(
        recipient: String, device: String, _ record: DeviceRecord
    ) throws(RedisFailure) {
        guard Self.isDeviceID(device) else {
            throw RedisFailure(
                .refused, "a device id has 1 to 64 letters, digits, dots, hyphens or underscores")
        }
        guard let encoded = record.encoded else {
            let most = DeviceRecord.maximumTokenBytes
            throw RedisFailure(.refused, "a token has 1 to \(most) bytes")
        }
        let owner = TokenOwner(device: device, recipient: recipient)
        let former = try ownerText(record.token, record.platform)
        try removeFormer(former, owner, record)
        try put(recipient, device, record, encoded)
        let since = try takeOwnership(record, owner)
        if since != former { try removeFormer(since, owner, record) }
    }

    private static func isDeviceID(_ id: String) -> Bool {
        (1...64).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2E, 0x2D, 0x5F: true
                default: false
                }
            }
    }

    private func ownerKey(_ token: String, _ platform: DevicePlatform) -> String {
        RegistryKeys.owner(app: app, tokenDigest: DeviceRecord.tokenDigest(token, platform))
    }

    private func ownerText(_ token: String, _ platform: DevicePlatform) throws(RedisFailure) -> String? {
        try session.command("GET", ownerKey(token, platform)).text
    }

    private func takeOwnership(
        _ record: DeviceRecord, _ owner: TokenOwner
    ) throws(RedisFailure) -> String? {
        try session.command(
            "SET", ownerKey(record.token, record.platform), owner.text, "PX", "\(Self.keepMs)", "GET"
        ).text
    }

    private func removeFormer(
        _ text: String?, _ owner: TokenOwner, _ record: DeviceRecord
    ) throws(RedisFailure) {
        guard let text, text != owner.text, let former = TokenOwner(text: text) else { return }
        _ = try removeRecord(former, record.storedToken.bytes, beforeMs: 0)
    }

    private func removeRecord(
        _ owner: TokenOwner, _ stored: [UInt8], beforeMs: Int64
    ) throws(RedisFailure) -> Int64 {
        let id = Array(owner.device.utf8)
        return try RecipientReference.with(app: app, recipient: owner.recipient) {
            (recipient) throws(RedisFailure) in
            try session.run { out in
                unsafe id.withUnsafeBytes { id in
                    unsafe stored.withUnsafeBytes { stored in
                        unsafe RegistryCommands.removeDevice(
                            of: recipient, id: id, storedToken: stored, beforeMs: beforeMs, into: &out)
                    }
                }
            }.integer ?? 0
        }
    }

    /// Writes the record and gives up the tokens that went with it: the device's former one, and that of a
    /// device that had to make room.
    private func put(
        _ recipient: String, _ device: String, _ record: DeviceRecord, _ encoded: [UInt8]
    ) throws(RedisFailure) {
        let reply = try RecipientReference.with(app: app, recipient: recipient) {
            (reference) throws(RedisFailure) in
            try session.run { out in
                out.begin(RegistryScripts.putDevice, keys: 1, arguments: 4)
                out.argument { RegistryKeys.devices(reference, into: &$0) }
                out.argument(text: device)
                out.argument(array: encoded)
                out.argument(decimal: Int64(maximumDevices))
                out.argument(decimal: Self.keepMs)
            }
        }.array
        guard reply.count == 3 else {
            throw RedisFailure(.protocolBroken, "an unexpected reply to put_device")
        }
        if let before = Self.record(reply[0]), before.token != record.token {
            try release(before, TokenOwner(device: device, recipient: recipient))
        }
        if let removed = Self.record(reply[2]), let id = reply[1].text {
            try release(removed, TokenOwner(device: id, recipient: recipient))
        }
    }

    private static func record(_ value: RedisValue) -> DeviceRecord? {
        guard case .string(let bytes) = value else { return nil }
        return unsafe bytes.withUnsafeBytes { unsafe DeviceView($0).map { DeviceRecord($0) } }
    }

    private func release(_ record: DeviceRecord, _ owner: TokenOwner) throws(RedisFailure) {
        try session.run {
            RegistryCommands.releaseOwner(
                app: app, platform: record.platform, token: record.token, owner: owner, into: &$0)
        }
    }

    /// Removes a device whatever its token is; false when there was none.
    @discardableResult
    package func remove(recipient: String, device: String) throws(RedisFailure) -> Bool {
        guard let record = try devices(of: recipient).first(where: { $0.id == device })?.record else {
            return false
        }
        let owner = TokenOwner(device: device, recipient: recipient)
        let removed = try removeRecord(owner, record.storedToken.bytes, beforeMs: 0)
        try release(record, owner)
        return removed == 1
    }

    /// The recipient's devices in no order; unreadable records are left out.
    package func devices(of recipient: String) throws(RedisFailure) -> [(id: String, record: DeviceRecord)] {
        try RecipientReference.with(app: app, recipient: recipient) { (reference) throws(RedisFailure) in
            try session.run { RegistryCommands.devices(reference, into: &$0) }
        }.pairs.compactMap { pair in Self.record(pair.value).map { (pair.key, $0) } }
    }

    /// Who has the token now.
    package func owner(of token: String, _ platform: DevicePlatform) throws(RedisFailure) -> TokenOwner? {
        try ownerText(token, platform).flatMap { TokenOwner(text: $0) }
    }

    /// The recipient's unread counter.
    package func unread(of recipient: String) throws(RedisFailure) -> Int64 {
        try RecipientReference.with(app: app, recipient: recipient) { (reference) throws(RedisFailure) in
            try session.run { RegistryCommands.user(reference, into: &$0) }
        }.array.first?.integer ?? 0
    }

    /// Adds to the unread counter and gives the result.
    @discardableResult
    package func addUnread(_ delta: Int64, of recipient: String) throws(RedisFailure) -> Int64 {
        try RecipientReference.with(app: app, recipient: recipient) { (reference) throws(RedisFailure) in
            try session.run { RegistryCommands.addUnread(delta, of: reference, into: &$0) }
        }.integer ?? 0
    }

    /// Sets the unread counter as of the client's time and gives the result; an older statement than the last
    /// is ignored, 0 is never older.
    @discardableResult
    package func setUnread(
        _ count: Int64, asOfMs: Int64 = 0, of recipient: String
    ) throws(RedisFailure) -> Int64 {
        try RecipientReference.with(app: app, recipient: recipient) { (reference) throws(RedisFailure) in
            try session.run { RegistryCommands.setUnread(count, asOfMs: asOfMs, of: reference, into: &$0) }
        }.array.first?.integer ?? 0
    }

    /// Writes the recipient's preferences.
    package func setPreferences(_ preferences: Preferences, of recipient: String) throws(RedisFailure) {
        _ = try RecipientReference.with(app: app, recipient: recipient) { (reference) throws(RedisFailure) in
            try session.run { RegistryCommands.setPreferences(preferences, of: reference, into: &$0) }
        }
    }

    /// The recipient's preferences.
    package func preferences(of recipient: String) throws(RedisFailure) -> Preferences {
        let reply = try RecipientReference.with(app: app, recipient: recipient) {
            (reference) throws(RedisFailure) in
            try session.run { RegistryCommands.user(reference, into: &$0) }
        }.array
        guard reply.count == 2, case .string(let bytes) = reply[1] else { return Preferences() }
        return unsafe bytes.withUnsafeBytes { unsafe Preferences(PreferencesView($0)) }
    }
}
