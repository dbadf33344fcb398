internal import Core
package import Redis

/// Registers and removes devices over a blocking session: for the gateway, tools and tests.
///
/// A token's owner and a recipient's devices lie on different cluster slots, so a registration is several
/// steps. Their order makes every crash between two of them harmless once the client registers again, which
/// clients do at each start: the former owner loses the token before the new one gets it.
/// - Threading: that of its session.
package struct DeviceDirectory {
    /// Devices unheard of for so long are forgotten unless the configuration says otherwise: 270 days.
    package static let staleAfterMs: Int64 = 270 * 86_400_000
    /// The most devices of a recipient unless the configuration says otherwise.
    package static let devicesMax = 20

    let session: RedisSession
    let app: String
    let devicesMax: Int
    let staleAfterMs: Int64

    /// Makes a directory of an app over a session that loads ``RegistryScripts/all``. Devices registered
    /// longer ago than `staleAfterMs` are stale; 0: never.
    package init(
        session: RedisSession, app: String, devicesMax: Int = DeviceDirectory.devicesMax,
        staleAfterMs: Int64 = DeviceDirectory.staleAfterMs
    ) {
        self.session = session
        self.app = app
        self.devicesMax = max(1, devicesMax)
        self.staleAfterMs = max(0, staleAfterMs)
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
        let stored = record.storedToken
        // Registrations of one token go one after the other, or two could each remove the other's device, or
        // neither would.
        let place = TokenOwnerPlace(stored)
        let lock = RegistryLock(
            session: session, app: app, name: "token:\(place.bucket):\(Hex.encode(place.field))")
        try lock.take()
        defer { lock.release() }
        let former = try owner(ofStored: stored)
        try removeFormer(former, recipient, stored)
        try put(recipient, device, encoded)
        let since = try takeToken(stored, recipient, record.registeredAtMs)
        if since != former { try removeFormer(since, recipient, stored) }
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

    private func owner(ofStored token: StoredToken) throws(RedisFailure) -> String? {
        let place = TokenOwnerPlace(token)
        let reply = try session.run { out in
            out.begin(3)
            out.argument("HGET")
            out.argument(text: RegistryKeys.owners(app: app, bucket: place.bucket))
            out.argument(array: place.field)
        }
        guard case .string(let value) = reply, value.count >= 3 else { return nil }
        return String(decoding: value.dropFirst(3), as: UTF8.self)
    }

    private func takeToken(
        _ token: StoredToken, _ recipient: String, _ registeredAtMs: Int64
    ) throws(RedisFailure) -> String? {
        let place = TokenOwnerPlace(token)
        return try session.run { out in
            out.begin(RegistryScripts.takeToken, keys: 1, arguments: 4)
            out.argument(text: RegistryKeys.owners(app: app, bucket: place.bucket))
            out.argument(array: place.field)
            out.argument(text: recipient)
            out.argument(decimal: TokenOwnerPlace.minute(ofMs: registeredAtMs))
            out.argument(decimal: (staleAfterMs + 59_999) / 60_000)
        }.text
    }

    private func removeFormer(
        _ former: String?, _ recipient: String, _ token: StoredToken
    ) throws(RedisFailure) {
        guard let former, !former.hasSameBytes(as: recipient) else { return }
        _ = try removeRecord(of: former, device: "", token)
    }

    private func removeRecord(
        of recipient: String, device: String, _ token: StoredToken
    ) throws(RedisFailure) -> Int64 {
        let id = Array(device.utf8)
        return try RecipientReference.with(app: app, recipient: recipient) {
            (reference) throws(RedisFailure) in
            try session.run { out in
                unsafe id.withUnsafeBytes { id in
                    unsafe token.bytes.withUnsafeBytes { token in
                        unsafe RegistryCommands.removeDevice(
                            of: reference, id: id, storedToken: token, beforeMs: 0, into: &out)
                    }
                }
            }.integer ?? 0
        }
    }

    /// Writes the record and gives up the tokens that went with it: the device's former one, and those of
    /// devices that were stale or had to make room.
    private func put(_ recipient: String, _ device: String, _ encoded: [UInt8]) throws(RedisFailure) {
        let reply = try RecipientReference.with(app: app, recipient: recipient) {
            (reference) throws(RedisFailure) in
            try session.run { out in
                out.begin(RegistryScripts.putDevice, keys: 1, arguments: 5)
                out.argument { RegistryKeys.devices(reference, into: &$0) }
                out.argument(text: recipient)
                out.argument(text: device)
                out.argument(array: encoded)
                out.argument(decimal: Int64(devicesMax))
                out.argument(decimal: staleAfterMs)
            }
        }
        for lost in Self.devices(reply) { try release(lost.record, of: recipient) }
    }

    private static func devices(_ value: RedisValue) -> [(id: String, record: DeviceRecord)] {
        guard case .string(let bytes) = value else { return [] }
        return unsafe bytes.withUnsafeBytes { bytes in
            var list = unsafe DeviceList(bytes)
            var found: [(id: String, record: DeviceRecord)] = []
            while let next = list.next() {
                unsafe found.append((String(decoding: next.id, as: UTF8.self), DeviceRecord(next.device)))
            }
            return found
        }
    }

    private func release(_ record: DeviceRecord, of recipient: String) throws(RedisFailure) {
        let owned = OwnedToken(
            app: app, recipient: Array(recipient.utf8), token: record.storedToken,
            latestMs: record.registeredAtMs)
        try session.run { RegistryCommands.release(owned, into: &$0) }
    }

    /// Removes a device whatever its token is; false when there was none.
    @discardableResult
    package func remove(recipient: String, device: String) throws(RedisFailure) -> Bool {
        guard let record = try devices(of: recipient).first(where: { $0.id == device })?.record else {
            return false
        }
        let removed = try removeRecord(of: recipient, device: device, record.storedToken)
        try release(record, of: recipient)
        return removed == 1
    }

    /// Removes the token from whichever recipient and device has it, and gives the recipient; nil when nobody
    /// has it.
    @discardableResult
    package func remove(token: String, _ platform: DevicePlatform) throws(RedisFailure) -> String? {
        let stored = StoredToken(text: token, platform)
        guard let recipient = try owner(ofStored: stored) else { return nil }
        let record = try devices(of: recipient).first { $0.record.storedToken == stored }?.record
        guard let record else { return nil }
        let removed = try removeRecord(of: recipient, device: "", stored)
        try release(record, of: recipient)
        return removed == 1 ? recipient : nil
    }

    /// The recipient's devices, the one registered last at the end. Stale ones are among them until they are
    /// removed.
    package func devices(of recipient: String) throws(RedisFailure) -> [(id: String, record: DeviceRecord)] {
        Self.devices(
            try RecipientReference.with(app: app, recipient: recipient) { (reference) throws(RedisFailure) in
                try session.run { RegistryCommands.devices(reference, into: &$0) }
            })
    }

    /// The recipient that has the token now.
    package func owner(of token: String, _ platform: DevicePlatform) throws(RedisFailure) -> String? {
        try owner(ofStored: StoredToken(text: token, platform))
    }

    /// The recipient's unread counter.
    package func unread(of recipient: String) throws(RedisFailure) -> Int64 {
        try RecipientReference.with(app: app, recipient: recipient) { (reference) throws(RedisFailure) in
            try session.run { RegistryCommands.user(reference, into: &$0) }
        }.array.first?.integer ?? 0
    }

    /// The unread counters of the recipient's threads.
    package func unreadByThread(of recipient: String) throws(RedisFailure) -> [String: Int64] {
        let all = try session.command("HGETALL", "peal:usr:{\(app):\(recipient)}").pairs
        var found: [String: Int64] = [:]
        for pair in all where pair.key.utf8.first == UInt8(ascii: "t") {
            found[String(pair.key.dropFirst())] = pair.value.integer ?? 0
        }
        return found
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
    /// - Throws: `.refused` when something is wrong with them, else what Redis says.
    package func setPreferences(_ preferences: Preferences, of recipient: String) throws(RedisFailure) {
        if let fault = preferences.fault { throw RedisFailure(.refused, fault) }
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
