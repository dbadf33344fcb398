package import Decisions
package import EventLoop
package import HTTP2
package import Jobs
internal import Rendering

/// A shard's own side of a route: its connections, its header templates and whether it is held up.
///
/// - Threading: the shard's loop.
@safe
package final class Route {
    /// Whether requests can go by this route now.
    package enum Availability: Equatable, Sendable {
        case ready
        /// The credential has no value yet; it usually has one within a second of the start.
        case pending
        /// Not before this time (ms since 1970).
        case paused(untilMs: Int64, Reason)
    }

    package let definition: RouteDefinition
    package let pool: HTTP2Pool
    /// A few connections of their own for what is likely to be refused: APNs makes a connection slower with
    /// each error on it, and closes it after many. Made when it is first needed.
    package private(set) var sidePool: HTTP2Pool?
    private let loop: EventLoop
    // The pool holds its sink until it is closed; this one only lends it to the second pool.
    private let sink: any ResponseSink
    /// The bearer's version that the templates carry.
    package private(set) var bearerVersion: UInt32 = 0
    private var authorization: [UInt8] = []
    private var fault: Reason?
    /// A sentence about the fault, for the log.
    package private(set) var explanation = ""
    private var pausedUntilMs: Int64 = 0
    private var pauseReason: Reason = .credentialPaused
    private var pauses: UInt32 = 0
    private var templates: [UInt32: Template] = [:]
    /// The keys of ``templates`` in the order of their ids, which both pools share.
    private var templateOrder: [UInt32] = []
    /// The template that was asked for last, which is nearly always the next one too.
    private var lastKey: UInt32 = 0
    private var lastTemplate: TemplateID?
    private let pathBytes: UnsafeMutableBufferPointer<UInt8>

    private struct Template {
        let id: TemplateID
        let topic: String?
        let pushType: JobType?
        let priority: UInt8
    }

    /// Makes the pool; it connects with the first request.
    package init(_ definition: RouteDefinition, loop: EventLoop, sink: any ResponseSink) {
        self.definition = definition
        unsafe pathBytes = .allocate(capacity: definition.path.count)
        _ = unsafe pathBytes.initialize(from: definition.path)
        self.loop = loop
        self.sink = sink
        pool = HTTP2Pool(
            loop: loop, endpoint: definition.endpoint, context: definition.tls, limits: definition.limits,
            sink: sink)
        refresh()
    }

    deinit { unsafe pathBytes.deallocate() }

    /// Takes over a changed bearer. Cheap when nothing changed; call once a turn.
    package func refresh() {
        guard let bearer = definition.bearer, bearer.version != bearerVersion else { return }
        let snapshot = bearer.snapshot()
        bearerVersion = snapshot.version
        fault = snapshot.authorization.isEmpty || snapshot.fault != nil ? snapshot.fault : nil
        explanation = snapshot.explanation
        guard snapshot.authorization != authorization else { return }
        authorization = snapshot.authorization
        // A new credential value is the cure for a pause that the old one caused.
        pausedUntilMs = 0
        for template in templates.values {
            let fresh = headers(template.topic, template.pushType, template.priority)
            _ = try? pool.replaceTemplate(template.id, fresh)
            _ = try? sidePool?.replaceTemplate(template.id, fresh)
        }
    }

    /// The pool that takes a request: with `isSuspect` the one whose connections may come to harm.
    package func pool(isSuspect: Bool) -> HTTP2Pool {
        guard isSuspect else { return pool }
        if let sidePool { return sidePool }
        let made = HTTP2Pool(
            loop: loop, endpoint: definition.endpoint, context: definition.tls,
            limits: definition.sideLimits, sink: sink)
        // In the order of the first pool, so that an id means the same in both.
        for key in templateOrder {
            guard let template = templates[key] else { continue }
            _ = try? made.addTemplate(headers(template.topic, template.pushType, template.priority))
        }
        sidePool = made
        return made
    }

    /// Requests taken and not yet finished.
    package var unfinished: Int { pool.unfinished + (sidePool?.unfinished ?? 0) }

    /// Fails, as closed, every request that no connection has taken yet.
    package func dropWaiting() {
        pool.dropWaiting()
        sidePool?.dropWaiting()
    }

    /// How many GOAWAY frames came and what the last one said; nil when there was none.
    package var goAways: (count: UInt64, last: String)? {
        let side = sidePool?.snapshot
        let main = pool.snapshot
        let count = main.goAways + (side?.goAways ?? 0)
        guard count > 0 else { return nil }
        return (count, main.lastGoAway.isEmpty ? side?.lastGoAway ?? "" : main.lastGoAway)
    }

    /// Closes every connection; what is unfinished fails.
    package func close() {
        pool.close()
        sidePool?.close()
    }

    /// Whether requests can go by this route.
    package func availability(nowMs: Int64) -> Availability {
        if nowMs < pausedUntilMs { return .paused(untilMs: pausedUntilMs, pauseReason) }
        if let fault { return .paused(untilMs: nowMs + 30_000, fault) }
        if definition.bearer != nil, authorization.isEmpty { return .pending }
        return .ready
    }

    /// Holds the route up after a credential or quota fault: 30 s, doubling with each pause in a row up to
    /// ten minutes, or as long as the provider asked.
    package func pause(nowMs: Int64, forMs: Int64?, reason: Reason) {
        if nowMs < pausedUntilMs { return }
        let step = min(600_000, Int64(30_000) << Int64(min(pauses, 5)))
        pauses &+= 1
        pausedUntilMs = nowMs + (forMs ?? step)
        pauseReason = reason
    }

    /// Notes that the provider took a request: the next pause starts small again.
    package func succeeded() { pauses = 0 }

    /// The template of FCM requests.
    package func template() -> TemplateID? { template(key: 0, topic: nil, pushType: nil, priority: 0) }

    /// The template of an app's APNs requests of one push type and priority. `topic` is asked for
    /// once; a request with a topic of its own has none in the template.
    package func template(
        app: Int32, pushType: JobType, priority: UInt8, topic: () -> String?, hasOwnTopic: Bool
    ) -> TemplateID? {
        let key =
            UInt32(truncatingIfNeeded: app) << 12 | UInt32(pushType.rawValue) << 6 | UInt32(priority & 15)
            << 1
            | (hasOwnTopic ? 1 : 0)
        if key == lastKey, let lastTemplate { return lastTemplate }
        let known =
            templates[key]?.id ?? template(key: key, topic: topic(), pushType: pushType, priority: priority)
        lastKey = key
        lastTemplate = known
        return known
    }

    /// The template in another route that has the same constant headers but for the credential.
    package func counterpart(of id: TemplateID, in other: Route) -> TemplateID? {
        guard let entry = templates.first(where: { $0.value.id == id }) else { return nil }
        return other.template(
            key: entry.key, topic: entry.value.topic, pushType: entry.value.pushType,
            priority: entry.value.priority)
    }

    /// The constant path of FCM requests.
    /// - Valid: as long as the route.
    package var path: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(pathBytes) }

    private func template(key: UInt32, topic: String?, pushType: JobType?, priority: UInt8) -> TemplateID? {
        if let known = templates[key] { return known.id }
        let fields = headers(topic, pushType, priority)
        guard let id = try? pool.addTemplate(fields) else { return nil }
        _ = try? sidePool?.addTemplate(fields)
        templateOrder.append(key)
        templates[key] = Template(id: id, topic: topic, pushType: pushType, priority: priority)
        return id
    }

    private func headers(_ topic: String?, _ pushType: JobType?, _ priority: UInt8) -> HeaderTemplate {
        var fields: [HeaderTemplate.Field] = []
        if !authorization.isEmpty {
            fields.append(.init("authorization", String(decoding: authorization, as: UTF8.self)))
        }
        if let topic { fields.append(.init("apns-topic", topic)) }
        if let pushType {
            fields.append(.init("apns-push-type", "\(pushType.word)"))
            fields.append(.init("apns-priority", String(priority)))
        } else {
            fields.append(.init("content-type", "application/json"))
        }
        return HeaderTemplate(authority: definition.authority, fields: fields)
    }
}
