internal import Core
internal import Decisions
internal import EventLoop
internal import HTTP2
internal import Jobs
internal import Logging
internal import Providers
internal import Rendering

/// From a job and its devices to requests in the pools.
extension Shard {
    /// A device that a delivery goes to. Valid during the call it is given to.
    @safe
    struct Target {
        var platform: Platform
        var environment: PushEnvironment
        var token: UnsafeRawBufferPointer
        var device: UnsafeRawBufferPointer
        /// -1 when no registry holds the token.
        var registeredAtMs: Int64
        var history: AttemptHistory
    }

    /// Sends a job that names its token.
    func sendToToken(_ index: Int32) {
        scratch.clear()
        let job = jobs[index].job
        guard let token = job.token else { return conclude(index, .noDevice, .noDevice) }
        beginSending(index)
        let (batch, entry) = origin(index)
        let history = unsafe OwedDevices.history(at: 0, in: batch.headers(entry).value(WorkerHeader.history))
        jobs[index].openDeliveries = 1
        unsafe deliver(
            index,
            Target(
                platform: job.platform, environment: job.environment, token: token.unescaped(into: &scratch),
                device: UnsafeRawBufferPointer(start: nil, count: 0), registeredAtMs: -1, history: history))
        closeDelivery(of: index)
    }

    /// Notes that the job's devices are known.
    func beginSending(_ index: Int32) {
        jobs[index].stage = .sending
        counts.stages.record(.admit, lane: jobs[index].lane, ms: nowMs &- jobs[index].readMs)
    }

    /// Renders for one device and hands the request to its route. The job keeps one delivery open around all
    /// calls.
    func deliver(_ index: Int32, _ target: Target) {
        let destination = traits[Int(jobs[index].app)].destination(
            platform: target.platform, environment: target.environment)
        jobs[index].openDeliveries += 1
        let delivery = deliveries.take()
        deliveries[delivery].isOpen = true
        deliveries[delivery].job = index
        opened(delivery)
        deliveries[delivery].platform = target.platform
        deliveries[delivery].environment = target.environment
        deliveries[delivery].registeredAtMs = target.registeredAtMs
        deliveries[delivery].history = target.history
        let provider: Provider
        switch destination {
        case .route(let route, let kind):
            deliveries[delivery].route = way(route)
            provider = kind
        case .log(let kind):
            provider = kind
            deliveries[delivery].isPrinted = true
        case .none(let kind): provider = kind
        }
        deliveries[delivery].provider = provider
        guard render(delivery, target, provider) else { return }
        switch destination {
        case .route: submit(delivery)
        case .log: print(delivery)
        case .none:
            owe(delivery, dueMs: nowMs + 60_000, isWait: true, reason: .noCredential)
        }
    }

    /// Renders into a block; false when the delivery ended there.
    private func render(_ delivery: Int32, _ target: Target, _ provider: Provider) -> Bool {
        let job = jobs[deliveries[delivery].job]
        let moment = RenderMoment(
            badge: badge(of: job), expiresAtMs: job.hasOwnDeadline ? job.deadlineMs : nil, nowMs: nowMs)
        let renderer = renderers[Int(job.app)]
        body.clear()
        text.clear()
        let result: RenderResult
        var template: TemplateID?
        if provider == .apns {
            let head = renderer.renderAPNs(job.job, at: moment, into: &body)
            result = head.result
            if result.isSendable {
                layOutAPNs(delivery, target, head, jobID: job.job.id)
                template = apnsTemplate(delivery, head, renderer)
            }
        } else {
            let device = unsafe DeviceView(
                platform: target.platform, environment: target.environment, token: target.token)
            result = renderer.renderFCM(job.job, for: device, at: moment, into: &body)
            if result.isSendable {
                unsafe layOut(delivery, target, expiration: nil, collapse: nil, path: nil, jobID: job.job.id)
                if deliveries[delivery].route >= 0 {
                    template = route(Int(deliveries[delivery].route)).template()
                }
            }
        }
        deliveries[delivery].template = template
        if result.isSendable { return true }
        // Its outcome names the device all the same.
        body.clear()
        unsafe layOut(delivery, target, expiration: nil, collapse: nil, path: nil, jobID: job.job.id)
        switch result {
        case .ok, .truncated: break
        case .tooLarge(let size):
            bury(
                deliveries[delivery].job, nil, .oversize, "the payload has \(size) bytes after rendering",
                delivery)
            end(delivery, .rejected, .oversize)
        case .notForPlatform: end(delivery, .noDevice, .noDevice)
        }
        return false
    }

    /// The count to show: the job counts something or is about the count, and its app shows badges.
    private func badge(of job: JobSlot) -> Int64? {
        guard job.badge >= 0, traits[Int(job.app)].sendsBadge else { return nil }
        return job.job.wantsBadge || job.unread != 0 ? job.badge : nil
    }

    private func apnsTemplate(_ delivery: Int32, _ head: APNsHead, _ renderer: Renderer) -> TemplateID? {
        guard deliveries[delivery].route >= 0 else { return nil }
        let route = route(Int(deliveries[delivery].route))
        let hasOwnTopic = head.topicOverride != nil
        return route.template(
            app: jobs[deliveries[delivery].job].app, pushType: head.pushType, priority: head.priority,
            topic: { hasOwnTopic ? nil : "\(renderer.settings.bundleID)\(head.topicSuffix)" },
            hasOwnTopic: hasOwnTopic)
    }

    private func layOutAPNs(_ delivery: Int32, _ target: Target, _ head: APNsHead, jobID: JSONText?) {
        let path: StaticString = "/3/device/"
        var collapse: UnsafeRawBufferPointer?
        if let id = head.collapseID { unsafe collapse = id.unescaped(into: &text) }
        var topic: UnsafeRawBufferPointer?
        if let own = head.topicOverride { unsafe topic = own.raw }
        unsafe layOut(
            delivery, target, expiration: head.expiration, collapse: collapse, path: path, jobID: jobID,
            topic: topic)
    }

    /// Copies what the request borrows into one block, in the order that ``DeliverySlot`` describes.
    private func layOut(
        _ delivery: Int32, _ target: Target, expiration: Int64?, collapse: UnsafeRawBufferPointer?,
        path: StaticString?, jobID: JSONText?, topic: UnsafeRawBufferPointer? = nil
    ) {
        let pathLength = path.map { unsafe $0.utf8CodeUnitCount + target.token.count } ?? 0
        let size =
            unsafe target.token.count + target.device.count + pathLength + 36 + 20 + (collapse?.count ?? 0)
            + (topic?.count ?? 0) + body.count
        var slot = deliveries[delivery]
        unsafe slot.block = blocks.take(size)
        var writer = unsafe BlockWriter(slot.block)
        slot.tokenLength = unsafe writer.append(target.token)
        slot.deviceLength = unsafe writer.append(target.device)
        slot.pathAt = writer.position
        if let path {
            slot.pathLength = unsafe writer.append(
                UnsafeRawBufferPointer(start: path.utf8Start, count: path.utf8CodeUnitCount))
            slot.pathLength += unsafe writer.append(target.token)
        }
        slot.idAt = writer.position
        let name = unsafe target.device.isEmpty ? unsafe target.token : unsafe target.device
        let id = unsafe DerivedUUID(
            job: jobID?.raw ?? UnsafeRawBufferPointer(start: nil, count: 0), device: name)
        writer.append(id)
        if let expiration {
            slot.expirationAt = writer.position
            slot.expirationLength = writer.append(decimal: expiration)
        }
        if let collapse = unsafe collapse {
            slot.collapseAt = writer.position
            slot.collapseLength = unsafe writer.append(collapse)
        }
        if let topic = unsafe topic {
            slot.topicAt = writer.position
            slot.topicLength = unsafe writer.append(topic)
        }
        slot.bodyAt = writer.position
        slot.bodyLength = unsafe writer.append(body.bytes)
        deliveries[delivery] = slot
    }

    /// Hands a rendered delivery to its route, or puts it aside until the route is ready.
    func submit(_ delivery: Int32) {
        guard isCurrent(deliveries[delivery].job) else { return abandon(delivery) }
        guard !isStopped(delivery) else { return }
        let route = route(Int(deliveries[delivery].route))
        switch route.availability(nowMs: nowMs) {
        case .ready: break
        case .pending:
            waitingDeliveries.append(deliveries.reference(delivery))
            return
        case .paused(let until, let reason):
            return owe(
                delivery, dueMs: until, isWait: deliveries[delivery].sentAtMs == 0, reason: reason)
        }
        guard let template = deliveries[delivery].template else {
            return owe(delivery, dueMs: nowMs + 60_000, isWait: true, reason: .internalFault)
        }
        guard passesProvider(delivery), passesCircuit(delivery, isTry: false), passesQuota(delivery) else {
            return
        }
        let pool = route.pool(isSuspect: isSuspect(delivery))
        guard pool.room > 0 else { return foundNoRoom(delivery) }
        guard passesCircuit(delivery, isTry: true) else { return }
        let slot = deliveries[delivery]
        let timeout = min(
            Int64(route.definition.requestTimeoutMs), max(1, jobs[slot.job].deadlineMs &- nowMs))
        var request = unsafe OutgoingRequest(
            template: template, tag: deliveries.reference(delivery),
            deadlineMs: loop.nowMs &+ UInt64(timeout),
            path: slot.pathLength > 0 ? slot.slice(slot.pathAt, slot.pathLength) : route.path,
            body: slot.slice(slot.bodyAt, slot.bodyLength))
        request.isUrgent = lanes[Int(jobs[slot.job].lane)].isUrgent
        if slot.provider == .apns {
            unsafe request.add(.apnsID, slot.slice(slot.idAt, 36))
            unsafe request.add(.apnsExpiration, slot.slice(slot.expirationAt, slot.expirationLength))
            unsafe request.add(.apnsCollapseID, slot.slice(slot.collapseAt, slot.collapseLength))
            unsafe request.add(.apnsTopic, slot.slice(slot.topicAt, slot.topicLength))
        }
        guard pool.submit(request) else { return foundNoRoom(delivery) }
        deliveries[delivery].hasToken = false
        submitted(delivery)
        deliveries[delivery].bearerVersion = route.bearerVersion
        deliveries[delivery].sentAtMs = nowMs
        if jobs[slot.job].trace >= 0 { deliveries[delivery].sentNs = Clock.wallNs }
    }

    /// Puts a delivery aside whose pool is full.
    private func foundNoRoom(_ delivery: Int32) {
        let slot = deliveries[delivery]
        guard slot.isSuspect else {
            waitingDeliveries.append(deliveries.reference(delivery))
            return
        }
        // The side pool is small; good deliveries must not wait for the room of a flood of bad ones.
        let spread = Int64(nextRandom() % 4000)
        owe(
            delivery, dueMs: nowMs + 1000 + spread, isWait: slot.sentAtMs == 0, reason: .apnsBadDeviceToken)
    }

    /// Tries the deliveries that waited for a credential or for room in a pool.
    func sendWaiting() {
        guard !waitingDeliveries.isEmpty else { return }
        var list: [UInt64] = []
        swap(&list, &waitingDeliveries)
        for reference in list {
            guard let delivery = deliveries.resolve(reference) else { continue }
            let job = deliveries[delivery].job
            if !isCurrent(job) {
                abandon(delivery)
            } else if jobs[job].deadlineMs <= nowMs {
                end(delivery, .expired, .expired)
            } else {
                submit(delivery)
            }
        }
    }

    /// Without credentials a push is printed instead of sent, so that an app can be built without them.
    private func print(_ delivery: Int32) {
        let slot = deliveries[delivery]
        let app = directory.apps[Int(jobs[slot.job].app)].name
        let token = unsafe Redacted.token(slot.token)
        let payload = unsafe String(decoding: slot.slice(slot.bodyAt, slot.bodyLength), as: UTF8.self)
        settings.printer.write(
            "push app=\(app) provider=\(slot.provider.name) token=\(token) payload=\(payload)")
        end(delivery, .accepted, .accepted)
    }
}

/// Fills a block from the front; the block was sized for all of it.
@safe
struct BlockWriter {
    private let base: UnsafeMutableRawPointer?
    private let capacity: Int
    private(set) var position: Int32 = 0

    init(_ block: UnsafeMutableRawBufferPointer) {
        unsafe base = block.baseAddress
        capacity = block.count
    }

    /// Appends bytes and returns how many.
    @discardableResult
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard let from = bytes.baseAddress, let base = unsafe base, bytes.count > 0 else { return 0 }
        precondition(Int(position) + bytes.count <= capacity, "a block was sized too small")
        unsafe (base + Int(position)).copyMemory(from: from, byteCount: bytes.count)
        position += Int32(bytes.count)
        return Int32(bytes.count)
    }

    /// Appends the 36 characters of an id.
    mutating func append(_ id: DerivedUUID) {
        guard let base = unsafe base else { return }
        precondition(Int(position) + 36 <= capacity, "a block was sized too small")
        unsafe id.write(to: (base + Int(position)).assumingMemoryBound(to: UInt8.self))
        position += 36
    }

    /// Appends a number and returns how many digits it has.
    mutating func append(decimal value: Int64) -> Int32 {
        var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
        return unsafe withUnsafeMutableBytes(of: &digits) { room in
            var at = 24
            var rest = value.magnitude
            repeat {
                at -= 1
                unsafe room[at] = 48 + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            return unsafe append(UnsafeRawBufferPointer(rebasing: room[at..<24]))
        }
    }
}
