import Core
import Jobs

/// Renders one app's jobs for APNs and FCM.
///
/// - Pure: no clock and no I/O; the same inputs give the same bytes.
/// - Threading: one thread at a time, since it owns scratch memory; each shard has its own.
/// - Cost: nothing is allocated while a payload fits and has no `apns` or `fcm` of its own. Merging those in
///   reuses the scratch memory; only truncation makes a `String`.
@safe
package final class Renderer {
    /// How payloads are rendered.
    package let settings: RenderSettings
    let appName: [UInt8]
    let defaultSound: [UInt8]
    let encryptedTitle: [UInt8]
    let androidChannel: [UInt8]
    private let topics: [[UInt8]]

    /// The message and the payload before the job's own `fcm` and `apns.payload` are merged into them.
    var scratch = ByteBuffer(capacity: 4096)
    var mergeBase = ByteBuffer(capacity: 4096)
    /// The body that fits.
    var shortened = ByteBuffer(capacity: 1024)

    /// Prepares rendering under `settings`.
    package init(settings: RenderSettings) {
        self.settings = settings
        func quoted(_ text: String?) -> [UInt8] {
            guard let text, !text.isEmpty else { return [] }
            var buffer = ByteBuffer()
            buffer.append(jsonString: text)
            return buffer.array
        }
        appName = quoted(settings.appName)
        defaultSound = quoted(settings.defaultSound ?? (settings.profile == .dialect ? "default" : nil))
        encryptedTitle = quoted(settings.encryptedTitle)
        androidChannel = quoted(settings.androidChannel)
        topics = JobType.allCases.map { Array("\(settings.bundleID)\($0.topicSuffix)".utf8) }
    }

    /// Lends the bytes of the `apns-topic` header.
    package func withTopic(_ head: APNsHead, _ body: (UnsafeRawBufferPointer) -> Void) {
        if let own = head.topicOverride { return unsafe body(own.raw) }
        let index = Int(head.pushType.rawValue)
        guard index < topics.count else { return }
        unsafe topics[index].withUnsafeBytes { unsafe body($0) }
    }
}
