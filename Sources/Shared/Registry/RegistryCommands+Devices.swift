internal import Core
package import Redis

/// The commands about devices and the owners of their tokens.
extension RegistryCommands {
    /// Reads a recipient's devices; the reply's bytes are a ``DeviceList``, null for none.
    package static func devices(_ of: RecipientReference, into out: inout RedisCommandBuffer) {
        out.begin(3)
        out.argument("HGET")
        out.argument { RegistryKeys.devices(of, into: &$0) }
        unsafe out.argument(bytes: of.recipient)
    }

    /// Removes a device if it still has the token and was registered before `beforeMs` (0: whenever); an
    /// empty id stands for whichever device has the token.
    ///
    /// The reply is 1 removed, 0 gone or re-registered with another token, -1 registered since. After 1 the
    /// token's owner goes with ``release(_:app:)``, on another slot.
    package static func removeDevice(
        of recipient: RecipientReference, id: UnsafeRawBufferPointer, storedToken: UnsafeRawBufferPointer,
        beforeMs: Int64, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.removeDevice, keys: 1, arguments: 4)
        out.argument { RegistryKeys.devices(recipient, into: &$0) }
        unsafe out.argument(bytes: recipient.recipient)
        unsafe out.argument(bytes: id)
        unsafe out.argument(bytes: storedToken)
        out.argument(decimal: max(0, beforeMs))
    }

    /// Corrects a device's environment if it still has the token from the registration at `registeredAtMs`.
    ///
    /// The reply is 1 corrected, 0 when there was nothing to correct any more.
    package static func correctEnvironment(
        of recipient: RecipientReference, id: UnsafeRawBufferPointer, storedToken: UnsafeRawBufferPointer,
        registeredAtMs: Int64, isSandbox: Bool, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.correctEnvironment, keys: 1, arguments: 5)
        out.argument { RegistryKeys.devices(recipient, into: &$0) }
        unsafe out.argument(bytes: recipient.recipient)
        unsafe out.argument(bytes: id)
        unsafe out.argument(bytes: storedToken)
        out.argument(decimal: registeredAtMs)
        out.argument(decimal: isSandbox ? 1 : 0)
    }

    /// Removes a token's owner if it is still this one and no registration came since; the reply is 1 or 0.
    package static func release(_ owned: OwnedToken, into out: inout RedisCommandBuffer) {
        out.begin(RegistryScripts.releaseToken, keys: 1, arguments: 3)
        out.argument(text: RegistryKeys.owners(app: owned.app, bucket: owned.place.bucket))
        out.argument(array: owned.place.field)
        out.argument(array: owned.recipient)
        out.argument(decimal: owned.minute)
    }
}

/// A token and the recipient that had it, after it was removed.
package struct OwnedToken: Sendable, Equatable {
    /// The app.
    package let app: String
    let place: TokenOwnerPlace
    let recipient: [UInt8]
    let minute: Int64

    /// Makes one. An owner that was registered after the minute of `latestMs` (ms since 1970) stays.
    package init(app: String, recipient: [UInt8], token: StoredToken, latestMs: Int64) {
        self.app = app
        self.recipient = recipient
        place = TokenOwnerPlace(token)
        minute = TokenOwnerPlace.minute(ofMs: latestMs)
    }
}
