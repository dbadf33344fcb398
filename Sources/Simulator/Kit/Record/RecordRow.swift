/// The fixed part of one recorded request; its texts lie in the record's arena.
struct RecordRow {
    var arrivalMs: Int64 = 0
    /// APNs: `apns-expiration`; FCM: the time to live in seconds; -1 when missing.
    var expiration: Int64 = -1
    /// -1 when the payload carries none.
    var badge: Int64 = -1
    var bodyHash: UInt64 = 0
    var textChunk: UInt32 = 0
    var textStart: UInt32 = 0
    var bodyKept: UInt32 = 0
    var bodyCount: UInt32 = 0
    var connection: UInt32 = 0
    var stream: Int32 = 0
    var tokenCount: UInt16 = 0
    var idCount: UInt16 = 0
    var topicCount: UInt16 = 0
    var collapseCount: UInt16 = 0
    var threadCount: UInt16 = 0
    var jobCount: UInt16 = 0
    var status: UInt16 = 0
    var peerPort: UInt16 = 0
    var provider = Provider.apns
    var environment = PushEnvironment.production
    var pushType = APNsPushType.none
    var priority: Int8 = 0
    var action = Answer.Action.respond
    /// What was answered.
    var reason: UInt8 = 0
    var apnsReason: UInt8 = 0
    /// What the rules said, which a fault may have overruled.
    var verdict: UInt8 = 0
    var delivered = false
    var validateOnly = false
    var byFault = false

    /// All texts, end to end, in the order token, id, topic, collapse, thread, job, body.
    var textBytes: Int {
        Int(tokenCount) + Int(idCount) + Int(topicCount) + Int(collapseCount) + Int(threadCount)
            + Int(jobCount)
            + Int(bodyKept)
    }
}

/// The texts of a request on their way into the record.
struct RecordTexts {
    var token = Bytes.empty
    /// The `apns-id` of the request; empty for FCM.
    var id = Bytes.empty
    /// The APNs topic or the FCM topic or condition.
    var topic = Bytes.empty
    var collapse = Bytes.empty
    var thread = Bytes.empty
    var job = Bytes.empty
    var body = Bytes.empty
}
