internal import Core
internal import Decisions
internal import EventLoop
internal import Kafka
internal import Logging
internal import Redis
internal import Registry

/// What the stage asks Redis; the tag's kind is the raw value.
enum ExpandQuestion: UInt8 {
    /// The recipients of one shard; the tag's value is the page's number.
    case shard = 1
    /// Where a part begins, how far it has got, and that it is cancelled; the value is the part's number.
    case open
    case advance
    case cancel
    /// That a broadcast is known, and that its parts are out; the value is the plan's number.
    case note
    case start
    /// What an operator holds back.
    case control
    /// The list of broadcasts; the answer is of no interest.
    case list
}

// From parts to pages of recipients, and back to Redis.
extension ExpandRunner {
    /// How long nothing is asked again after a failure, in ms.
    static let restMs: UInt64 = 200

    /// Tells Redis of new broadcasts, and of those whose parts are out.
    func stepPlans() {
        for (number, plan) in plans where !plan.isAsking && loop.nowMs >= plan.retryAtMs {
            if isDraining, plan.stage == .noting { continue }
            let of = plan.template.identity
            switch plan.stage {
            case .noting:
                plan.isAsking = ask(.note, number) {
                    BroadcastCommands.note(
                        app: of.app, id: of.id, audience: plan.template.audience,
                        campaign: plan.template.campaign, parts: settings.parts, part: nil,
                        nowMs: Clock.wallMs, into: &$0)
                }
            case .publishing: break
            case .starting:
                plan.isAsking = ask(.start, number) {
                    BroadcastCommands.start(app: of.app, id: of.id, into: &$0)
                }
            }
        }
    }

    /// Issues a question; false when it is to be asked again later.
    func ask(
        _ question: ExpandQuestion, _ number: UInt32, _ encode: (inout RedisCommandBuffer) -> Void
    ) -> Bool {
        guard let redis, redis.isReady else { return false }
        return redis.issue(RedisTag(kind: question.rawValue, value: UInt64(number)), encode) == nil
    }

    /// Lets every part that may go on do its next step: as many as the settings say, the oldest first.
    func stepParts() {
        guard controlState != nil else { return }
        var active = 0
        for part in parts {
            if part.isPaused {
                // What was out when the pause came is stored all the same.
                step(part, readsOn: false)
                continue
            }
            active += 1
            step(part, readsOn: active <= settings.partsActive && !isDraining)
        }
    }

    private func step(_ part: PartWork, readsOn: Bool) {
        guard loop.nowMs >= part.retryAtMs else { return }
        switch part.stage {
        case .opening:
            if readsOn, !part.isAsking { open(part) }
        case .expanding:
            if readsOn { readOn(part) }
            store(part)
        case .cancelling:
            store(part)
            if part.isQuiet { cancel(part) }
        }
    }

    private func open(_ part: PartWork) {
        let of = part.key.broadcast
        part.isAsking = true
        let isTaken = ask(.open, part.number) {
            BroadcastCommands.note(
                app: of.app, id: of.id, audience: part.template.audience, campaign: part.template.campaign,
                parts: part.parts, part: part.key.part, nowMs: Clock.wallMs, into: &$0)
        }
        if !isTaken { part.isAsking = false }
    }

    private func cancel(_ part: PartWork) {
        let of = part.key.broadcast
        part.isAsking = true
        let isTaken = ask(.cancel, part.number) {
            BroadcastCommands.cancel(app: of.app, id: of.id, nowMs: Clock.wallMs, into: &$0)
        }
        if !isTaken { part.isAsking = false }
    }

    /// Reads further pages while there is room for them.
    private func readOn(_ part: PartWork) {
        guard let redis, redis.isReady else { return }
        for page in part.pages where page.awaited == 0 && page.hasFailed && loop.nowMs >= page.retryAtMs {
            page.clear()
            readingPages += 1
            read(page, part, redis)
        }
        while part.pages.count < 4, let shards = part.nextPage,
            loaded + readingPages == 0
                || loaded + (readingPages + 1) * settings.pageRecipients <= settings.recipientsMax
        {
            let page = RecipientPage(number: takeNumber(), shards: shards)
            part.pages.append(page)
            part.next = shards.upperBound
            pages[page.number] = (page, part)
            readingPages += 1
            read(page, part, redis)
        }
    }

    private func read(_ page: RecipientPage, _ part: PartWork, _ redis: RedisClient) {
        let tag = RedisTag(kind: ExpandQuestion.shard.rawValue, value: UInt64(page.number))
        // One more than the questions, so that answers that come at once don't end the page.
        page.awaited = page.shards.count + 1
        for shard in page.shards {
            let refusal = redis.issue(tag) {
                SubscriberShards.read(
                    app: part.key.broadcast.app, topic: part.template.topic, shard: shard, into: &$0)
            }
            guard refusal != nil else { continue }
            page.awaited -= 1
            page.hasFailed = true
        }
        answered(page, part)
    }

    /// Counts an answer about a page; with the last one it is read, or to be read again.
    func answered(_ page: RecipientPage, _ part: PartWork) {
        page.awaited -= 1
        guard page.awaited == 0 else { return }
        readingPages -= 1
        if page.hasFailed {
            page.clear()
            page.hasFailed = true
            page.retryAtMs = loop.nowMs &+ Self.restMs
            snapshot.redisFailures &+= 1
        } else {
            loaded += page.count
            part.learn(from: page, target: settings.pageRecipients)
        }
    }

    /// Stores how far the part has got, when that is further than Redis knows.
    private func store(_ part: PartWork) {
        guard !part.isAsking, let place = part.progress else { return }
        let of = part.key.broadcast
        part.isAsking = true
        part.storing = (place.next, place.count)
        let isTaken = ask(.advance, part.number) {
            BroadcastCommands.advance(
                app: of.app, id: of.id, part: part.key.part, next: place.next, end: part.shards.upperBound,
                count: place.count, nowMs: Clock.wallMs, into: &$0)
        }
        if !isTaken {
            part.isAsking = false
            part.storing = nil
        }
    }

    /// Lets go of pages; what is in flight of them is not waited for.
    func forget(_ list: [RecipientPage]) {
        for page in list {
            pages[page.number] = nil
            if page.awaited > 0 { readingPages -= 1 } else if !page.hasFailed { loaded -= page.count }
        }
    }

    /// The part is done with, and so is its record.
    func end(_ part: PartWork) {
        forget(part.restart())
        finish(part.record)
        partsByNumber[part.number] = nil
        keys.remove(part.key)
        parts.removeAll { $0 === part }
        if headersOf == part.number { headersOf = nil }
    }
}
