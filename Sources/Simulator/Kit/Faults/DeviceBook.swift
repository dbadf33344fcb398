/// The device tokens that the simulator has been told about.
///
/// A token that is not listed is treated as valid everywhere, unless only listed ones are.
/// - Threading: the simulator's loop only.
struct DeviceBook {
    static let devicesMax = 4_000_000

    /// What is known about one token.
    struct Device {
        /// The hash of the only topic (APNs) or project (FCM) the token is good for; zero for any.
        var topicHash: UInt64 = 0
        var environment: PushEnvironment?
        /// When the app was removed, in milliseconds since 1970; zero while it is there.
        var unregisteredAtMs: Int64 = 0
    }

    private var devices: [UInt64: Device] = [:]
    /// Whether a token that is not listed is refused.
    var refusesUnknown = false

    /// Whether no token needs to be looked up.
    var isIdle: Bool { devices.isEmpty && !refusesUnknown }

    var count: Int { devices.count }

    /// Lists a token, or replaces what is known about it. False when the book is full.
    mutating func set(tokenHash: UInt64, _ device: Device) -> Bool {
        guard devices.count < Self.devicesMax || devices[tokenHash] != nil else { return false }
        devices[tokenHash] = device
        return true
    }

    mutating func removeAll() { devices.removeAll() }

    /// What APNs says about a token on this host under this topic, with the time of removal for a 410.
    func checkAPNs(
        token: Bytes, topic: Bytes, environment: PushEnvironment
    ) -> (reason: APNsReason, timestampMs: Int64) {
        guard let device = devices[token.hash] else { return (refusesUnknown ? .badDeviceToken : .none, 0) }
        if let home = device.environment, home != environment { return (.badDeviceToken, 0) }
        if device.topicHash != 0, device.topicHash != topic.hash { return (.deviceTokenNotForTopic, 0) }
        return device.unregisteredAtMs > 0 ? (.unregistered, device.unregisteredAtMs) : (.none, 0)
    }

    /// What FCM says about a token in this project.
    func checkFCM(token: Bytes, project: Bytes) -> FCMError {
        guard let device = devices[token.hash] else { return refusesUnknown ? .unregistered : .none }
        if device.topicHash != 0, device.topicHash != project.hash { return .senderIDMismatch }
        return device.unregisteredAtMs > 0 ? .unregistered : .none
    }
}
