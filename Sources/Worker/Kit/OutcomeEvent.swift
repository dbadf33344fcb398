internal import Core
internal import Decisions
internal import Jobs

/// One terminal outcome of one delivery, as JSON for the outcomes topic.
struct OutcomeEvent {
    var outcome: DeliveryOutcome
    var reason: Reason
    var provider: Provider?
    /// Attempts that reached a provider, this one included.
    var attempts: Int
    /// Whether the job came back from a retry topic: then its badge may be newer than it was when published.
    var hasWaited = false
    var nowMs: Int64
    /// When the job was published, milliseconds since 1970.
    var publishedMs: Int64
    /// The lane's name as a JSON string.
    var lane: [UInt8]

    /// Appends the event. `device` and `apnsID` may be empty; `job` is nil when it could not be read.
    func append(
        to out: inout ByteBuffer, job: Job?, device: UnsafeRawBufferPointer, apnsID: UnsafeRawBufferPointer,
        origin: UnsafeRawBufferPointer
    ) {
        out.append("{\"v\":1,\"outcome\":\"")
        out.append(outcome.name)
        out.append("\",\"reason\":\"")
        out.append(reason.label)
        out.append("\",\"at_ms\":")
        out.append(decimal: nowMs)
        if let job { append(job, to: &out) }
        unsafe member("\"device\":", device, to: &out)
        if let provider {
            out.append(",\"provider\":\"")
            out.append(provider.name)
            out.append(byte: UInt8(ascii: "\""))
        }
        unsafe member("\"apns_id\":", apnsID, to: &out)
        out.append(",\"attempts\":")
        out.append(decimal: Int64(attempts))
        if hasWaited { out.append(",\"waited\":true") }
        out.append(",\"lane\":")
        out.append(array: lane)
        if publishedMs > 0 {
            out.append(",\"after_ms\":")
            out.append(decimal: max(0, nowMs - publishedMs))
        }
        unsafe member("\"origin\":", origin, to: &out)
        out.append(byte: UInt8(ascii: "}"))
    }

    private func append(_ job: Job, to out: inout ByteBuffer) {
        text(",\"job\":", job.id, to: &out)
        text(",\"app\":", job.app, to: &out)
        text(",\"recipient\":", job.recipient, to: &out)
        text(",\"campaign\":", job.campaign, to: &out)
    }

    /// The job's own JSON text is already escaped: it goes through as it is.
    private func text(_ name: StaticString, _ value: JSONText?, to out: inout ByteBuffer) {
        guard let value else { return }
        out.append(name)
        out.append(byte: UInt8(ascii: "\""))
        unsafe out.append(value.raw)
        out.append(byte: UInt8(ascii: "\""))
    }

    private func member(_ name: StaticString, _ value: UnsafeRawBufferPointer, to out: inout ByteBuffer) {
        guard unsafe !value.isEmpty else { return }
        out.append(byte: UInt8(ascii: ","))
        out.append(name)
        unsafe out.append(jsonString: value)
    }
}
