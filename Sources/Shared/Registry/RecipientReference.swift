package import Core

/// The app and the recipient that a key belongs to, as borrowed bytes.
///
/// - Valid: as long as the memory that it was made from.
@safe
package struct RecipientReference {
    /// The app's name.
    package let app: UnsafeRawBufferPointer
    /// The recipient's name in that app.
    package let recipient: UnsafeRawBufferPointer

    /// Makes a reference to borrowed bytes.
    @inlinable package init(app: UnsafeRawBufferPointer, recipient: UnsafeRawBufferPointer) {
        unsafe self.app = unsafe app
        unsafe self.recipient = unsafe recipient
    }

    /// Lends a reference to the texts' UTF-8; for cold paths.
    package static func with<R, E: Error>(
        app: String, recipient: String, _ body: (RecipientReference) throws(E) -> R
    ) throws(E) -> R {
        let appBytes = Array(app.utf8)
        let recipientBytes = Array(recipient.utf8)
        var result: Result<R, E>?
        unsafe appBytes.withUnsafeBytes { app in
            unsafe recipientBytes.withUnsafeBytes { recipient in
                do throws(E) {
                    result = unsafe .success(try body(RecipientReference(app: app, recipient: recipient)))
                } catch {
                    result = .failure(error)
                }
            }
        }
        // `withUnsafeBytes` always calls its body, but it can't carry a typed error.
        guard let result else { preconditionFailure("a borrowed array didn't call back") }
        return try result.get()
    }
}

/// The keys of the documented Redis interface, appended piece by piece.
///
/// Everything about a recipient but its devices carries the hash tag `{app:recipient}`, so that it lies on
/// one cluster slot and a script may name all its keys. Devices lie in the hash of their recipient's shard.
package enum RegistryKeys {
    /// `{app:recipient}`.
    @inlinable static func tag(_ of: RecipientReference, into out: inout ByteBuffer) {
        out.append(byte: UInt8(ascii: "{"))
        unsafe out.append(of.app)
        out.append(byte: UInt8(ascii: ":"))
        unsafe out.append(of.recipient)
        out.append(byte: UInt8(ascii: "}"))
    }

    /// `peal:dev:{app:<shard>}`, the devices of the recipients of a shard.
    package static func devices(_ of: RecipientReference, into out: inout ByteBuffer) {
        out.append("peal:dev:{")
        unsafe out.append(of.app)
        out.append(byte: UInt8(ascii: ":"))
        unsafe out.append(unsigned: UInt64(RecipientShard.of(of.recipient)))
        out.append(byte: UInt8(ascii: "}"))
    }

    /// `peal:usr:{app:recipient}`, the hash of the unread counter and the preferences.
    @inlinable package static func user(_ of: RecipientReference, into out: inout ByteBuffer) {
        out.append("peal:usr:")
        tag(of, into: &out)
    }

    /// `peal:cap:{app:recipient}:<class>`, the frequency cap of one class of notifications.
    @inlinable package static func cap(
        _ of: RecipientReference, class name: UnsafeRawBufferPointer, into out: inout ByteBuffer
    ) {
        out.append("peal:cap:")
        tag(of, into: &out)
        out.append(byte: UInt8(ascii: ":"))
        unsafe out.append(name)
    }

    /// `peal:late:{app:recipient}:<collapse id>`, the newest job of that id while one is retried.
    package static func late(
        _ of: RecipientReference, collapse: UnsafeRawBufferPointer, into out: inout ByteBuffer
    ) {
        out.append("peal:late:")
        tag(of, into: &out)
        out.append(byte: UInt8(ascii: ":"))
        unsafe out.append(collapse)
    }

    /// `peal:next:{app:recipient}:<class>`, the newest job that waits for a cap.
    @inlinable package static func newest(
        _ of: RecipientReference, class name: UnsafeRawBufferPointer, into out: inout ByteBuffer
    ) {
        out.append("peal:next:")
        tag(of, into: &out)
        out.append(byte: UInt8(ascii: ":"))
        unsafe out.append(name)
    }

    /// `peal:sync:{app:recipient}:<device>`, the claim of the push that tells a read to the other devices.
    @inlinable package static func sync(
        _ of: RecipientReference, device: UnsafeRawBufferPointer, into out: inout ByteBuffer
    ) {
        out.append("peal:sync:")
        tag(of, into: &out)
        out.append(byte: UInt8(ascii: ":"))
        unsafe out.append(device)
    }

    /// `peal:ids:{app:<bucket>}:<slice>`, a bucket of job ids.
    package static func ids(
        app: UnsafeRawBufferPointer, bucket: UInt64, slice: Int64, into out: inout ByteBuffer
    ) {
        out.append("peal:ids:{")
        unsafe out.append(app)
        out.append(byte: UInt8(ascii: ":"))
        out.append(unsigned: bucket)
        out.append("}:")
        out.append(decimal: slice)
    }

    /// `peal:dedup:{app:recipient}:<key>`, the state of a sender's dedup key.
    @inlinable package static func dedup(
        _ of: RecipientReference, key: UnsafeRawBufferPointer, into out: inout ByteBuffer
    ) {
        out.append("peal:dedup:")
        tag(of, into: &out)
        out.append(byte: UInt8(ascii: ":"))
        unsafe out.append(key)
    }

    /// `peal:hop:{app:recipient}:<origin>:<attempt>`, the claim of a retry hop.
    @inlinable package static func hop(
        _ of: RecipientReference, origin: UnsafeRawBufferPointer, attempt: UInt32, into out: inout ByteBuffer
    ) {
        out.append("peal:hop:")
        tag(of, into: &out)
        out.append(byte: UInt8(ascii: ":"))
        unsafe out.append(origin)
        out.append(byte: UInt8(ascii: ":"))
        out.append(unsigned: UInt64(attempt))
    }

    /// `peal:own:{app:<bucket>}`, some of the owners of tokens.
    package static func owners(app: String, bucket: Int) -> String { "peal:own:{\(app):\(bucket)}" }

    /// `peal:rate:{app}:<provider>`, a provider's quota.
    package static func rate(app: String, provider: String) -> String { "peal:rate:{\(app)}:\(provider)" }

    /// `peal:stat:{app}:<minute>`, the counters of a minute since 1970; app `*` is all apps.
    package static func statistics(app: String, minute: Int64) -> String { "peal:stat:{\(app)}:\(minute)" }

    /// `peal:total:{app}`, the counters since the beginning.
    package static func totals(app: String) -> String { "peal:total:{\(app)}" }

    /// `peal:ts:{app}`, the stream for dashboards.
    package static func timeSeries(app: String) -> String { "peal:ts:{\(app)}" }

    /// `peal:cred:<kind>:<id>`, a provider token that all pods share.
    package static func credential(kind: String, id: String) -> String { "peal:cred:\(kind):\(id)" }

    /// `peal:keys:{app}`, the credentials that were uploaded for an app.
    package static func uploads(app: String) -> String { "peal:keys:{\(app)}" }

    /// `peal:lock:{app:name}`, a lock of some seconds.
    package static func lock(app: String, name: String) -> String { "peal:lock:{\(app):\(name)}" }

    /// `peal:cast:{app:id}`, how far a broadcast has got.
    package static func broadcast(app: String, id: String) -> String { "peal:cast:{\(app):\(id)}" }

    /// `peal:apps`, the apps that workers know, by when.
    package static let apps = "peal:apps"

    /// `peal:campaigns:{app}`, an app's campaigns by when they were last counted.
    package static func campaigns(app: String) -> String { "peal:campaigns:{\(app)}" }

    /// `peal:campaign:{app}:<name>`, what became of a campaign's deliveries.
    package static func campaign(app: String, name: String) -> String { "peal:campaign:{\(app)}:\(name)" }

    /// `peal:casts:{app}`, an app's latest broadcasts by when they were first seen.
    package static func broadcasts(app: String) -> String { "peal:casts:{\(app)}" }

    /// `peal:control`, what an operator paused.
    package static let control = "peal:control"

    /// `peal:pods`, the living pods.
    package static let pods = "peal:pods"
}
